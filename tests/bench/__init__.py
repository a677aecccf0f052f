"""Speed, as ratios within one run: `uv run python -m tests.bench NAME [--json]`. Not part of the test command."""
