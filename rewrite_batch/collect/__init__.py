"""From the provider's files to committed outputs: poll, download, match, parse, evaluate, decide, write, settle."""
