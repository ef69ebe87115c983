"""The facts of a run that another run must repeat, from its watch events and the answers to its requests."""

from collections.abc import Iterable
from typing import Any

from tests.contract.volcano.texts import plain, without_uid
from tests.contract.volcano.worlds import Record

Facts = dict[str, Any]

COUNTERS = ("pending", "running", "succeeded", "failed", "terminating", "unknown")
ENDED = ("Completed", "Failed", "Terminated", "Aborted")
_POD_KEYS = ("volcano.sh/", "scheduling.k8s.io/")


def reduce(records: Iterable[Record]) -> Facts:
    """Return the facts of a run."""
    records = list(records)
    queues = _queues_of(records)
    return {
        "jobs": _jobs(records),
        "order": _order(records),
        "pods": _pods(records),
        "pod_groups": _pod_groups(records),
        "events": _events(records),
        "queues": {name: facts for name, facts in _queues(records).items() if name in queues},
        "answers": _answers(records),
    }


def _objects(records: list[Record], kind: str) -> Iterable[tuple[str, Record]]:
    for record in records:
        if record.get("watch") == kind:
            yield record["type"], record["object"]


def _collapsed(values: Iterable[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not kept or kept[-1] != value:
            kept.append(value)
    return kept


def _by_name(records: list[Record], kind: str) -> dict[str, list[tuple[str, Record]]]:
    histories: dict[str, list[tuple[str, Record]]] = {}
    for change, obj in _objects(records, kind):
        histories.setdefault(without_uid(obj["metadata"]["name"]), []).append((change, obj))
    return histories


def _phase(job: Record) -> str | None:
    return ((job.get("status") or {}).get("state") or {}).get("phase")


def _jobs(records: list[Record]) -> Facts:
    return {name: _job(history) for name, history in _by_name(records, "Job").items()}


def _job(history: list[tuple[str, Record]]) -> Facts:
    statuses = [obj.get("status") or {} for _, obj in history]
    ended = next((obj["status"] for _, obj in history if _phase(obj) in ENDED), None)
    return {
        "phases": [phase for phase in _collapsed(_phase(obj) for _, obj in history) if phase],
        "conditions": sorted({c["status"] for status in statuses for c in status.get("conditions") or []}),
        "retry_count": max(status.get("retryCount", 0) for status in statuses),
        "killed": any(status.get("version", 0) for status in statuses),
        "min_available": statuses[-1].get("minAvailable"),
        "counters_when_ended": _counters(ended) if ended is not None else None,
        "counters_last": _counters(statuses[-1]),
        "tasks_last": statuses[-1].get("taskStatusCount"),
        "finalizers": _collapsed(sorted(obj["metadata"].get("finalizers") or []) for _, obj in history),
        "deleted": history[-1][0] == "DELETED",
    }


def _counters(status: Record) -> Facts:
    return {name: status[name] for name in COUNTERS if status.get(name)}


def _order(records: list[Record]) -> list[list[str]]:
    """Pairs of Jobs of one Queue, of which the second began to run only after the first had ended."""
    begun: dict[str, int] = {}
    ended: dict[str, int] = {}
    queue: dict[str, str] = {}
    for moment, (_, job) in enumerate(_objects(records, "Job")):
        name = job["metadata"]["name"]
        queue[name] = job["spec"].get("queue", "default")
        if _phase(job) == "Running":
            begun.setdefault(name, moment)
        if _phase(job) in ENDED:
            ended.setdefault(name, moment)
    return sorted(
        [first, second]
        for first, end in ended.items()
        for second, start in begun.items()
        if queue[first] == queue[second] and end < start
    )


def _pods(records: list[Record]) -> Facts:
    facts: Facts = {}
    for name, history in _by_name(records, "Pod").items():
        lives = {obj["metadata"]["uid"]: obj for _, obj in history}
        last = history[-1]
        facts[name] = {
            "lives": len(lives),
            "retry_counts": [obj["metadata"]["annotations"]["volcano.sh/job-retry-count"] for obj in lives.values()],
            "keys": _pod_keys(last[1]),
            "owner": [reference["kind"] for reference in last[1]["metadata"]["ownerReferences"]],
            "scheduler": last[1]["spec"].get("schedulerName"),
            "last": "deleted" if last[0] == "DELETED" else last[1]["status"].get("phase"),
            "refused": _refused(obj for _, obj in history),
            **({"nominated": True} if any(obj["status"].get("nominatedNodeName") for _, obj in history) else {}),
        }
    return _without_choice(facts, _evicted(records))


def _evicted(records: list[Record]) -> dict[str, list[list[str]]]:
    """What pods that a session evicted were told, by the name that they have in common with others of their task."""
    told: dict[str, list[list[str]]] = {}
    for _, pod in _objects(records, "Pod"):
        conditions = pod["status"].get("conditions") or []
        if any(condition["type"] == "DisruptionTarget" for condition in conditions):
            texts = [[c["type"], c["status"], c["reason"], c["message"]] for c in conditions if c.get("message")]
            told.setdefault(_alike(pod["metadata"]["name"]), []).extend(texts)
    return {name: _texts(texts) for name, texts in told.items()}


def _alike(name: str) -> str:
    return f"{name.rpartition('-')[0]}-*"


def _without_choice(facts: Facts, evicted: dict[str, list[list[str]]]) -> Facts:
    """Pods of which some were evicted as one: who goes depends on the nodes they are on, and these are chance."""
    left = {name: pod for name, pod in facts.items() if _alike(name) not in evicted}
    for group in sorted(evicted):
        pods = [pod for name, pod in facts.items() if _alike(name) == group]
        left[group] = {
            **pods[0],
            "lives": sorted(pod["lives"] for pod in pods),
            "retry_counts": sorted(count for pod in pods for count in pod["retry_counts"]),
            "last": sorted(pod["last"] for pod in pods),
            "refused": _texts(text for pod in pods for text in pod["refused"]),
            "evicted": evicted[group],
            **({"nominated": True} if any(pod.get("nominated") for pod in pods) else {}),
        }
    return left


def _pod_keys(pod: Record) -> Facts:
    return {
        field: sorted(key for key in pod["metadata"].get(field) or {} if key.startswith(_POD_KEYS))
        for field in ("labels", "annotations")
    }


def _refused(pods: Iterable[Record]) -> list[list[str]]:
    conditions = (c for pod in pods for c in (pod.get("status") or {}).get("conditions") or [])
    wrong = (c for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False")
    return _texts([condition.get("reason"), plain(condition.get("message"))] for condition in wrong)


def _texts(items: Iterable[list[Any]]) -> list[list[str]]:
    """Each list once, sorted."""
    return sorted({tuple(str(part) for part in item): [str(part) for part in item] for item in items}.values())


def _pod_groups(records: list[Record]) -> Facts:
    facts: Facts = {}
    for name, history in _by_name(records, "PodGroup").items():
        lives: dict[str, list[Record]] = {}
        for _, obj in history:
            lives.setdefault(obj["metadata"]["uid"], []).append(obj)
        facts[name] = [_pod_group(versions) for versions in lives.values()]
    return facts


def _pod_group(versions: list[Record]) -> Facts:
    statuses = [obj.get("status") or {} for obj in versions]
    conditions = (c for status in statuses for c in status.get("conditions") or [])
    return {
        "phases": _collapsed(status.get("phase") or "" for status in statuses),
        "conditions": _texts(
            [c["type"], c["status"], c.get("reason", ""), plain(c.get("message"))] for c in conditions
        ),
        "spec": versions[-1]["spec"],
        "owner": [reference["kind"] for reference in versions[-1]["metadata"]["ownerReferences"]],
    }


def _events(records: list[Record]) -> list[list[str]]:
    # The recorder watched its own namespace only; the Events of Queues are kept in `default`.
    kinds = ("Job", "PodGroup")
    return _texts(
        [
            o["involvedObject"]["kind"],
            _name_in_event(o["involvedObject"]),
            o["type"],
            o["reason"],
            plain(o["message"]),
        ]
        for _, o in _objects(records, "Event")
        if o["involvedObject"]["kind"] in kinds or o["reason"] == "Evict"
    )


def _name_in_event(involved: Record) -> str:
    name: str = involved["name"]
    return _alike(name) if involved["kind"] == "Pod" else without_uid(name)


def _queues_of(records: list[Record]) -> set[str]:
    """The Queues that a run makes, and those that its pods have stood in: others may show earlier recordings."""
    bound = (pod for _, pod in _objects(records, "Pod") if pod["spec"].get("nodeName"))
    return made_queues(records) | {pod["metadata"]["annotations"]["volcano.sh/queue-name"] for pod in bound}


def made_queues(records: Iterable[Record]) -> set[str]:
    """The Queues that a run makes."""
    requests = [record for record in records if record.get("status") == 201 and "request" in record]
    made = (
        r["request"] for r in requests if "/queues" in r["request"]["path"] and "dryRun" not in r["request"]["path"]
    )
    return {request["body"]["metadata"]["name"] for request in made}


def _queues(records: list[Record]) -> Facts:
    facts: Facts = {}
    for name, history in _by_name(records, "Queue").items():
        statuses = [obj.get("status") or {} for _, obj in history]
        facts[name] = {
            "states": [state for state in _collapsed(status.get("state") for status in statuses) if state],
            "parent": history[-1][1]["spec"].get("parent"),
            "allocated_last": statuses[-1].get("allocated"),
            # Pods of earlier recordings may still have stood in `default`.
            "most_gpus": None
            if name == "default"
            else max(int((s.get("allocated") or {}).get("nvidia.com/gpu", 0)) for s in statuses),
            "deleted": history[-1][0] == "DELETED",
        }
    return facts


def _answers(records: list[Record]) -> list[list[Any]]:
    """Every request's status and, of a refusal, its reason and message."""
    answers = []
    for record in records:
        if "request" in record:
            response = record.get("response") or {}
            request = record["request"]
            refused = [response.get("reason", ""), plain(response.get("message"))] if record["status"] >= 400 else []
            answers.append(
                [request["method"], request["path"].rpartition("/namespaces/")[2], record["status"], *refused]
            )
    return answers
