"""What reading logs needs of the cluster. `app.cluster.opening` has it; the API itself never loads the client."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Protocol

from app import errors
from app.cluster.containers import Container, LogOptions, PodReference
from app.cluster.errors import (
    ClusterError,
    ClusterNotConfigured,
    ClusterThrottled,
    ContainerWaits,
    PodGone,
    RightMissing,
)

_RETRY_SECONDS = 5
_RIGHT_RETRY_SECONDS = 60


class Upstream(Protocol):
    """Logs of pods; see `app.cluster.pod_logs.PodLogs`, whose errors these raise."""

    async def containers(self, pod: PodReference) -> tuple[Container, ...]:
        """The pod's containers as they are now."""
        ...

    def open(self, pod: PodReference, options: LogOptions) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a log."""
        ...


class _NoCluster:
    """The logs of a process that was given no cluster."""

    async def containers(self, pod: PodReference) -> tuple[Container, ...]:
        raise ClusterNotConfigured("No cluster is named.")

    def open(self, pod: PodReference, options: LogOptions) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise ClusterNotConfigured("No cluster is named.")


NO_CLUSTER: Upstream = _NoCluster()


@contextmanager
def cluster_trouble() -> Iterator[None]:
    """Raise what the cluster has against a request as a problem for the caller; what it says of the pod passes.

    Raises:
        ClusterUnavailable: of `app.errors`, with a sentence.
    """
    try:
        yield
    except (PodGone, ContainerWaits):
        raise
    except ClusterError as error:
        raise _problem(error) from error


def _problem(error: ClusterError) -> errors.ClusterUnavailable:
    if isinstance(error, ClusterNotConfigured):
        words = "This process of the API was given no cluster that it can read logs from; set PUMICE_KUBECONFIG for it."
        return errors.ClusterUnavailable(words, retry_after_seconds=_RIGHT_RETRY_SECONDS)
    if isinstance(error, RightMissing):
        return errors.ClusterUnavailable(error.message, retry_after_seconds=_RIGHT_RETRY_SECONDS)
    seconds = max(1, round(error.retry_after_seconds or _RETRY_SECONDS))
    if isinstance(error, ClusterThrottled):
        return errors.ClusterUnavailable(error.message, retry_after_seconds=seconds)
    words = f"The log cannot be read now. {error.message}"
    return errors.ClusterUnavailable(words, retry_after_seconds=seconds)
