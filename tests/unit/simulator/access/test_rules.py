from typing import Any

import pytest

from app.simulator.access.attributes import ADMINISTRATOR, Attributes, User, forbidden_to, service_account_user
from app.simulator.access.authorizer import Authorizer
from app.simulator.access.rules import rule_allows, rules_allow
from app.simulator.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from app.simulator.store import Store

JOBS: dict[str, Any] = {"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": ["get", "patch"]}
GET = Attributes("get", "batch.volcano.sh", "jobs", namespace="n", name="a")


@pytest.mark.parametrize(
    ("change", "asked", "allowed"),
    [
        ({}, GET, True),
        ({}, Attributes("list", "batch.volcano.sh", "jobs"), False),
        ({}, Attributes("get", "batch", "jobs"), False),
        ({}, Attributes("get", "", "jobs"), False),
        ({}, Attributes("get", "batch.volcano.sh", "job"), False),
        ({}, Attributes("get", "batch.volcano.sh", "jobs", "status"), False),
        ({"verbs": ["*"]}, Attributes("deletecollection", "batch.volcano.sh", "jobs"), True),
        ({"apiGroups": ["*"]}, Attributes("get", "", "jobs"), True),
        ({"resources": ["*"]}, Attributes("get", "batch.volcano.sh", "jobs", "status"), True),
        ({"resources": ["jobs/finalizers"]}, Attributes("patch", "batch.volcano.sh", "jobs", "finalizers"), True),
        ({"resources": ["jobs/finalizers"]}, GET, False),
        ({"resources": ["*/status"]}, Attributes("get", "batch.volcano.sh", "anything", "status"), True),
        ({"resources": ["*/status"]}, Attributes("get", "batch.volcano.sh", "jobs", "scale"), False),
        ({"resources": ["*/status"]}, Attributes("get", "batch.volcano.sh", "status"), False),
        ({"resourceNames": ["a"]}, GET, True),
        ({"resourceNames": ["b"]}, GET, False),
        ({"resourceNames": ["a"]}, Attributes("get", "batch.volcano.sh", "jobs"), False),
        ({"resourceNames": []}, GET, True),
        ({"verbs": []}, GET, False),
        ({"verbs": None, "resources": None}, GET, False),
        ({}, Attributes("get", path="/version"), False),
    ],
)
def test_what_a_rule_about_resources_allows(change: dict[str, Any], asked: Attributes, allowed: bool) -> None:
    assert rule_allows({**JOBS, **change}, asked) is allowed


@pytest.mark.parametrize(
    ("urls", "path", "allowed"),
    [
        (["/version"], "/version", True),
        (["/version"], "/version/", False),
        (["/apis/*"], "/apis/batch", True),
        (["/apis/*"], "/apis", False),
        (["*"], "/anything", True),
        ([], "/version", False),
    ],
)
def test_what_a_rule_about_paths_allows(urls: list[str], path: str, allowed: bool) -> None:
    rule = {"nonResourceURLs": urls, "verbs": ["get"]}
    assert rule_allows(rule, Attributes("get", path=path)) is allowed
    assert not rule_allows(rule, Attributes("post", path=path))
    assert not rule_allows(rule, GET)


def test_rules_only_add_rights() -> None:
    assert rules_allow([{**JOBS, "verbs": ["list"]}, JOBS], GET)
    assert not rules_allow([], GET)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (GET, 'jobs.batch.volcano.sh "a" is forbidden: User "u" cannot get resource "jobs" in API group '),
        (
            Attributes("create", "", "pods", "binding", "n", "p"),
            'pods "p" is forbidden: User "u" cannot create resource ',
        ),
        (Attributes("list", "", "nodes"), 'nodes is forbidden: User "u" cannot list resource "nodes" in API group ""'),
        (Attributes("get", path="/metrics"), 'forbidden: User "u" cannot get path "/metrics"'),
    ],
)
def test_the_words_of_a_refusal(asked: Attributes, message: str) -> None:
    refusal = forbidden_to(User("u"), asked)
    assert (refusal.code, refusal.reason) == (403, "Forbidden")
    assert refusal.message.startswith(message)


def test_a_refusal_holds_nothing_that_a_browser_takes_for_html() -> None:
    assert "&lt;b&gt;" in forbidden_to(User("<b>"), GET).message


ACCOUNT = service_account_user("n", "robot")


def _store(subject: dict[str, Any], *, namespaced: bool, role: dict[str, Any] | None = None) -> Authorizer:
    store = Store(1)
    home = {"namespace": "n"} if namespaced else {}
    binding_kind, role_kind, name = (
        (ROLE_BINDING, ROLE, "Role") if namespaced else (CLUSTER_ROLE_BINDING, CLUSTER_ROLE, "ClusterRole")
    )
    if role is not None:
        store.put(role_kind, {"metadata": {"name": "r", "uid": "1", **home}, "rules": [role]})
    reference = {"kind": name, "name": "r"}
    store.put(
        binding_kind,
        {"metadata": {"name": "b", "uid": "2", **home}, "roleRef": reference, "subjects": [subject]},
    )
    return Authorizer(store)


@pytest.mark.parametrize(
    ("subject", "reached"),
    [
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "n"}, True),
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "m"}, False),
        ({"kind": "ServiceAccount", "name": "robot"}, False),
        ({"kind": "User", "name": ACCOUNT.name}, True),
        ({"kind": "User", "name": "robot"}, False),
        ({"kind": "Group", "name": "system:serviceaccounts:n"}, True),
        ({"kind": "Group", "name": "system:serviceaccounts"}, True),
        ({"kind": "Group", "name": "system:authenticated"}, True),
        ({"kind": "Group", "name": "system:masters"}, False),
        ({"kind": "Robot", "name": "robot"}, False),
    ],
)
def test_whom_a_cluster_wide_binding_reaches(subject: dict[str, Any], reached: bool) -> None:
    assert _store(subject, namespaced=False, role=JOBS).judge(ACCOUNT, GET).allowed is reached


def test_a_binding_of_a_namespace_reaches_its_own_accounts_there() -> None:
    authorizer = _store({"kind": "ServiceAccount", "name": "robot"}, namespaced=True, role=JOBS)
    assert authorizer.judge(ACCOUNT, GET).allowed
    assert not authorizer.judge(ACCOUNT, Attributes("get", "batch.volcano.sh", "jobs", namespace="m")).allowed
    assert not authorizer.judge(ACCOUNT, Attributes("get", "batch.volcano.sh", "jobs")).allowed
    assert not authorizer.judge(service_account_user("m", "robot"), GET).allowed


def test_masters_need_no_role_and_a_missing_role_gives_nothing() -> None:
    authorizer = _store({"kind": "User", "name": ACCOUNT.name}, namespaced=False)
    assert authorizer.judge(ADMINISTRATOR, GET).allowed
    verdict = authorizer.judge(ACCOUNT, GET)
    assert not verdict.allowed
    assert verdict.reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "r" not found'
