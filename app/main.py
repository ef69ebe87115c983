"""The HTTP application: routers, problems and middleware put together. Nothing happens at import."""

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

import app.auth.routes
import app.health
import app.insight.routes
import app.jobs.bulk_routes
import app.jobs.event_routes
import app.jobs.import_routes
import app.jobs.index_routes
import app.jobs.progress_routes
import app.jobs.reading_routes
import app.jobs.routes
import app.logs.routes
import app.queues.routes
import app.teams.routes
import app.webhooks.routes
from app import problems
from app.auth.service import Authenticator
from app.bodies import BodyMiddleware
from app.db import Sessions
from app.jobs.event_stream import encode
from app.jobs.live import LiveFeed
from app.logs.service import Logs
from app.logs.upstream import NO_CLUSTER, Upstream
from app.middleware import AuthenticationMiddleware, RequestMiddleware
from app.parameters import OnlyKnownParameters
from app.settings import Settings

API_VERSION = "1.2.0"
"""Version of the contract, not of the program: the document changes when the contract does, and only then."""

API_ROUTERS: tuple[APIRouter, ...] = (
    app.jobs.reading_routes.router,
    app.jobs.routes.router,
    app.jobs.bulk_routes.router,
    app.jobs.event_routes.router,
    app.jobs.import_routes.router,
    app.jobs.index_routes.router,
    app.jobs.progress_routes.router,
    app.insight.routes.router,
    app.logs.routes.router,
    app.teams.routes.router,
    app.webhooks.routes.router,
    app.queues.routes.router,
    app.auth.routes.router,
)
"""Everything behind a token."""

TAGS = [
    {"name": "jobs", "description": "Submit, read, list and cancel batch jobs."},
    {"name": "events", "description": "What happens to jobs, as pages and as streams."},
    {"name": "teams", "description": "Teams, the queues granted to them, and their quotas."},
    {"name": "queues", "description": "Volcano queues: as wanted, and as last seen in the cluster."},
    {"name": "webhooks", "description": "Endpoints that a team's events are sent to, signed."},
    {"name": "tokens", "description": "API tokens."},
    {"name": "health", "description": "For probes and monitoring; no token needed."},
]


def create_app(settings: Settings, sessions: Sessions, pod_logs: Upstream = NO_CLUSTER) -> FastAPI:
    """The application over a database that the caller has opened (see `wiring.py`), and a cluster's logs."""
    api = FastAPI(
        title="Pumice",
        summary="Batch jobs for the Volcano scheduler, over HTTP",
        version=API_VERSION,
        redirect_slashes=False,  # a redirect can lead to another scheme or host, and clients drop the body on the way
        openapi_tags=TAGS,
        generate_unique_id_function=_operation_id,
        dependencies=[Depends(OnlyKnownParameters())],
    )
    api.root_path = settings.root_path  # as an argument it is deprecated, in favour of the server's own option
    api.state.settings = settings
    api.state.sessions = sessions
    api.state.feed = LiveFeed(sessions, poll_seconds=settings.event_poll_seconds, encode=encode)
    api.state.logs = Logs(settings, sessions, pod_logs)
    api.state.authenticator = Authenticator(settings, sessions)
    problems.install(api)
    api.include_router(app.health.router)
    if settings.metrics_port is None:
        api.include_router(app.health.metrics_router)
    for router in API_ROUTERS:
        api.include_router(router, responses=problems.COMMON)
    # the last one added is the first to see a request
    larger = {"/jobs/bulk": settings.max_bulk_body_bytes}
    api.add_middleware(BodyMiddleware, max_bytes=settings.max_body_bytes, larger=larger)
    api.add_middleware(AuthenticationMiddleware, authenticator=api.state.authenticator)
    api.add_middleware(RequestMiddleware)
    api.openapi = lambda: _document(api)  # type: ignore[method-assign]  # FastAPI's documented way to change it
    return api


def close_streams(api: FastAPI) -> None:
    """End everything that follows events or logs: the process is about to stop, and they would go on."""
    api.state.feed.close()
    api.state.logs.close()


def _operation_id(route: APIRoute) -> str:
    return route.name


def _document(api: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 document, made once, with the schema of problems that `problems.responses` points to."""
    if api.openapi_schema is None:
        document = get_openapi(
            title=api.title,
            version=api.version,
            summary=api.summary,
            routes=api.routes,
            tags=api.openapi_tags,
        )
        _, definitions = models_json_schema(
            [(problems.Problem, "serialization")], ref_template="#/components/schemas/{model}"
        )
        document["components"]["schemas"] |= definitions["$defs"]
        api.openapi_schema = document
    return api.openapi_schema
