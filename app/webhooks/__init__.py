"""Webhooks: a team's events, signed and sent to its own endpoints."""
