"""What a case does: over HTTP as a member, and to the cluster as its people and its faults do."""

from collections.abc import Awaitable, Callable
from typing import Any

from app.simulator.faults import Fault
from app.simulator.kinds import COMMAND, JOB, POD
from tests.crash.world import World
from tests.fixtures.members import Member

LONG = "sleep 100000"


class Stage:
    """The member nlp and the world behind the service."""

    def __init__(self, nlp: Member, body: Callable[..., dict[str, Any]], world: World) -> None:
        self.nlp = nlp
        self.body = body
        self.world = world
        self.cluster = world.cluster

    async def submit(
        self, name: str = "bulk-score", command: str = "sleep 0.2", *, gpus: int = 1, replicas: int = 1, **job: Any
    ) -> str:
        """Submit a job that small nodes have room for; returns its id."""
        resources = {"cpu": "1", "memory": "1Gi", "gpus": gpus}
        task = {"command": ["sh", "-c", command], "replicas": replicas, "resources": resources}
        made: str = (await self.nlp.accepted(self.body(name=name, task=task, **job)))["id"]
        return made

    async def read(self, job_id: str) -> dict[str, Any]:
        """The job as the API shows it."""
        answer = await self.nlp.client.get(f"/v1/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        job: dict[str, Any] = answer.json()
        return job

    async def ask(self, verb: str, job_id: str) -> Any:
        """Cancel, suspend, resume or retry; returns the answer."""
        return await self.nlp.client.post(f"/v1/jobs/{job_id}/{verb}")

    async def events(self, job_id: str) -> list[str]:
        """The types of the job's history, oldest first."""
        items = (await self.nlp.client.get(f"/v1/jobs/{job_id}/events", params={"limit": 200})).json()["items"]
        return [event["type"] for event in items]

    async def until(self, condition: Callable[[], Awaitable[Any]]) -> Any:
        """Wait until a condition gives something true, and return that."""
        return await self.world.until(condition, seconds=60)

    async def until_state(self, job_id: str, *states: str) -> dict[str, Any]:
        """Wait until the API shows one of these states."""

        async def reached() -> dict[str, Any] | None:
            job = await self.read(job_id)
            return job if job["state"] in states else None

        found: dict[str, Any] = await self.until(reached)
        return found

    async def until_message(self, job_id: str) -> dict[str, Any]:
        """Wait until the API shows a message."""

        async def told() -> dict[str, Any] | None:
            job = await self.read(job_id)
            return job if job["message"] else None

        found: dict[str, Any] = await self.until(told)
        return found

    async def pods(self) -> list[dict[str, Any]]:
        """The pods in the team's namespace of the cluster."""
        return [pod for pod in await self.cluster.objects.list(POD) if pod["metadata"]["namespace"] == "team-nlp"]

    async def volcano_jobs(self) -> list[dict[str, Any]]:
        """The Volcano Jobs in the cluster."""
        found: list[dict[str, Any]] = await self.cluster.objects.list(JOB)
        return found

    async def call_it_over(self, job_id: str) -> None:
        """Let Volcano's Job say that it is over while its pods still run."""
        job = await self.read(job_id)
        change = {"status": {"state": {"phase": "Terminated"}}}
        await self.cluster.objects.patch(JOB, job["k8s_namespace"], job["k8s_name"], change, "status")

    async def take_away(self, job_id: str) -> None:
        """Remove Volcano's Job whatever holds it, as somebody with kubectl can."""
        job = await self.read(job_id)
        place = (JOB, job["k8s_namespace"], job["k8s_name"])
        await self.cluster.objects.patch(*place, {"metadata": {"finalizers": []}})
        await self.cluster.objects.delete(*place)

    def writes(self, plural: str = JOB.plural, method: str = "POST") -> int:
        """How many requests of this kind the API server has answered."""
        asked = [path for verb, path, _ in self.cluster.server.requests if verb == method]
        return sum(path.rstrip("/").split("/")[-1 if method == "POST" else -2] == plural for path in asked)

    def commands(self) -> int:
        """How many Commands were sent to Volcano."""
        return self.writes(COMMAND.plural)

    def create_fails(self, count: int = 1, **fault: Any) -> None:
        """Let the next create calls for Volcano Jobs be answered so."""
        effect = fault.pop("effect", "answer")
        self.cluster.faults.add(Fault(effect, method="POST", plural=JOB.plural, count=count, **fault))
