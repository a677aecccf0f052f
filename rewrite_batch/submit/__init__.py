"""From the queue to the provider. The claim is here; the steps after it follow."""
