"""Fixtures of the HTTP tests."""

from tests.fixtures.api import ADMIN_TOKEN, Api, api, app, client, settings

__all__ = ["ADMIN_TOKEN", "Api", "api", "app", "client", "settings"]
