"""The kubelets of all simulated nodes: they start, run, end and terminate the pods that are bound to them.

A terminated pod is removed without a last status, as kwok does it in volcano-traces; a real kubelet writes that its
containers ended first.
"""

import asyncio
import itertools
import math
from contextlib import suppress
from datetime import UTC, datetime

from app.simulator import pod_status
from app.simulator.clock import Clock
from app.simulator.events import event_of
from app.simulator.kinds import EVENT, NODE, POD
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.pod_life import Life, life_of

_FIRST_BACK_OFF_SECONDS, _LONGEST_BACK_OFF_SECONDS = 10.0, 300.0
PROGRESS = "pumice.dev/progress"
"""The annotation in which a container that counts its steps says how far it is."""
SIMULATED_NODE = "pumice.dev/simulated"
"""The annotation of nodes that have a simulated kubelet."""
_ENDED = ("Succeeded", "Failed")


class Kubelet:
    """Follows all pods and gives each bound one a worker."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._workers: dict[str, _Worker] = {}
        self._lost: set[str] = set()
        self._addresses = itertools.count(1)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async for event in self._objects.watch(POD):
                self._observe(event.type, event.object)
        finally:
            for worker in self._workers.values():
                worker.task.cancel()
            await asyncio.gather(*(worker.task for worker in self._workers.values()), return_exceptions=True)

    @property
    def busy(self) -> int:
        """How many pods have a worker: those that are bound and have not ended."""
        return len(self._workers)

    async def lose(self, node: str) -> None:
        """Stop everything on a node: its pods neither go on nor end, nor obey a deletion."""
        self._lost.add(node)
        for uid in [uid for uid, worker in self._workers.items() if worker.node == node]:
            self._workers.pop(uid).task.cancel()

    async def restore(self, node: str) -> None:
        """Go on with the pods of a lost node."""
        self._lost.discard(node)
        for pod in await self._objects.list(POD):
            self._observe("MODIFIED", pod)

    def _observe(self, change: str, pod: Object) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        worker = self._workers.get(uid)
        terminating = "deletionTimestamp" in pod["metadata"]
        ended = pod["status"].get("phase") in _ENDED
        if change == "DELETED" or (ended and not terminating):
            if worker is not None:
                worker.task.cancel()
            return
        if not node or node in self._lost:
            return
        if worker is None:
            worker = self._start(pod, node)
        if terminating:
            worker.terminating.set()

    def _start(self, pod: Object, node: str) -> "_Worker":
        uid = pod["metadata"]["uid"]
        number = next(self._addresses)
        address = f"10.{244 + (number >> 16) % 8}.{(number >> 8) % 256}.{number % 256}"
        worker = _Worker(self._objects, self._clock, pod, node, address)
        self._workers[uid] = worker
        worker.task.add_done_callback(lambda _: self._forget(uid, worker))
        return worker

    def _forget(self, uid: str, worker: "_Worker") -> None:
        if self._workers.get(uid) is worker:
            del self._workers[uid]


class _Worker:
    """The life of one pod."""

    def __init__(self, objects: Objects, clock: Clock, pod: Object, node: str, address: str) -> None:
        self.node = node
        self.terminating = asyncio.Event()
        self._objects = objects
        self._clock = clock
        self._address = address
        self._namespace, self._name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        self._uid = pod["metadata"]["uid"]
        self.task = asyncio.get_running_loop().create_task(self._live(pod))

    async def _live(self, pod: Object) -> None:
        life = life_of(pod)
        try:
            if not await self._has_kubelet():
                return
            if pod["status"].get("phase") not in _ENDED:
                await self._run_until_the_end(pod, life)
            await self.terminating.wait()
            await self._terminate(life)
        except ApiError:
            return  # the pod is gone

    async def _has_kubelet(self) -> bool:
        """A pod bound to a node that is not there, or that is somebody else's, stays as it is."""
        node = await self._objects.get(NODE, None, self.node)
        return (node["metadata"].get("annotations") or {}).get(SIMULATED_NODE) == "true"

    async def _run_until_the_end(self, pod: Object, life: Life) -> None:
        already = _elapsed_seconds(pod) * self._clock.speed
        if pod_status.started_at(pod) is None and not await self._prepare(life):
            return
        while not self.terminating.is_set():
            if pod_status.started_at(await self._pod()) is None:
                await self._write(pod_status.running(await self._pod(), Clock.stamp(), self._host, self._address))
                await self._say("Started", "Started container")
            if await self._work(life, already):
                return
            already = 0.0
            if not await self._restart(life):
                return

    async def _prepare(self, life: Life) -> bool:
        """Bring the containers up; False when they never start."""
        pod = await self._pod()
        await self._write(pod_status.waiting(pod, Clock.stamp(), self._host, "ContainerCreating"))
        if life.waits_for is not None:
            await self._wait_for_image(life.waits_for)
            return False
        if await self._clock.wait(self.terminating, life.start_seconds):
            return False
        await self._say("Created", "Created container")
        return True

    async def _wait_for_image(self, reason: str) -> None:
        pod = await self._pod()
        image = pod["spec"]["containers"][0].get("image", "")
        text = f'failed to pull and unpack image "{image}": simulated'
        if reason == "ImagePullBackOff":
            text = f'Back-off pulling image "{image}"'
        await self._write(pod_status.waiting(pod, Clock.stamp(), self._host, reason, text))
        await self._say("Failed", f"Error: {reason}", type_="Warning")
        await self.terminating.wait()

    async def _work(self, life: Life, already: float) -> bool:
        """Let the containers run to their end and count the steps; True when the pod is terminated before."""
        if not life.progress_steps or life.run_seconds == math.inf:
            return await self._clock.wait(self.terminating, life.run_seconds - already)
        for step in range(life.progress_steps + 1):
            moment = life.run_seconds * step / life.progress_steps
            if moment >= already:
                if await self._clock.wait(self.terminating, moment - already):
                    return True
                already = moment
                if step < life.progress_steps or life.exit_code == 0:
                    await self._count(step, life.progress_steps)
        return False

    async def _count(self, done: int, total: int) -> None:
        change = {"metadata": {"annotations": {PROGRESS: f"{done}/{total}"}}}
        await self._objects.patch(POD, self._namespace, self._name, change)

    async def _restart(self, life: Life) -> bool:
        """End the containers, or wait for their restart in place; False when the pod is at its end."""
        pod = await self._pod()
        policy = pod["spec"].get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and life.exit_code == 0):
            await self._write(pod_status.ended(pod, Clock.stamp(), life))
            return False
        wait = min(_FIRST_BACK_OFF_SECONDS * 2.0 ** min(pod_status.restarts(pod), 10), _LONGEST_BACK_OFF_SECONDS)
        await self._write(pod_status.restarting(pod, Clock.stamp(), life, wait))
        await self._say("BackOff", "Back-off restarting failed container", type_="Warning")
        return not await self._clock.wait(self.terminating, wait)

    async def _terminate(self, life: Life) -> None:
        """End a pod that is being deleted: at once, or after its grace period when it ignores SIGTERM."""
        pod = await self._pod()
        if life.ignores_sigterm and pod_status.started_at(pod) is not None:
            await self._clock.sleep(float(pod["metadata"].get("deletionGracePeriodSeconds", 0)))
        await self._objects.delete(POD, self._namespace, self._name, uid=self._uid, grace_period_seconds=0)

    async def _pod(self) -> Object:
        pod = await self._objects.get(POD, self._namespace, self._name)
        if pod["metadata"]["uid"] != self._uid:
            raise ApiError(404, "NotFound", "the pod was replaced by another")
        return pod

    async def _write(self, status: Object) -> None:
        await self._objects.patch(POD, self._namespace, self._name, {"status": status}, "status")

    async def _say(self, reason: str, message: str, type_: str = "Normal") -> None:
        event = event_of(await self._pod(), type_, reason, message, component="kubelet", host=self.node)
        with suppress(ApiError):  # one that cannot be written is dropped, as Kubernetes' recorders do
            await self._objects.create(EVENT, event)

    @property
    def _host(self) -> str:
        digits = "".join(letter for letter in self.node if letter.isdigit())
        return f"10.0.{int(digits or 0) // 250 % 250}.{int(digits or 0) % 250 + 1}"


def _elapsed_seconds(pod: Object) -> float:
    """Real seconds since the containers started, for a pod of an earlier run of the simulator."""
    started = pod_status.started_at(pod)
    if started is None:
        return 0.0
    moment = datetime.strptime(started, "%Y-%m-%dT%H:%M:%S%z")
    return max(0.0, (datetime.now(UTC) - moment).total_seconds())
