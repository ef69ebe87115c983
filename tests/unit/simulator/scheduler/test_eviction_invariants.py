"""What holds after every session in which pods may be evicted, whatever is submitted."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.simulator.volcano.scheduler.opening import open_session
from app.simulator.volcano.scheduler.proportion import QueueBook
from app.simulator.volcano.scheduler.resources import add, fits
from app.simulator.volcano.scheduler.results import SessionResult
from app.simulator.volcano.scheduler.snapshot import build_snapshot

PROPORTION_ALONE = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enableReclaimable: false}
  - {name: conformance, enableReclaimable: false}
  - {name: drf}
  - {name: predicates}
  - {name: proportion}
"""
STOCK = """
actions: "enqueue, allocate, backfill, reclaim, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""
CAPACITY = PROPORTION_ALONE.replace("proportion", "capacity")
GPU = "nvidia.com/gpu"

jobs = st.lists(
    st.tuples(
        st.sampled_from(["high", "low", "default"]),
        st.integers(1, 4),
        st.integers(1, 2),
        st.integers(0, 3),
        st.sampled_from(["", "usual", "urgent"]),
        st.booleans(),
    ),
    min_size=2,
    max_size=7,
)


def prepared(build_seed: Callable[[], Any], configuration: str) -> Any:
    cluster = build_seed()
    cluster.configure(configuration)
    cluster.priority_class("usual", 10)
    cluster.priority_class("urgent", 1000)
    cluster.queue("high", weight=2, gpus=6, deserved={GPU: 4})
    cluster.queue("low", gpus=6, deserved={GPU: 2})
    cluster.queue("default")
    return cluster


@settings(max_examples=80, deadline=None)
@given(submitted=jobs, configuration=st.sampled_from([PROPORTION_ALONE, STOCK, CAPACITY]))
def test_no_node_is_overbooked_and_nobody_evicted_twice(
    build_seed: Any, submitted: list[tuple[str, int, int, int, str, bool]], configuration: str
) -> None:
    cluster = prepared(build_seed, configuration)
    for number, (queue, pods, gpus, spare, priority, limits_only) in enumerate(submitted):
        least = max(1, pods - spare)
        cluster.job(f"job-{number}", queue, pods, gpus, minimum=least, limits_only=limits_only, priority_class=priority)
        for _ in range(5):
            before = books(cluster)
            result = cluster.session()
            check_nodes(cluster)
            if configuration == PROPORTION_ALONE:
                check_reclaimed(cluster, result, before)
    evicted = [uid for uid, _ in cluster.evicted]
    assert len(evicted) == len(set(evicted))


def check_nodes(cluster: Any) -> None:
    """Pods that are leaving still count."""
    on_node: Counter[str] = Counter()
    for pod in cluster.pods.values():
        if pod["spec"].get("nodeName"):
            on_node[pod["spec"]["nodeName"]] += int(pod["spec"]["containers"][0]["resources"]["requests"][GPU])
    assert all(gpus <= 2 for gpus in on_node.values())


def check_reclaimed(cluster: Any, result: SessionResult, before: dict[str, QueueBook]) -> None:
    """Before each reclaimed pod its queue held more than it deserved, in some dimension."""
    held = {name: dict(book.allocated) for name, book in before.items()}
    for bind in result.binds:
        add(held[queue_of(cluster, bind.pod)], request(bind.pod))
    for eviction in result.evictions:
        queue = queue_of(cluster, eviction.pod)
        if eviction.reason == "reclaim":
            assert not fits(held[queue], before[queue].deserved)
        add(held[queue], request(eviction.pod), -1.0)


def books(cluster: Any) -> dict[str, QueueBook]:
    snapshot = build_snapshot(
        cluster.nodes.values(), cluster.pods.values(), cluster.groups.values(), cluster.queues.values()
    )
    return open_session(snapshot, cluster.rng).books


def queue_of(cluster: Any, pod: Any) -> str:
    group = pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
    return str(cluster.groups[group]["spec"]["queue"])


def request(pod: Any) -> dict[str, float]:
    asked = pod["spec"]["containers"][0]["resources"]["requests"]
    return {"cpu": 1000.0 * int(asked["cpu"]), GPU: 1000.0 * int(asked[GPU]), "pods": 1.0}
