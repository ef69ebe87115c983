"""Logs and metrics. Metrics are about the domain only, and no label grows with jobs, users or error texts."""

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()

_FRAMES = 6
"""How many places of a traceback a log line names, the innermost last."""

ACCEPTED = Counter("pumice_jobs_accepted_total", "Jobs accepted over HTTP", registry=REGISTRY)
REFUSED = Counter("pumice_jobs_refused_total", "Submissions refused, by problem type", ["type"], registry=REGISTRY)
RELEASED = Counter("pumice_jobs_released_total", "Jobs released from the window to submission", registry=REGISTRY)
SUBMITTED = Counter("pumice_jobs_submitted_total", "Create calls by outcome", ["outcome"], registry=REGISTRY)
SUBMIT_SECONDS = Histogram(
    "pumice_submit_seconds",
    "Time of one create call to the API server, in seconds",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15),
    registry=REGISTRY,
)
ENDED = Counter("pumice_jobs_ended_total", "Jobs that reached a terminal state", ["state"], registry=REGISTRY)
WATCH_AGE_SECONDS = Gauge(
    "pumice_watch_age_seconds", "Seconds since a watch last heard from the API server", ["kind"], registry=REGISTRY
)
WATCH_RELISTS = Counter("pumice_watch_relists_total", "Complete lists, by kind", ["kind"], registry=REGISTRY)
WATCH_STRANGE = Counter(
    "pumice_watch_strange_events_total", "Events that were not understood, by kind", ["kind"], registry=REGISTRY
)
RECONCILE_ERRORS = Counter(
    "pumice_reconcile_errors_total", "Keys whose reconcile failed and was put back", ["stage"], registry=REGISTRY
)
LOG_TAILS = Counter(
    "pumice_log_tails_total", "Ends of pods' logs by what became of them", ["outcome"], registry=REGISTRY
)
QUEUE_DEPTH = Gauge("pumice_work_queue_depth", "Keys that wait for a reconcile", registry=REGISTRY)
WORK_LIST = Gauge("pumice_work_list_rows", "Rows by place on the way to the cluster", ["place"], registry=REGISTRY)
EVENT_STREAMS = Gauge("pumice_event_streams", "Open streams of events", registry=REGISTRY)
EVENT_STREAMS_CUT = Counter(
    "pumice_event_streams_cut_total", "Streams whose reader took nothing for too long", registry=REGISTRY
)
EVENTS_UNDECIDED_SECONDS = Gauge(
    "pumice_events_undecided_seconds",
    "Seconds for which events have waited for a transaction that may still write an earlier one",
    registry=REGISTRY,
)
WEBHOOKS_DELIVERED = Counter("pumice_webhooks_delivered_total", "Messages that webhooks took", registry=REGISTRY)
WEBHOOKS_FAILED = Counter("pumice_webhooks_failed_total", "Attempts at webhooks that failed", registry=REGISTRY)
WEBHOOKS_DEAD = Counter("pumice_webhooks_dead_total", "Messages to webhooks that were given up", registry=REGISTRY)
LEADING = Gauge("pumice_leader", "1 while this process leads", registry=REGISTRY)


def configure_logging(log_format: str, level: str) -> None:
    """Route every log line, uvicorn's too, through structlog: `json` for machines, `console` for people."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _place_of_error,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer() if log_format == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
    logging.getLogger("uvicorn.access").disabled = True  # our own middleware writes one line a request, with its id


def _place_of_error(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Say what kind of error it was and where it came from, but not its text.

    The text, and the lines of a traceback, may hold what a caller sent, a statement or an address.
    """
    given = event.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
        event["error"] = type(error).__name__
        event["at"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return event


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger that carries the request id or job id bound to the present task."""
    logger: structlog.stdlib.BoundLogger = structlog.get_logger(name)
    return logger
