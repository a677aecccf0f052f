"""Loading requests in bulk: lines come in, execution units go into the queue, each exactly once."""
