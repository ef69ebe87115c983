"""What RBAC refuses and allows a service account, word for word, on both servers."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.contract.accounts import REVIEWS, ROLES, Account, make_account, rule

BATCH = "batch.volcano.sh"


@pytest.fixture
async def account(api: Any, namespace: str) -> AsyncIterator[Account]:
    account = await make_account(api, namespace)
    yield account
    await account.forget()


def job(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1"}
    tasks = [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
    head = {"apiVersion": f"{BATCH}/v1alpha1", "kind": "Job"}
    return {**head, "metadata": {"name": name}, "spec": {"tasks": tasks}}


Asked = tuple[str, str, str]
"""Verb, resource, API group."""


def forbidden(account: Account, label: str, asked: Asked, where: str) -> dict[str, Any]:
    """The whole refusal; `label` is the resource, with the object's name when there is one."""
    verb, resource, group = asked
    words = f'User "{account.user}" cannot {verb} resource "{resource}" in API group "{group}" {where}'
    named, _, name = label.partition(" ")
    details = {"name": name.strip('"'), "group": group, "kind": named.partition(".")[0]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{label} is forbidden: {words}",
        "reason": "Forbidden",
        "details": {field: value for field, value in details.items() if value},
        "code": 403,
    }


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("POST", "", "create"),
        ("GET", "", "list"),
        ("GET", "?watch=false", "list"),
        ("GET", "?watch=true", "watch"),
        ("DELETE", "", "deletecollection"),
        ("GET", "/a", "get"),
        ("PUT", "/a", "update"),
        ("PATCH", "/a", "patch"),
        ("DELETE", "/a", "delete"),
    ],
)
async def test_every_verb_is_refused_in_a_namespace(
    account: Account, jobs: str, method: str, path: str, verb: str
) -> None:
    label = f'jobs.{BATCH} "a"' if path == "/a" else f"jobs.{BATCH}"
    where = f'in the namespace "{account.namespace}"'
    answer = await account.call(method, jobs + path, job("a") if method in ("POST", "PUT") else None)
    assert answer == (403, forbidden(account, label, (verb, "jobs", BATCH), where))


@pytest.mark.parametrize(
    ("method", "path", "label", "asked"),
    [
        ("GET", f"/apis/{BATCH}/v1alpha1/jobs", f"jobs.{BATCH}", ("list", "jobs", BATCH)),
        ("GET", "/api/v1/nodes", "nodes", ("list", "nodes", "")),
        ("GET", "/api/v1/nodes/n", 'nodes "n"', ("get", "nodes", "")),
        ("PATCH", "/api/v1/nodes/n/status", 'nodes "n"', ("patch", "nodes/status", "")),
        ("POST", "/api/v1/namespaces", "namespaces", ("create", "namespaces", "")),
        ("GET", "/api/v1/no-such-kind", "no-such-kind", ("list", "no-such-kind", "")),
    ],
)
async def test_what_is_refused_at_the_cluster_scope(
    account: Account, method: str, path: str, label: str, asked: Asked
) -> None:
    answer = await account.call(method, path, {})
    assert answer == (403, forbidden(account, label, asked, "at the cluster scope"))


async def test_a_namespace_lies_in_itself(account: Account) -> None:
    name = account.namespace
    where = f'in the namespace "{name}"'
    answer = await account.call("GET", f"/api/v1/namespaces/{name}")
    assert answer == (403, forbidden(account, f'namespaces "{name}"', ("get", "namespaces", ""), where))
    await account.grant(rule("", ["namespaces"], ["get"]), namespace=name)
    assert (await account.until(200, "GET", f"/api/v1/namespaces/{name}"))["metadata"]["name"] == name


async def test_a_subresource_is_another_resource(account: Account, jobs: str, api: Any) -> None:
    assert (await api.post(jobs, job("a")))[0] == 201
    await account.grant(rule(BATCH, ["jobs"], ["get", "patch"]), namespace=account.namespace)
    await account.until(200, "PATCH", f"{jobs}/a", {"metadata": {"labels": {"seen": "yes"}}})
    where = f'in the namespace "{account.namespace}"'
    refusal = forbidden(account, f'jobs.{BATCH} "a"', ("patch", "jobs/status", BATCH), where)
    change = {"status": {"running": 1}}
    assert await account.call("PATCH", f"{jobs}/a/status", change) == (403, refusal)
    await account.grant(rule(BATCH, ["jobs/status"], ["patch"]), namespace=account.namespace)
    assert (await account.until(200, "PATCH", f"{jobs}/a/status", change))["status"]["running"] == 1


async def test_a_star_before_a_subresource_means_that_one_of_everything(account: Account, jobs: str, api: Any) -> None:
    assert (await api.post(jobs, job("a")))[0] == 201
    await account.grant(rule(BATCH, ["*/status"], ["get"]), namespace=account.namespace)
    await account.until(200, "GET", f"{jobs}/a/status")
    assert (await account.call("GET", f"{jobs}/a"))[0] == 403


async def test_names_allow_those_objects_and_no_create_and_no_list(
    account: Account, config_maps: str, api: Any
) -> None:
    for name in ("mine", "theirs"):
        assert (await api.post(config_maps, {"metadata": {"name": name}}))[0] == 201
    verbs = ["get", "list", "watch", "create"]
    await account.grant(rule("", ["configmaps"], verbs, ["mine"]), namespace=account.namespace)
    await account.until(200, "GET", f"{config_maps}/mine")
    where = f'in the namespace "{account.namespace}"'
    refusal = forbidden(account, 'configmaps "theirs"', ("get", "configmaps", ""), where)
    assert await account.call("GET", f"{config_maps}/theirs") == (403, refusal)
    assert (await account.call("GET", config_maps))[0] == 403
    assert (await account.call("POST", config_maps, {"metadata": {"name": "mine"}}))[0] == 403
    status, listed = await account.call("GET", config_maps, fieldSelector="metadata.name=mine")
    assert (status, [item["metadata"]["name"] for item in listed["items"]]) == (200, ["mine"])
    assert (await account.call("GET", config_maps, fieldSelector="metadata.name=theirs"))[0] == 403


async def test_a_right_to_list_is_no_right_to_watch(account: Account, jobs: str) -> None:
    await account.grant(rule(BATCH, ["jobs"], ["list"]), namespace=account.namespace)
    await account.until(200, "GET", jobs)
    where = f'in the namespace "{account.namespace}"'
    refusal = forbidden(account, f"jobs.{BATCH}", ("watch", "jobs", BATCH), where)
    assert await account.call("GET", jobs, watch="1", timeoutSeconds=1) == (403, refusal)
    assert (await account.call("GET", f"/apis/{BATCH}/v1alpha1/jobs"))[0] == 403


async def test_a_role_of_a_namespace_is_good_there_alone(account: Account, jobs: str, api: Any) -> None:
    await account.grant(rule("*", ["*"], ["*"]), namespace=account.namespace)
    await account.until(201, "POST", jobs, job("a"))
    assert (await account.call("GET", "/api/v1/namespaces/default/configmaps"))[0] == 403
    assert (await account.call("GET", "/api/v1/nodes"))[0] == 403


async def test_a_cluster_role_bound_in_a_namespace_is_good_there_alone(
    account: Account, config_maps: str, api: Any
) -> None:
    name = f"{account.namespace}-reader"
    role = {"metadata": {"name": name}, "rules": [rule("", ["configmaps"], ["list"])]}
    assert (await api.post(f"{ROLES}/clusterroles", role))[0] == 201
    account.cluster_wide.append(f"{ROLES}/clusterroles/{name}")
    binding = {"metadata": {"name": "reader"}, **account.bound_to("ClusterRole", name)}
    assert (await api.post(f"{ROLES}/namespaces/{account.namespace}/rolebindings", binding))[0] == 201
    await account.until(200, "GET", config_maps)
    assert (await account.call("GET", "/api/v1/configmaps"))[0] == 403


async def test_a_binding_to_a_role_that_is_not_there_says_so(account: Account, config_maps: str, api: Any) -> None:
    name = f"{account.namespace}-nowhere"
    binding = {"metadata": {"name": "lost"}, **account.bound_to("ClusterRole", name)}
    assert (await api.post(f"{ROLES}/namespaces/{account.namespace}/rolebindings", binding))[0] == 201
    where = f'in the namespace "{account.namespace}"'
    plain = forbidden(account, "configmaps", ("list", "configmaps", ""), where)["message"]
    expected = f'{plain}: RBAC: clusterrole.rbac.authorization.k8s.io "{name}" not found'
    for _ in range(200):
        _, refusal = await account.call("GET", config_maps)
        if refusal["message"] != plain:
            break
    assert refusal["message"] == expected


async def test_a_right_that_is_taken_back_is_gone(account: Account, config_maps: str, api: Any) -> None:
    await account.grant(rule("", ["configmaps"], ["list"]))
    await account.until(200, "GET", config_maps)
    await account.forget()
    await account.until(403, "GET", config_maps)


async def test_paths_that_are_no_resources(account: Account) -> None:
    for path in ("/version", "/apis", "/api/v1"):
        assert (await account.call("GET", path))[0] == 200
    status, refusal = await account.call("GET", "/metrics")
    assert status == 403
    assert refusal["message"] == f'forbidden: User "{account.user}" cannot get path "/metrics"'
    assert (refusal["reason"], refusal["details"]) == ("Forbidden", {})


async def test_an_account_asks_what_it_may(account: Account) -> None:
    before = await account.may("create", "jobs", BATCH, namespace=account.namespace)
    assert before == {"allowed": False}
    await account.grant(rule(BATCH, ["jobs"], ["create"]), rule("", ["pods/log"], ["get"]))
    await account.until(200, "GET", "/version")
    role = account.cluster_wide[0].rpartition("/")[2]
    whom = f'to ServiceAccount "{account.name}/{account.namespace}"'
    reason = f'RBAC: allowed by ClusterRoleBinding "{role}" of ClusterRole "{role}" {whom}'
    for _ in range(200):
        after = await account.may("create", "jobs", BATCH, namespace=account.namespace)
        if after["allowed"]:
            break
    assert after == {"allowed": True, "reason": reason}
    assert (await account.may("create", "jobs", BATCH))["allowed"]
    assert not (await account.may("delete", "jobs", BATCH))["allowed"]
    assert (await account.may("get", "pods", subresource="log"))["allowed"]
    assert not (await account.may("get", "pods"))["allowed"]


async def test_an_administrator_asks_what_an_account_may(account: Account, api: Any) -> None:
    await account.grant(rule("", ["configmaps"], ["get"]), namespace=account.namespace)
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}

    async def allowed(verb: str, **whom: Any) -> bool:
        attributes = {"verb": verb, "resource": "configmaps", "namespace": account.namespace}
        body = {**review, "spec": {"resourceAttributes": attributes, **whom}}
        status, answer = await api.post(f"{REVIEWS}/subjectaccessreviews", body)
        assert status == 201, answer
        return bool(answer["status"]["allowed"])

    await account.until(404, "GET", f"/api/v1/namespaces/{account.namespace}/configmaps/none")
    assert await allowed("get", user=account.user)
    assert not await allowed("list", user=account.user)
    assert not await allowed("get", user="somebody")
    assert await allowed("list", user="somebody", groups=["system:masters"])
    assert (await account.call("POST", f"{REVIEWS}/subjectaccessreviews", {**review, "spec": {}}))[0] == 403


async def test_a_review_of_nothing_is_422(api: Any) -> None:
    nothing = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    nothing = f"spec.resourceAttributes: Invalid value: null: {nothing}"
    nobody = 'spec.user: Invalid value: "": at least one of user or group must be specified'
    for kind, plural, text in (
        ("SelfSubjectAccessReview", "selfsubjectaccessreviews", nothing),
        ("SubjectAccessReview", "subjectaccessreviews", f"[{nothing}, {nobody}]"),
    ):
        head = {"apiVersion": "authorization.k8s.io/v1", "kind": kind}
        status, refusal = await api.post(f"{REVIEWS}/{plural}", {**head, "spec": {}})
        assert (status, refusal["reason"]) == (422, "Invalid")
        assert refusal["message"] == f'.authorization.k8s.io "" is invalid: {text}'


@pytest.mark.parametrize(
    ("broken", "field", "words"),
    [
        ({"verbs": []}, "rules[0].verbs", "Required value: verbs must contain at least one value"),
        ({"apiGroups": []}, "rules[0].apiGroups", "Required value: resource rules must supply at least one api group"),
        ({"resources": []}, "rules[0].resources", "Required value: resource rules must supply at least one resource"),
        (
            {"apiGroups": [], "resources": [], "nonResourceURLs": ["/metrics"]},
            "rules[0].nonResourceURLs",
            'Invalid value: ["/metrics"]: namespaced rules cannot apply to non-resource URLs',
        ),
    ],
)
async def test_a_rule_that_makes_no_sense_is_422(
    api: Any, namespace: str, broken: dict[str, Any], field: str, words: str
) -> None:
    role = {"metadata": {"name": "r"}, "rules": [{**rule("", ["pods"], ["get"]), **broken}]}
    status, refusal = await api.post(f"{ROLES}/namespaces/{namespace}/roles", role)
    assert (status, refusal["reason"]) == (422, "Invalid")
    assert [(cause["field"], cause["message"]) for cause in refusal["details"]["causes"]] == [(field, words)]


async def test_the_role_of_a_binding_cannot_be_changed(account: Account, api: Any) -> None:
    where = f"{ROLES}/namespaces/{account.namespace}/rolebindings"
    binding = {"metadata": {"name": "b"}, **account.bound_to("Role", "one")}
    assert (await api.post(where, binding))[0] == 201
    status, refusal = await api.merge(f"{where}/b", {"roleRef": {"name": "two"}})
    assert (status, refusal["reason"]) == (422, "Invalid")
    assert "cannot change roleRef" in refusal["message"]


async def test_roles_may_have_colons_in_their_names_and_no_slashes(api: Any, namespace: str) -> None:
    where = f"{ROLES}/namespaces/{namespace}/roles"
    assert (await api.post(where, {"metadata": {"name": "team:reader"}}))[0] == 201
    assert (await api.get(f"{where}/team:reader"))[0] == 200
    status, refusal = await api.post(where, {"metadata": {"name": "team/reader"}})
    assert (status, refusal["reason"]) == (422, "Invalid")
