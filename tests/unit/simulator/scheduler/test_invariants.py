"""What holds after every session, whatever is submitted."""

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

CAPABILITY = {"high-priority": 4, "low-priority": 2}

jobs = st.lists(
    st.tuples(
        st.sampled_from(["high-priority", "low-priority", "default"]),
        st.integers(1, 4),
        st.integers(0, 3),
        st.integers(0, 3),
        st.booleans(),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(submitted=jobs)
def test_no_session_breaks_a_limit_or_a_gang(
    build_seed: Any, submitted: list[tuple[str, int, int, int, bool, int]]
) -> None:
    cluster = build_seed()
    cluster.queue("default")
    for number, (queue, pods, gpus, spare, limits_only, finish_after) in enumerate(submitted):
        name = f"job-{number}"
        cluster.job(name, queue, pods, gpus, minimum=max(1, pods - spare), limits_only=limits_only)
        for turn in range(4):
            cluster.session()
            check(cluster)
            if turn == finish_after and cluster.phase(name) == "Running":
                cluster.finish(name)
                break


def check(cluster: Any) -> None:
    on_node: Counter[str] = Counter()
    in_queue: Counter[str] = Counter()
    for name, group in cluster.groups.items():
        placed = 0
        for pod in cluster.pods_of(name):
            if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Running":
                gpus = int(pod["spec"]["containers"][0]["resources"]["requests"].get("nvidia.com/gpu", 0))
                on_node[pod["spec"]["nodeName"]] += gpus
                in_queue[group["spec"]["queue"]] += gpus
                placed += 1
        best_effort = all(not pod["spec"]["containers"][0]["resources"]["requests"] for pod in cluster.pods_of(name))
        assert best_effort or placed == 0 or placed >= group["spec"]["minMember"]
    assert all(gpus <= 2 for gpus in on_node.values())
    assert all(gpus <= CAPABILITY.get(queue, 6) for queue, gpus in in_queue.items())
    for queue, gpus in in_queue.items():
        assert int(cluster.allocated(queue).get("nvidia.com/gpu", 0)) == gpus
