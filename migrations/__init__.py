"""Alembic's migrations, and the metadata that they lead to."""
