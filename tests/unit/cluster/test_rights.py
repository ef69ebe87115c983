"""Rights of our account, from the words of a kube-apiserver v1.36 to what operators and users read."""

import pytest
import structlog

from app.cluster.errors import Rejected, RightMissing, from_status
from app.cluster.rights import STALE_SECONDS, Right, Rights, right_refused, right_used

WHO = 'User "system:serviceaccount:pumice:pumice-controller"'
CREATE = f'{WHO} cannot create resource "jobs" in API group "batch.volcano.sh" in the namespace "x"'
PATCH = f'{WHO} cannot patch resource "jobs/status" in API group "batch.volcano.sh" in the namespace "x"'
JOBS = "/apis/batch.volcano.sh/v1alpha1"


@pytest.mark.parametrize(
    ("message", "right"),
    [
        (f"jobs.batch.volcano.sh is forbidden: {CREATE}", Right("create", "jobs", "batch.volcano.sh", "x")),
        (
            f'jobs.batch.volcano.sh "a" is forbidden: {PATCH}: RBAC: clusterrole "y" not found',
            Right("patch", "jobs/status", "batch.volcano.sh", "x"),
        ),
        (
            f'nodes is forbidden: {WHO} cannot list resource "nodes" in API group "" at the cluster scope',
            Right("list", "nodes"),
        ),
        (f'forbidden: {WHO} cannot get path "/metrics"', None),
        (f'admission webhook "w" denied the request: jobs.batch.volcano.sh is forbidden: {CREATE}', None),
        ('pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1', None),
        (f'jobs.batch.volcano.sh "a" is forbidden: not because {CREATE}', None),
        ("", None),
    ],
)
def test_only_authorization_says_that_a_right_is_missing(message: str, right: Right | None) -> None:
    assert right_refused(message) == right
    error = from_status(403, {"reason": "Forbidden", "message": message})
    assert isinstance(error, Rejected if right is None else RightMissing)
    assert isinstance(from_status(403, {"message": message}), Rejected)


def test_the_error_names_the_right_and_not_the_account() -> None:
    error = from_status(403, {"reason": "Forbidden", "message": f"jobs.batch.volcano.sh is forbidden: {CREATE}"})
    words = (
        "The service's account in the cluster lacks the right to create jobs of batch.volcano.sh in the namespace x."
    )
    assert (error.message, error.status, error.outcome_unknown) == (words, 403, False)


@pytest.mark.parametrize(
    ("method", "path", "watch", "right"),
    [
        ("POST", f"{JOBS}/namespaces/x/jobs", False, Right("create", "jobs", "batch.volcano.sh", "x")),
        ("PATCH", f"{JOBS}/namespaces/x/jobs/a", False, Right("patch", "jobs", "batch.volcano.sh", "x")),
        ("DELETE", f"{JOBS}/namespaces/x/jobs/a", False, Right("delete", "jobs", "batch.volcano.sh", "x")),
        ("GET", f"{JOBS}/namespaces/x/jobs/a", False, Right("get", "jobs", "batch.volcano.sh", "x")),
        ("GET", f"{JOBS}/jobs", False, Right("list", "jobs", "batch.volcano.sh")),
        ("GET", f"{JOBS}/jobs", True, Right("watch", "jobs", "batch.volcano.sh")),
        ("GET", "/api/v1/nodes", True, Right("watch", "nodes")),
        ("GET", "/api/v1/namespaces/x/pods/a/log", False, Right("get", "pods/log", "", "x")),
        ("POST", "/api/v1/namespaces", False, Right("create", "namespaces")),
        ("GET", "/version", False, None),
    ],
)
def test_what_a_request_needs(method: str, path: str, watch: bool, right: Right | None) -> None:
    assert right_used(method, path, watch=watch) == right


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_right_is_told_once_when_it_goes_and_once_when_it_is_back() -> None:
    rights = Rights()
    with structlog.testing.capture_logs() as said:
        for _ in range(3):
            for namespace in ("x", "y"):
                rights.refused(Right("create", "jobs", "batch.volcano.sh", namespace))
        rights.used("POST", f"{JOBS}/namespaces/x/jobs")
        assert len(rights.missing()) == 1
        rights.used("GET", f"{JOBS}/namespaces/y/jobs/a")
        rights.used("POST", f"{JOBS}/namespaces/y/jobs")
    assert [line["event"] for line in said] == ["cluster_right_missing", "cluster_right_no_longer_missing"]
    assert rights.missing() == []


def test_one_sentence_for_each_verb_however_many_namespaces() -> None:
    rights = Rights()
    for name in "edcba":
        rights.refused(Right("create", "jobs", "batch.volcano.sh", name))
    rights.refused(Right("list", "nodes"))
    begin = "The service's account in the cluster lacks the right to"
    assert rights.missing() == [
        f"{begin} create jobs of batch.volcano.sh in the namespaces a, b, c and 2 more.",
        f"{begin} list nodes cluster-wide.",
    ]


def test_a_right_that_nobody_asks_for_any_more_is_not_missed() -> None:
    time = Time()
    rights = Rights(time)
    rights.refused(Right("create", "namespaces"))
    time.now += STALE_SECONDS - 1
    assert rights.missing()
    rights.refused(Right("create", "namespaces"))
    time.now += STALE_SECONDS - 1
    assert rights.missing()
    time.now += 1
    assert not rights.missing()
