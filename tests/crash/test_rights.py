"""The service while its account lacks a right of deploy/rbac.yaml: it says which, fails no job, and goes on when given.

On the simulated cluster, with the token of a service account that has exactly those rights.
"""

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import yaml

from app.cluster.client import ClusterSettings, open_client
from app.cluster.rights import Right
from app.commands.probes import create_probe_app
from app.jobs.log_tails import log_tails
from app.queues import service as queue_service
from app.queues.schemas import QueueCreate, QueuePatch
from app.simulator.cluster import SimulatedCluster
from app.simulator.faults import Fault
from app.simulator.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, NAMESPACE, QUEUE, SERVICE_ACCOUNT

DEPLOY = Path(__file__).parents[2] / "deploy" / "rbac.yaml"
OBJECTS = [document for document in yaml.safe_load_all(DEPLOY.read_text()) if document]
RULES: list[dict[str, Any]] = next(each["rules"] for each in OBJECTS if each["kind"] == "ClusterRole")
RIGHTS = [
    Right(verb, resource, group)
    for rule in RULES
    for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"])
]
FOR_RUNS = [Right("patch", "pods"), Right("delete", "pods")]
FOR_LOGS = [Right("get", "pods"), Right("get", "pods/log")]
"""What only the last lines of logs need; nobody waits for those."""

NAME = "pumice-controller"


class Role:
    """The ClusterRole of the service's account, to be made smaller and whole again."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    async def take(self, *rights: Right) -> None:
        taken = {(right.group, right.resource, right.verb) for right in rights}
        left = [
            {"apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb]}
            for right in RIGHTS
            if (right.group, right.resource, right.verb) not in taken
        ]
        await self._cluster.objects.patch(CLUSTER_ROLE, None, NAME, {"rules": left})

    async def give_back(self) -> None:
        await self._cluster.objects.patch(CLUSTER_ROLE, None, NAME, {"rules": RULES})


async def _apply_rights(cluster: SimulatedCluster) -> None:
    """Make what deploy/rbac.yaml says."""
    kinds = {kind.name: kind for kind in (NAMESPACE, SERVICE_ACCOUNT, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)}
    for each in OBJECTS:
        await cluster.objects.create(kinds[each["kind"]], each)


async def _new_token(cluster: SimulatedCluster) -> str:
    # without certificates, whose loading would hold the controller's event loop up
    async with httpx.AsyncClient(base_url=cluster.url, trust_env=False, verify=False) as client:
        answer = await client.post(f"/api/v1/namespaces/pumice/serviceaccounts/{NAME}/token", json={})
    return str(answer.json()["status"]["token"])


@pytest.fixture
async def role(world: Any) -> AsyncIterator[Role]:
    await _apply_rights(world.cluster)
    token = await _new_token(world.cluster)
    async with open_client(ClusterSettings(url=world.cluster.url, token=token)) as client:
        world.client = client
        yield Role(world.cluster)
        await world.stop()


async def readyz(world: Any) -> tuple[int, dict[str, Any]]:
    transport = httpx.ASGITransport(app=create_probe_app(world.settings, world.sessions))
    async with httpx.AsyncClient(transport=transport, base_url="http://controller.test") as client:
        answer = await client.get("/readyz")
    return answer.status_code, answer.json()


async def until_named(world: Any, words: str) -> dict[str, Any]:
    async def named() -> dict[str, Any] | None:
        status, found = await readyz(world)
        sentences = [sentence for sentence in found["controller"]["missing_rights"] if words in sentence]
        return {**found, "status": status, "sentences": sentences} if sentences else None

    found: dict[str, Any] = await world.until(named)
    return found


async def until_ready(world: Any) -> dict[str, Any]:
    async def ready() -> dict[str, Any] | None:
        status, found = await readyz(world)
        return found if status == 200 and found["controller"]["leading"] else None

    found: dict[str, Any] = await world.until(ready)
    return found


def start_anew(world: Any) -> None:
    """End every watch and what they could go on from, so that all is listed and watched again."""
    world.cluster.faults.compact()
    world.cluster.faults.cut_watches()


async def until_queue(world: Any, name: str, weight: int) -> None:
    async def there() -> bool:
        queues = {each["metadata"]["name"]: each for each in await world.cluster.objects.list(QUEUE)}
        return name in queues and queues[name]["spec"]["weight"] == weight

    await world.until(there)


async def change_queues(world: Any) -> None:
    async with world.sessions.begin() as session:
        await queue_service.create_queue(session, QueueCreate(name="q-new"))
        await queue_service.change_queue(session, "q-nlp", QueuePatch(weight=7))


def refused(world: Any) -> int:
    return sum(status == 403 for _, _, status in world.cluster.server.requests)


def sentence(right: Right) -> str:
    what = f"{right.resource} of {right.group}" if right.group else right.resource
    return f"The service's account in the cluster lacks the right to {right.verb} {what} "


@pytest.mark.parametrize(
    "right",
    [each for each in RIGHTS if each not in {*FOR_LOGS, *FOR_RUNS}],
    ids=lambda right: f"{right.verb}-{right.resource}",
)
async def test_a_missing_right_is_named_fails_nothing_and_heals(
    world: Any, role: Role, right: Right, capfd: pytest.CaptureFixture[str]
) -> None:
    task = world.start()
    await world.make_team()
    await until_queue(world, "q-nlp", 1)
    cancelled = None if right.resource == "namespaces" else await _running(world)
    await until_ready(world)
    capfd.readouterr()
    await role.take(right)
    start_anew(world)
    await change_queues(world)
    if cancelled is not None:
        await world.cancel(cancelled)
    waiting = await world.submit("waiting")
    found = await until_named(world, sentence(right))
    assert (found["status"], found["ready"]) == (503, False)
    assert "rights" in found["missing"]
    assert "system:serviceaccount" not in str(found)
    assert not {"failed", "lost"} & set(await world.states())
    await role.give_back()
    row = await world.until_state(waiting, "succeeded", "failed", "lost")
    assert (row.state, row.attempt) == ("succeeded", 1)
    await world.until_clean(waiting)
    if cancelled is not None:
        await world.until_state(cancelled, "cancelled")
        await world.until_clean(cancelled)
    await until_queue(world, "q-new", 1)
    await until_queue(world, "q-nlp", 7)
    await until_ready(world)
    said = [line for line in capfd.readouterr().out.splitlines() if "cluster_right_missing" in line]
    assert len(said) == 1
    assert right.verb in said[0]
    assert right.resource in said[0]
    assert refused(world) < 100
    assert len(world.created) == (1 if cancelled is None else 2)
    assert not task.done()


@pytest.mark.parametrize("right", FOR_RUNS, ids=lambda right: f"{right.verb}-{right.resource}")
async def test_without_a_right_about_pods_a_job_says_so_and_goes_on_later(world: Any, role: Role, right: Right) -> None:
    world.start()
    await world.make_team()
    await until_ready(world)
    await role.take(right)
    failing = {"name": "failing", "replicas": 1, "command": ["sh", "-c", "exit 3"]}
    array = await world.submit("array", array={"size": 2, "parallelism": 1})
    shards = await world.submit(
        "shards", command="sleep 100000", more_tasks=[failing], min_available=1, retries={"max": 1}
    )
    await until_named(world, sentence(right))
    stopped = array if right.verb == "patch" else shards

    async def explained() -> bool:
        return f"lacks the right to {right.verb} pods" in ((await world.row(stopped)).message or "")

    await world.until(explained)
    await role.give_back()
    await world.until_state(array, "succeeded")

    async def failed_twice() -> bool:
        return [pod.phase for pod in await world.pods() if pod.task == "failing"] == ["Failed", "Failed"]

    await world.until(failed_twice)
    await until_ready(world)
    assert (await world.row(shards)).state == "running"


@pytest.mark.parametrize("right", FOR_LOGS, ids=lambda right: f"{right.verb}-{right.resource}")
async def test_without_a_right_for_logs_none_are_kept_and_all_is_ready(
    world: Any, role: Role, right: Right, capfd: pytest.CaptureFixture[str]
) -> None:
    await role.take(right)
    world.start()
    await world.make_team()
    jobs = [await world.submit(f"job-{number}") for number in range(2)]
    for job_id in jobs:
        await world.until_state(job_id, "succeeded", "failed", "lost")
        await world.until_clean(job_id)
    assert (await until_ready(world))["controller"]["missing_rights"] == []
    assert await world.states() == ["succeeded", "succeeded"]
    assert await world.rows(log_tails) == []
    said = [line for line in capfd.readouterr().out.splitlines() if "cluster_right_missing" in line]
    assert len(said) == 1
    assert f"lacks the right to get {right.resource} " in said[0]


async def _running(world: Any) -> UUID:
    job_id: UUID = await world.submit("running", command="sleep 100000")
    await world.until_state(job_id, "running")
    return job_id


async def test_a_job_that_may_not_be_created_waits_and_says_why(world: Any, role: Role) -> None:
    world.start()
    await world.make_team()
    await until_queue(world, "q-nlp", 1)
    await role.take(Right("create", "jobs", "batch.volcano.sh"))
    jobs = [await world.submit(f"waiting-{index}") for index in range(5)]

    async def all_held() -> bool:
        rows = [await world.row(job_id) for job_id in jobs]
        return all(row.state == "held" and row.reason == "ClusterRightMissing" for row in rows)

    await world.until(all_held)
    message = (await world.row(jobs[0])).message
    right = Right("create", "jobs", "batch.volcano.sh", "team-nlp")
    assert message == right.sentence
    await role.give_back()
    for job_id in jobs:
        row = await world.until_state(job_id, "succeeded", "failed", "lost")
        assert (row.state, row.reason) == ("succeeded", None)
    assert len(world.created) == 5


async def test_a_namespace_that_may_not_be_made_holds_its_jobs_and_says_why(world: Any, role: Role) -> None:
    world.start()
    await world.make_team()
    await role.take(Right("create", "namespaces"))
    job_id = await world.submit()

    async def held() -> Any:
        row = await world.row(job_id)
        return row if row.state == "held" and row.reason == "NamespaceMissing" else None

    row = await world.until(held)
    assert row.message == f"The namespace team-nlp is not in the cluster. {Right('create', 'namespaces').sentence}"
    # by somebody who may
    await world.cluster.objects.create(NAMESPACE, {"metadata": {"name": "team-nlp"}})
    assert (await world.until_state(job_id, "succeeded", "failed", "lost")).state == "succeeded"


async def test_a_cancel_that_may_not_be_sent_says_why_and_is_carried_out_later(world: Any, role: Role) -> None:  # C-09
    world.start()
    await world.make_team()
    job_id = await _running(world)
    await role.take(Right("create", "commands", "bus.volcano.sh"))
    await world.cancel(job_id)

    async def explained() -> bool:
        row = await world.row(job_id)
        return row.state == "cancelling" and "lacks the right to create commands" in (row.message or "")

    await world.until(explained)
    await role.give_back()
    await world.until_state(job_id, "cancelled")


async def test_a_webhook_that_refuses_still_fails_the_job(world: Any, role: Role) -> None:
    words = 'admission webhook "validatejob.volcano.sh" denied the request: User "x" cannot create resource "jobs"'
    fault = Fault(effect="answer", method="POST", plural="jobs", status=403, reason="Forbidden", message=words)
    world.cluster.faults.add(fault)
    world.start()
    await world.make_team()
    row = await world.until_state(await world.submit(), "failed", "succeeded")
    assert (row.state, row.reason, row.message) == ("failed", "RejectedByCluster", words)


async def test_an_expired_token_stops_nothing_for_good(world: Any, role: Role) -> None:
    """The client gets a new one by itself (a kubelet's file, an exec plugin); here it is put into its place."""
    task = world.start()
    await world.make_team()
    running = await world.submit("running", command="sleep 20")
    await world.until_state(running, "running")
    world.cluster.faults.expire_tokens()
    waiting = await world.submit("waiting")

    async def noticed() -> bool:
        return any(status == 401 for _, _, status in world.cluster.server.requests)

    await world.until(noticed)
    fresh = f"Bearer {await _new_token(world.cluster)}"
    world.client._api.configuration.api_key["BearerToken"] = fresh
    for job_id in (running, waiting):
        row = await world.until_state(job_id, "succeeded", "failed", "lost")
        assert (row.state, row.attempt) == ("succeeded", 1)
    assert len(world.created) == 2
    assert not task.done()
