"""Queues: what an operator wants of Volcano's queues, and what Volcano shows."""
