"""Actions of policies with a timeout: carried out later, unless the pod recovers (volcano-facts 2.2)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.simulator.clock import Clock
from app.simulator.volcano.policies import Decision, Request

_POD_EVENTS = frozenset({"PodPending", "PodRunning", "PodFailed", "PodEvicted"})
_SCOPES = {"RestartTask": "task", "RestartPod": "pod", "RestartPartition": "partition"}


@dataclass(frozen=True, slots=True)
class _Delayed:
    request: Request
    action: str
    task: asyncio.Task[None]


class DelayedActions:
    """At most one waiting action per pod of a Job."""

    def __init__(self, clock: Clock, add: Callable[[Request], None]) -> None:
        self._clock = clock
        self._add = add
        self._waiting: dict[str, dict[str, _Delayed]] = {}

    def put(self, request: Request, decision: Decision) -> None:
        """Carry out an action after its delay, in place of the pod's earlier one, unless that is the same."""
        of_job = self._waiting.setdefault(request.key, {})
        known = of_job.get(request.pod)
        if known is not None and known.action == decision.action:
            return
        task = asyncio.create_task(self._later(request, decision))
        of_job[request.pod] = _Delayed(request, decision.action, task)

    async def _later(self, request: Request, decision: Decision) -> None:
        await self._clock.sleep(decision.delay_seconds)
        self._waiting.get(request.key, {}).pop(request.pod, None)
        self._add(replace(request, action=decision.action, delayed=True))

    def heard(self, request: Request) -> None:
        """Cancel what an event makes void: a pod that is no longer Pending, or that runs again."""
        if request.event not in _POD_EVENTS or request.event == "PodPending":
            return
        known = self._waiting.get(request.key, {}).get(request.pod)
        if known is None:
            return
        waited_for = known.request.event
        left_pending = waited_for == "PodPending" and known.request.pod_uid == request.pod_uid
        recovered = waited_for in ("PodFailed", "PodEvicted") and request.event == "PodRunning"
        if left_pending or recovered:
            self._cancel(known)

    def done(self, request: Request, action: str) -> None:
        """Cancel the waiting actions of the same scope as one that was just carried out."""
        scope = _SCOPES.get(action)
        for known in list(self._waiting.get(request.key, {}).values()):
            if _SCOPES.get(known.action) != scope:
                continue
            if scope is None or getattr(known.request, scope) == getattr(request, scope):
                self._cancel(known)

    def _cancel(self, known: _Delayed) -> None:
        known.task.cancel()
        self._waiting[known.request.key].pop(known.request.pod, None)

    def close(self) -> None:
        """Cancel everything."""
        for of_job in list(self._waiting.values()):
            for known in list(of_job.values()):
                self._cancel(known)
