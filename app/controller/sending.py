"""One create call, and what came of it (S2 and S3)."""

import random
import time
from dataclasses import dataclass, replace
from uuid import UUID

from app.cluster.client import Object
from app.cluster.errors import ClusterError, NotFound, RightMissing
from app.cluster.manifest import ManifestInput, render
from app.cluster.observe import observe_job
from app.cluster.volcano import Volcano
from app.controller import refusals
from app.controller.barred import Barred
from app.controller.namespaces import Namespaces
from app.controller.pacing import Pacer
from app.controller.refusals import RIGHT_MISSING, Outcome, Refusal
from app.failpoints import SUBMIT_POSTED, failpoint
from app.jobs.worklist import Claim
from app.settings import Settings
from app.telemetry import SUBMIT_SECONDS, SUBMITTED, get_logger

_FIRST_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 60.0
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of a claim.

    Attributes:
        k8s_uid: of the Job, when it is known to exist and to be ours.
        failed: the cluster refused it for good.
        put_back: it surely was not taken.
        put_back_in_seconds: when it is due again; None leaves that to the release window.
    """

    claim: Claim
    k8s_uid: str | None = None
    failed: bool = False
    put_back: bool = False
    put_back_in_seconds: float | None = None
    reason: str | None = None
    message: str | None = None


class Sender:
    """Renders claimed jobs and makes their create calls."""

    def __init__(
        self, volcano: Volcano, namespaces: Namespaces, pacer: Pacer, settings: Settings, installation: UUID
    ) -> None:
        self.create_seconds = min(settings.create_timeout_seconds, settings.lease_seconds / 2)
        self._volcano = volcano
        self._namespaces = namespaces
        self._pacer = pacer
        self._settings = settings
        self._installation = installation
        self._barred = Barred()

    async def send(self, claim: Claim, use_until: float) -> Sent:
        """Create the Volcano Job of a claim.

        Args:
            claim: what to create.
            use_until: on the monotonic clock; a call that began later might outlive the claim's lease.

        Returns:
            What came of it; without an answer, neither `k8s_uid` nor `failed` nor `put_back`.
        """
        barred = self._barred.pause(claim.k8s_namespace)
        if barred is not None:
            return given_back(claim, _spread(barred[0]), RIGHT_MISSING, barred[1])
        try:
            manifest = self._manifest(claim)
            await self._namespaces.ensure(claim.k8s_namespace)
        except ClusterError as error:
            return self._without_namespace(claim, error)
        except ValueError:
            _log.exception("manifest_not_rendered", job_id=str(claim.id))
            return _failed(claim, "InvalidSpec", "This version of the service cannot render the stored job.")
        began = time.monotonic()
        if began >= use_until:
            return given_back(claim, 0.0)
        try:
            created = await self._volcano.create_job(manifest, timeout_seconds=self.create_seconds)
        except ClusterError as error:
            return await self._refused(claim, error, time.monotonic() - began)
        failpoint(SUBMIT_POSTED)
        self._barred.lift(claim.k8s_namespace)
        self._count(time.monotonic() - began)
        seen = observe_job(created)
        return Sent(claim, k8s_uid=seen.uid if seen else None)

    def _count(self, seconds: float) -> None:
        SUBMIT_SECONDS.observe(seconds)
        SUBMITTED.labels("created").inc()
        self._pacer.went_well(seconds)

    def _manifest(self, claim: Claim) -> Object:
        return render(
            ManifestInput.of(
                claim,
                installation_id=self._installation,
                priorities=self._settings.priorities,
                ttl_seconds=self._settings.job_ttl_seconds,
            )
        )

    def _without_namespace(self, claim: Claim, error: ClusterError) -> Sent:
        # whatever became of the namespace: the Job was not sent
        return given_back(claim, self._pacer.went_badly(error.retry_after_seconds))

    async def _refused(self, claim: Claim, error: ClusterError, seconds: float) -> Sent:
        refusal = refusals.read(error)
        pause = None
        if isinstance(error, RightMissing):
            pause = _spread(self._barred.bar(claim.k8s_namespace, error.message))
        SUBMITTED.labels(str(refusal.outcome)).inc()
        if refusal.outcome is Outcome.UNKNOWN:
            self._pacer.went_badly(refusal.retry_after_seconds)
            return Sent(claim)
        if refusal.outcome is Outcome.LATER:
            return given_back(claim, self._pacer.went_badly(refusal.retry_after_seconds))
        self._pacer.went_well(seconds)
        if refusal.outcome is Outcome.EXISTS:
            return await self._adopted(claim, refusal)
        if refusal.reason == "NamespaceMissing":
            refusal = self._with_the_reason_why(claim, refusal)
        if claim.maybe_sent:
            # webhooks are asked before the name is: a Job of an earlier, unanswered call may exist all the same
            return await self._adopted(claim, refusal)
        return _as_refusal_says(claim, refusal, pause)

    def _with_the_reason_why(self, claim: Claim, refusal: Refusal) -> Refusal:
        """The namespace is not there: say so if that is because we may not make it, and try to at the next call."""
        why = self._namespaces.why_missing(claim.k8s_namespace)
        self._namespaces.forget(claim.k8s_namespace)
        if why is None:
            return refusal
        return replace(refusal, message=f"The namespace {claim.k8s_namespace} is not in the cluster. {why}")

    async def _adopted(self, claim: Claim, refusal: Refusal) -> Sent:
        """Read what has the job's name: ours is adopted, another's is a conflict of names."""
        try:
            found = observe_job(await self._volcano.get_job(claim.k8s_namespace, claim.k8s_name))
        except NotFound:
            return _as_refusal_says(claim, refusal)
        except RightMissing as error:
            if refusal.outcome is Outcome.EXISTS:
                return Sent(claim)
            return given_back(claim, _wait(claim), RIGHT_MISSING, error.message)
        except ClusterError as error:
            self._pacer.went_badly(error.retry_after_seconds)
            return Sent(claim)
        if found is not None and (found.job_id, found.installation) == (str(claim.id), str(self._installation)):
            SUBMITTED.labels("adopted").inc()
            return Sent(claim, k8s_uid=found.uid)
        words = f"Another Volcano Job has the name {claim.k8s_name} in the namespace {claim.k8s_namespace}."
        return _failed(claim, "NameConflict", words)


def _as_refusal_says(claim: Claim, refusal: Refusal, pause: float | None = None) -> Sent:
    if refusal.outcome is Outcome.REFUSED:
        return _failed(claim, refusal.reason, refusal.message)
    if refusal.outcome is Outcome.EXISTS:  # and it was gone when it was read
        return given_back(claim, _FIRST_WAIT_SECONDS)
    # the window looks at queues itself, but takes back no job that may have been sent; what else is missing is looked
    # for ever more rarely
    for_the_window = refusal.reason in {"QueueNotOpen", "QueueMissing"} and not claim.maybe_sent
    wait = None if for_the_window else pause or _wait(claim)
    return given_back(claim, wait, refusal.reason, refusal.message)


def _failed(claim: Claim, reason: str | None, message: str | None) -> Sent:
    return Sent(claim, failed=True, reason=reason, message=message)


def given_back(claim: Claim, seconds: float | None, reason: str | None = None, message: str | None = None) -> Sent:
    """A claim whose Job surely was not taken, due again in `seconds`; None leaves that to the release window."""
    return Sent(claim, put_back=True, put_back_in_seconds=seconds, reason=reason, message=message)


def _spread(seconds: float) -> float:
    """A little more, so that what waits for one namespace does not come back in one moment."""
    return seconds * random.uniform(1.0, 1.5)


def _wait(claim: Claim) -> float:
    """Half of the time that the job has been waiting: pauses grow as in a back-off, without a counter to keep."""
    return min(max(claim.waited_seconds / 2, _FIRST_WAIT_SECONDS), _LONGEST_WAIT_SECONDS)
