"""What the answers to a create call mean; the texts are Volcano's and Kubernetes' own (trace 21, volcano-facts 3.1)."""

import pytest

from app.cluster.errors import (
    AlreadyExists,
    ClusterError,
    ClusterThrottled,
    ClusterUnavailable,
    Conflict,
    NotFound,
    Rejected,
    RightMissing,
    Unauthorized,
)
from app.cluster.rights import Right
from app.controller.refusals import read

DENIED = 'admission webhook "validatejob.volcano.sh" denied the request: '


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (AlreadyExists('jobs.batch.volcano.sh "a" already exists'), "exists", None),
        (Conflict("the object has been modified"), "later", None),
        (ClusterThrottled("wait", retry_after_seconds=3), "later", None),
        (Unauthorized("who"), "later", None),
        (ClusterUnavailable("cannot be reached"), "later", None),
        (ClusterUnavailable("did not answer", outcome_unknown=True), "unknown", None),
        (
            Rejected(DENIED + "job 'minAvailable' should not be greater than total replicas"),
            "refused",
            "RejectedByCluster",
        ),
        (Rejected("field is immutable", status=422), "refused", "RejectedByCluster"),
        (Rejected("jobs is forbidden", status=403), "refused", "RejectedByCluster"),
        (RightMissing(Right("create", "jobs")), "held", "ClusterRightMissing"),
        (
            Rejected(DENIED + "can only submit job to queue with state `Open`, queue `q` status is ``"),
            "held",
            "QueueNotOpen",
        ),
        (Rejected(DENIED + 'unable to find job queue: queues "q" not found'), "held", "QueueMissing"),
        (NotFound('namespaces "team-nlp" not found'), "held", "NamespaceMissing"),
        (
            Rejected("unable to create new content in namespace x because it is being terminated"),
            "held",
            "NamespaceMissing",
        ),
        (NotFound("the server could not find the requested resource"), "held", "VolcanoMissing"),
    ],
)
def test_each_answer_has_its_meaning(error: ClusterError, outcome: str, reason: str | None) -> None:
    refusal = read(error)
    assert (refusal.outcome, refusal.reason) == (outcome, reason)


def test_the_servers_wait_is_passed_on() -> None:
    assert read(ClusterThrottled("wait", retry_after_seconds=3)).retry_after_seconds == 3
