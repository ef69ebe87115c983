"""The Queue controller (volcano-facts 4): states, the parent `root`, and Open and Close Commands."""

import asyncio
from collections.abc import Iterable

import structlog

from app.simulator.clock import Clock
from app.simulator.kinds import COMMAND, POD_GROUP, QUEUE
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.volcano.commands import take
from app.simulator.volcano.events import EventRecorder
from app.simulator.volcano.informer import Change, Informer, cancel, spawn
from app.simulator.volcano.job_writer import ControllerError
from app.simulator.volcano.names import CLOSED_BY_PARENT, CONTROLLER, annotation, key_of
from app.simulator.volcano.pod_groups import phase_of
from app.simulator.volcano.queue_states import CLOSE, OPEN, SHUT, SYNC, next_state
from app.simulator.volcano.work_queue import WorkQueue

ROOT = "root"
MAXIMUM_REQUEUES = 15

log = structlog.get_logger(__name__)

Request = tuple[str, str]
"""Queue name and action."""


def state_of(queue: Object) -> str:
    """The state; empty for a new Queue."""
    return str((queue.get("status") or {}).get("state") or "")


def parent_of(queue: Object) -> str:
    """The parent's name; empty for a new Queue and for `root`."""
    return str((queue.get("spec") or {}).get("parent") or "")


class QueueController:
    """Volcano's Queue controller on one API server."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._recorder = EventRecorder(objects, clock, CONTROLLER)
        self._queue: WorkQueue[Request] = WorkQueue()
        self._background: set[asyncio.Task[None]] = set()
        self._queues = Informer(objects, QUEUE, clock, self._queue_changed)
        self._members: dict[str, set[str]] = {}
        self._pod_groups = Informer(objects, POD_GROUP, clock, self._pod_group_changed)
        self._commands = Informer(objects, COMMAND, clock, self._command_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for informer in (self._queues, self._pod_groups, self._commands):
                    group.create_task(informer.run())
                group.create_task(self._work())
        finally:
            await cancel(self._background)

    def _queue_changed(self, change: Change, old: Object | None, queue: Object) -> None:
        name = queue["metadata"]["name"]
        if change == "DELETED":
            self._members.pop(name, None)
        elif change == "ADDED" or old is None or parent_of(old) != parent_of(queue):
            self._queue.add((name, SYNC))

    def _pod_group_changed(self, change: Change, old: Object | None, pod_group: Object) -> None:
        name = str((pod_group.get("spec") or {}).get("queue") or "default")
        if change == "DELETED":
            self._members.get(name, set()).discard(key_of(pod_group))
        else:
            if old is not None and phase_of(old) == phase_of(pod_group):
                return
            self._members.setdefault(name, set()).add(key_of(pod_group))
        self._queue.add((name, SYNC))

    def _command_changed(self, change: Change, _old: Object | None, command: Object) -> None:
        if change == "ADDED" and (command.get("target") or {}).get("kind") == "Queue":
            spawn(self._background, asyncio.create_task(self._take_command(command)))

    async def _take_command(self, command: Object) -> None:
        if await take(self._objects, command):
            self._queue.add((str(command["target"].get("name", "")), str(command.get("action", ""))))

    async def _work(self) -> None:
        while True:
            request = await self._queue.get()
            try:
                await self._handle(request)
                self._queue.forget(request)
            except (ControllerError, ApiError) as error:
                await self._failed(request, error)
            except Exception:  # one Queue must never stop the controller for the others
                log.exception("A Queue could not be handled.", queue=request[0], action=request[1])
            finally:
                self._queue.done(request)

    async def _failed(self, request: Request, error: Exception) -> None:
        name, action = request
        if self._queue.failures(request) < MAXIMUM_REQUEUES:
            delay = self._queue.failed(request)
            spawn(self._background, asyncio.create_task(self._again(request, delay)))
            return
        self._queue.forget(request)
        queue = self._queues.named(name)
        if queue is not None:
            await self._recorder.record(queue, "Warning", action, f"{action} queue failed for {error}")

    async def _again(self, request: Request, delay: float) -> None:
        await self._clock.sleep(delay)
        self._queue.add(request)

    async def _handle(self, request: Request) -> None:
        name, action = request
        queue = self._queues.named(name)
        if queue is None:
            return
        state = state_of(queue)
        if action == OPEN and state not in ("", "Open"):
            await self._open(queue)
        elif action == CLOSE and state not in SHUT:
            await self._close(queue)
        else:
            await self._sync(queue, action)

    async def _sync(self, queue: Object, action: str) -> None:
        name = queue["metadata"]["name"]
        if name != ROOT and not parent_of(queue):
            queue = await self._patch(queue, {"spec": {"parent": ROOT}})
        queue = await self._set_state(queue, next_state(state_of(queue), action, self._count(name)))
        await self._follow_parent(queue)

    async def _open(self, queue: Object) -> None:
        name, parent = queue["metadata"]["name"], parent_of(queue)
        if parent not in ("", ROOT):
            above = self._queues.named(parent)
            if above is None or state_of(above) in SHUT:
                raise ControllerError(
                    f"Failed to open queue {name} because its parent queue {parent} is closing or closed. "
                    "Open the parent queue first."
                )
        for child in self._children(name):
            if annotation(child, CLOSED_BY_PARENT) == "true":
                self._queue.add((child["metadata"]["name"], OPEN))
        queue = await self._set_state(queue, next_state(state_of(queue), OPEN, self._count(name)))
        await self._mark_closed_by_parent(queue, "false")

    async def _close(self, queue: Object) -> None:
        name = queue["metadata"]["name"]
        if name == ROOT:
            return
        for child in self._children(name):
            if state_of(child) not in SHUT:
                await self._mark_closed_by_parent(child, "true")
                self._queue.add((child["metadata"]["name"], CLOSE))
        queue = await self._set_state(queue, next_state(state_of(queue), CLOSE, self._count(name)))
        await self._recorder.record(queue, "Normal", CLOSE, "Close queue succeed")

    async def _follow_parent(self, queue: Object) -> None:
        """Close below a closed parent; open again what its parent had closed."""
        name = queue["metadata"]["name"]
        if name == ROOT:
            return
        above = self._queues.named(parent_of(queue))
        if above is None:
            raise ControllerError(f'queue.scheduling.volcano.sh "{parent_of(queue)}" not found')
        if state_of(above) in SHUT and state_of(queue) not in SHUT:
            await self._mark_closed_by_parent(queue, "true")
            self._queue.add((name, CLOSE))
        closed_by_parent = annotation(queue, CLOSED_BY_PARENT) == "true"
        if state_of(above) == "Open" and state_of(queue) in SHUT and closed_by_parent:
            self._queue.add((name, OPEN))

    def _children(self, name: str) -> Iterable[Object]:
        return [queue for queue in self._queues.items.values() if parent_of(queue) == name]

    def _count(self, name: str) -> int:
        return len(self._members.get(name, ()))

    async def _set_state(self, queue: Object, state: str) -> Object:
        if state == state_of(queue):
            return queue
        return await self._patch(queue, {"status": {"state": state}}, "status")

    async def _mark_closed_by_parent(self, queue: Object, value: str) -> None:
        if annotation(queue, CLOSED_BY_PARENT) != value:
            await self._patch(queue, {"metadata": {"annotations": {CLOSED_BY_PARENT: value}}})

    async def _patch(self, queue: Object, change: Object, subresource: str | None = None) -> Object:
        changed = await self._objects.patch(QUEUE, None, queue["metadata"]["name"], change, subresource)
        self._queues.put(changed)
        return changed
