from typing import Any

from app.simulator.kinds import COMMAND, JOB, QUEUE


async def test_new_queue_gets_a_parent_and_opens(cluster: Any) -> None:
    await cluster.queue("q")
    queue = cluster.find(QUEUE, "q")
    assert (queue["spec"]["parent"], queue["spec"]["reclaimable"]) == ("root", True)
    assert "parent" not in cluster.find(QUEUE, "root")["spec"]


async def test_queue_with_a_job_closes_when_it_is_empty(cluster: Any) -> None:
    await cluster.queue("q")
    await cluster.submit(queue="q")
    await cluster.until(cluster.pod_group)
    await cluster.command("CloseQueue", "Queue", "q")
    await cluster.queue_state("q", "Closing")
    assert cluster.names(COMMAND) == []
    refusal = await cluster.refusal(cluster.submit("b", queue="q"))
    assert refusal.message.endswith("can only submit job to queue with state `Open`, queue `q` status is `Closing`;")
    await cluster.objects.delete(JOB, "team", "a")
    await cluster.queue_state("q", "Closed")
    assert cluster.events("Queue") == [("Normal", "CloseQueue", "Close queue succeed")]
    await cluster.command("OpenQueue", "Queue", "q")
    await cluster.queue_state("q", "Open")


async def test_children_follow_their_parent(cluster: Any) -> None:
    await cluster.queue("parent")
    await cluster.queue("child", parent="parent")
    await cluster.command("CloseQueue", "Queue", "parent")
    await cluster.queue_state("child", "Closed")
    annotations = cluster.find(QUEUE, "child")["metadata"]["annotations"]
    assert annotations["volcano.sh/closed-by-parent"] == "true"
    await cluster.command("OpenQueue", "Queue", "parent")
    await cluster.queue_state("child", "Open")


async def test_child_of_a_closed_parent_stays_closed_and_says_why(cluster: Any) -> None:
    await cluster.queue("parent")
    await cluster.queue("child", parent="parent")
    await cluster.command("CloseQueue", "Queue", "parent")
    await cluster.queue_state("child", "Closed")
    await cluster.command("OpenQueue", "Queue", "child")
    event = await cluster.until(lambda: [e for e in cluster.events("Queue") if e[1] == "OpenQueue"])
    assert "because its parent queue parent is closing or closed" in event[0][2]
    await cluster.queue_state("child", "Closed")


async def test_root_cannot_be_closed(cluster: Any) -> None:
    await cluster.command("CloseQueue", "Queue", "root")
    await cluster.until(lambda: not cluster.names(COMMAND))
    await cluster.idle()
    await cluster.queue_state("root", "Open")
