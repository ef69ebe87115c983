"""The rights of deploy/rbac.yaml are enough for what the service does in the cluster, and each of them is needed."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cluster.client import ClusterClient, ClusterSettings, open_client
from app.cluster.containers import LogOptions
from app.cluster.errors import RightMissing
from app.cluster.kinds import WATCHED_KINDS, WatchedKind
from app.cluster.names import RECORDED_FINALIZER, TURN_GATE
from app.cluster.pod_logs import PodLogs
from app.cluster.pods import PodReference, Pods
from app.cluster.rights import Right
from app.cluster.volcano import JobReference, Volcano
from app.controller.namespaces import Namespaces
from tests.contract.accounts import ROLES, Account, make_account

DEPLOY = Path(__file__).parents[2] / "deploy"


def objects_of(name: str) -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all((DEPLOY / name).read_text()) if each}


def granted(role: dict[str, Any]) -> list[Right]:
    return [
        Right(verb, resource, group)
        for rule in role["rules"]
        for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"])
    ]


OBJECTS, API_OBJECTS = objects_of("rbac.yaml"), objects_of("rbac-api.yaml")
RULES: list[dict[str, Any]] = OBJECTS["ClusterRole"]["rules"]
GRANTED, API_GRANTED = granted(OBJECTS["ClusterRole"]), granted(API_OBJECTS["ClusterRole"])
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}


@pytest.mark.parametrize("objects", [OBJECTS, API_OBJECTS], ids=["controller", "api"])
def test_the_file_binds_its_role_to_its_account(objects: dict[str, Any]) -> None:
    account, binding = objects["ServiceAccount"]["metadata"], objects["ClusterRoleBinding"]
    rules = objects["ClusterRole"]["rules"]
    assert account["namespace"] == OBJECTS["Namespace"]["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account}]
    assert binding["roleRef"]["kind"] == "ClusterRole"
    assert binding["roleRef"]["name"] == objects["ClusterRole"]["metadata"]["name"]
    assert all(set(rule) == {"apiGroups", "resources", "verbs"} for rule in rules)
    assert not any("*" in values for rule in rules for values in rule.values())


def test_the_api_may_only_read() -> None:
    assert {right.verb for right in API_GRANTED} == {"get"}
    assert set(API_GRANTED) < set(GRANTED)


class Deployed:
    """What deploy/rbac.yaml makes, under names of this test alone, and the service's own client as its account."""

    def __init__(self, api: Any, account: Account, role: str, stack: AsyncExitStack) -> None:
        self.api = api
        self.account = account
        self.role = f"{ROLES}/clusterroles/{role}"
        self.namespace = f"{role}-team"
        self.queue = f"{role}-queue"
        self._stack = stack

    async def open(self) -> ClusterClient:
        authority = getattr(self.api, "authority", None)
        where = ClusterSettings(
            url=self.api.url,
            token=self.account.token,
            certificate_authority=Path(authority) if authority else None,
        )
        return await self._stack.enter_async_context(open_client(where))

    async def allow(self, rights: list[Right]) -> None:
        """Let the role have these rights, and wait until the server knows."""
        rules = [{"apiGroups": [each.group], "resources": [each.resource], "verbs": [each.verb]} for each in rights]
        status, answer = await self.api.merge(self.role, {"rules": rules})
        assert status == 200, answer
        for each in GRANTED:
            while (await self.account.may(each.verb, each.resource, each.group))["allowed"] is not (each in rights):
                pass

    async def make(self, path: str, body: dict[str, Any]) -> Any:
        status, answer = await self.api.post(path, body)
        assert status == 201, answer
        return answer

    async def make_job(self) -> JobReference:
        """A Job as an administrator makes it, with the service's finalizer."""
        made = await self.make(f"/apis/{JOB['apiVersion']}/namespaces/{self.namespace}/jobs", self.job())
        return JobReference(self.namespace, made["metadata"]["name"], made["metadata"]["uid"])

    async def make_pod(self) -> PodReference:
        """A pod behind our gate, as Volcano's controllers make it."""
        name = f"pod-{uuid.uuid4().hex[:8]}"
        container = {"name": "main", "image": "registry.test/llm:1"}
        spec = {"containers": [container], "schedulingGates": [{"name": TURN_GATE}], "schedulerName": "nobody"}
        metadata = {"name": name, "annotations": {"volcano.sh/task-index": "0"}}
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        made = await self.make(path, {"metadata": metadata, "spec": spec})
        return PodReference(self.namespace, name, made["metadata"]["uid"])

    def job(self) -> dict[str, Any]:
        container = {"name": "main", "image": "registry.test/llm:1"}
        tasks = [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
        metadata = {
            "name": f"job-{uuid.uuid4().hex[:8]}",
            "namespace": self.namespace,
            "finalizers": [RECORDED_FINALIZER],
        }
        return {**JOB, "metadata": metadata, "spec": {"tasks": tasks, "queue": self.queue}}

    async def remove(self) -> None:
        jobs = f"/apis/{JOB['apiVersion']}/namespaces/{self.namespace}/jobs"
        for each in (await self.api.get(jobs))[1].get("items", []):
            name = each["metadata"]["name"]
            await self.api.merge(f"{jobs}/{name}", {"metadata": {"finalizers": None}})
        _, queues = await self.api.get(f"/apis/{QUEUE['apiVersion']}/queues")
        for each in queues["items"]:
            if each["metadata"]["name"].startswith(self.queue):
                await self.api.delete(f"/apis/{QUEUE['apiVersion']}/queues/{each['metadata']['name']}")
        await self.api.delete(f"/api/v1/namespaces/{self.namespace}")
        await self.api.delete(self.role)


@pytest.fixture
async def deployed(api: Any, namespace: str) -> AsyncIterator[Deployed]:
    role = f"pumice-{uuid.uuid4().hex[:8]}"
    account = await make_account(api, namespace, OBJECTS["ServiceAccount"]["metadata"]["name"])
    async with AsyncExitStack() as stack:
        deployed = Deployed(api, account, role, stack)
        head = {field: OBJECTS["ClusterRole"][field] for field in ("apiVersion", "kind")}
        await deployed.make(f"{ROLES}/clusterroles", {**head, "metadata": {"name": role}, "rules": RULES})
        binding = {"metadata": {"name": role}, **account.bound_to("ClusterRole", role)}
        await deployed.make(f"{ROLES}/clusterrolebindings", binding)
        await deployed.make("/api/v1/namespaces", {"metadata": {"name": deployed.namespace}})
        if deployed.api.authority:  # a pod needs it on a real API server
            account_path = f"/api/v1/namespaces/{deployed.namespace}/serviceaccounts/default"
            await api.until(account_path, lambda status, _: status == 200)
        await deployed.make(f"/apis/{QUEUE['apiVersion']}/queues", {**QUEUE, "metadata": {"name": deployed.queue}})
        yield deployed
        await deployed.remove()
        await api.delete(f"{ROLES}/clusterrolebindings/{role}")


Use = Callable[[Deployed, Volcano, ClusterClient], Awaitable[Any]]


async def _create_job(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    await volcano.create_job(deployed.job())


async def _get_job(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    job = await deployed.make_job()
    await volcano.get_job(job.namespace, job.name)


async def _remove_finalizer(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    job = await deployed.make_job()
    await volcano.remove_finalizer(job, RECORDED_FINALIZER)


async def _delete_job(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    assert await volcano.delete_job(await deployed.make_job())


async def _create_command(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    await volcano.create_command(await deployed.make_job(), "TerminateJob")


async def _create_queue(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    name = f"{deployed.queue}-{uuid.uuid4().hex[:8]}"
    await volcano.create_queue({**QUEUE, "metadata": {"name": name}, "spec": {"weight": 1}})


async def _patch_queue(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    await volcano.patch_queue(deployed.queue, {"spec": {"weight": 3}})


async def _admit_pod(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    assert await Pods(client).admit_pod(await deployed.make_pod(), (TURN_GATE,), 3)


async def _delete_pod(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    assert await Pods(client).delete_pod(await deployed.make_pod())


async def _read_log(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    async with PodLogs(client).open(await deployed.make_pod(), LogOptions("main")) as pieces:
        assert [piece async for piece in pieces] == []


async def _create_namespace(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    namespaces = Namespaces(client)
    await namespaces.ensure(deployed.namespace)  # it exists: the right is asked for first
    if namespaces.why_missing(deployed.namespace):
        raise RightMissing(Right("create", "namespaces"))


async def _read_version(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
    assert (await volcano.version()).startswith("v")


def _list(kind: WatchedKind) -> Use:
    async def use(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
        await volcano.list_page(kind, limit=1)

    return use


def _watch(kind: WatchedKind) -> Use:
    async def use(deployed: Deployed, volcano: Volcano, client: ClusterClient) -> None:
        _, listed = await deployed.api.get(kind.collection_path, limit=1)
        version = listed["metadata"]["resourceVersion"]
        async with volcano.open_watch(kind, version, timeout_seconds=1, sock_read_seconds=10):
            pass

    return use


USES: dict[str, Use] = {
    "create-job": _create_job,
    "get-job": _get_job,
    "remove-finalizer": _remove_finalizer,
    "delete-job": _delete_job,
    "create-command": _create_command,
    "create-queue": _create_queue,
    "patch-queue": _patch_queue,
    "admit-pod": _admit_pod,
    "delete-pod": _delete_pod,
    "read-log": _read_log,
    "create-namespace": _create_namespace,
    "version": _read_version,
    **{f"list-{kind.plural}": _list(kind) for kind in WATCHED_KINDS},
    **{f"watch-{kind.plural}": _watch(kind) for kind in WATCHED_KINDS},
}
"""Whatever the service asks of the API server: its verbs of `cluster/volcano.py`, `cluster/pods.py`, and namespaces."""


async def refused(deployed: Deployed, client: ClusterClient) -> list[str]:
    """The names of those uses that are refused for want of a right; no other refusal passes."""
    names: list[str] = []
    for name, use in USES.items():
        try:
            await use(deployed, Volcano(client), client)
        except RightMissing:
            names.append(name)
    return names


async def test_the_rights_are_enough(deployed: Deployed) -> None:
    client = await deployed.open()
    await deployed.allow(GRANTED)
    assert await refused(deployed, client) == []
    assert client.rights.missing() == []


async def test_the_rights_of_the_api_are_enough_for_logs(deployed: Deployed) -> None:
    client = await deployed.open()
    await deployed.allow(API_GRANTED)
    await _read_log(deployed, Volcano(client), client)
    (state,) = await PodLogs(client).containers(await deployed.make_pod())
    assert (state.name, state.stage) == ("main", "waiting")
    assert client.rights.missing() == []


async def test_without_any_right_everything_but_the_version_is_refused(deployed: Deployed) -> None:
    client = await deployed.open()
    await deployed.allow([])
    assert set(USES) - set(await refused(deployed, client)) == {"version"}


@pytest.mark.parametrize("right", GRANTED, ids=lambda right: f"{right.verb}-{right.resource}")
async def test_each_right_is_needed(deployed: Deployed, right: Right) -> None:
    client = await deployed.open()
    await deployed.allow([each for each in GRANTED if each != right])
    assert await refused(deployed, client)
    (words,) = client.rights.missing()
    assert f"lacks the right to {right.verb} {right.resource}" in words
    await deployed.allow(GRANTED)
    assert await refused(deployed, client) == []
    assert client.rights.missing() == []
