"""Small applications beside the API: the controller's probes and metrics, and metrics on a port of their own."""

from fastapi import FastAPI

from app.db import Sessions
from app.health import controller_router, metrics_router, router
from app.settings import Settings


def create_probe_app(settings: Settings, sessions: Sessions) -> FastAPI:
    """`/healthz`, `/readyz` and `/metrics` of a controller."""
    app = _bare_app()
    app.state.settings = settings
    app.state.sessions = sessions
    app.include_router(controller_router)  # first: its /readyz asks for more
    app.include_router(router)
    app.include_router(metrics_router)
    return app


def create_metrics_app() -> FastAPI:
    """`/metrics` alone."""
    app = _bare_app()
    app.include_router(metrics_router)
    return app


def _bare_app() -> FastAPI:
    return FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
