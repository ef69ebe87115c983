"""Volcano's part of the simulated cluster on an API server elsewhere: `Objects` over HTTP, and webhooks."""
