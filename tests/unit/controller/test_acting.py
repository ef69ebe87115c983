"""What the actor remembers between two looks."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from app.controller.acting import Actor
from app.controller.facts import Action
from app.controller.outcomes import unchanged
from tests.unit.controller.situations import NOW, pod, row, situation, volcano_job

JOB = UUID(int=1)
GATES = ("pumice.dev/turn",)


class Pods:
    """Stands in for the verbs about pods; says whether a pod was as it was seen."""

    def __init__(self, *, admits: bool) -> None:
        self.admits = admits

    async def admit_pod(self, *_: Any) -> bool:
        return self.admits


@pytest.mark.parametrize("admits", [True, False])
async def test_a_pod_that_was_let_go_stands_behind_no_gate_though_the_watch_is_late(admits: bool) -> None:
    volcano: Any = None
    pods: Any = Pods(admits=admits)
    actor, gated = Actor(volcano, pods), pod(0, "Pending", gates=GATES)
    decision = replace(unchanged(situation(row())), to_admit=(gated,))
    await actor.act(Action.ADMIT_PODS, volcano_job(), decision, JOB, NOW)
    (seen,) = actor.as_let_go(JOB, (gated,))
    assert seen.gated is not admits
    successor = pod(0, "Pending", uid="another", gates=GATES)
    assert actor.as_let_go(JOB, (successor,)) == (successor,)
    assert actor.as_let_go(JOB, (gated,)) == (gated,)  # the cache agreed in between: what is gated now is gated
