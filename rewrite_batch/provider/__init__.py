"""The only door to the provider: its client, and its errors turned into ours."""
