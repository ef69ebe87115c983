"""Admission where trace 21 does not show it."""

from typing import Any

import pytest

from app.simulator.kinds import JOB, POD, POD_GROUP, QUEUE
from app.simulator.objects import ApiError
from app.simulator.volcano.admission import VolcanoAdmission

GPU = "nvidia.com/gpu"


def _queue(name: str, state: str = "Open", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"weight": 1, **spec}, "status": {"state": state}}


def _admission(*queues: dict[str, Any]) -> VolcanoAdmission:
    known = {queue["metadata"]["name"]: queue for queue in (_queue("root"), _queue("default"), *queues)}
    return VolcanoAdmission(lambda _kind, _namespace, name: known.get(name), lambda _kind: list(known.values()))


def _job(name: str = "a", *, task: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}}
    tasks = [{"name": "w", "replicas": 2, "template": template, **(task or {})}]
    return {"metadata": {"name": name, "namespace": "n"}, "spec": {"tasks": tasks, **spec}}


def _create(admission: VolcanoAdmission, job: dict[str, Any]) -> dict[str, Any]:
    changed = admission.mutate("CREATE", JOB, None, job)
    admission.validate("CREATE", JOB, None, changed)
    return changed


def _denial(admission: VolcanoAdmission, *arguments: Any) -> str:
    with pytest.raises(ApiError) as raised:
        admission.validate(*arguments)
    assert (raised.value.code, raised.value.reason) == (400, "")
    return raised.value.message.partition(" denied the request: ")[2]


def test_defaults_of_a_job() -> None:
    job = _job(task={"name": "", "replicas": 3}, maxRetry=0, plugins={"mpi": []})
    job["spec"]["tasks"].append({"replicas": 2, "template": {"spec": {"hostNetwork": True}}})
    spec = _admission().mutate("CREATE", JOB, None, job)["spec"]
    assert [task["name"] for task in spec["tasks"]] == ["default0", "default1"]
    assert [task["minAvailable"] for task in spec["tasks"]] == [3, 2]
    assert (spec["minAvailable"], spec["maxRetry"], spec["queue"], spec["schedulerName"]) == (
        5,
        3,
        "default",
        "volcano",
    )
    assert spec["plugins"] == {"mpi": [], "svc": [], "ssh": []}
    assert spec["tasks"][1]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


@pytest.mark.parametrize("spec", [None, {}, {"tasks": None}, {"tasks": ["x"]}, {"tasks": {}}])
def test_malformed_job_is_left_to_the_schema(spec: Any) -> None:
    job = {"metadata": {"name": "a"}, "spec": spec}
    assert _admission().mutate("CREATE", JOB, None, job) == job


def test_accepted_job_is_left_alone_on_update() -> None:
    admission = _admission()
    job = _create(admission, _job())
    changed = {**job, "spec": {**job["spec"], "priorityClassName": "high", "minAvailable": 1}}
    changed["spec"]["tasks"] = [{**job["spec"]["tasks"][0], "replicas": 4}]
    assert admission.mutate("UPDATE", JOB, job, changed) is changed
    admission.validate("UPDATE", JOB, job, changed)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"queue": "other"}, "job updates may not change fields other than"),
        ({"maxRetry": 5}, "job updates may not change fields other than"),
        ({"tasks": []}, "job updates may not add or remove tasks"),
        ({"minAvailable": 9}, "job 'minAvailable' must not be greater than total replicas"),
    ],
)
def test_refused_updates(change: dict[str, Any], words: str) -> None:
    admission = _admission()
    job = _create(admission, _job())
    changed = {**job, "spec": {**job["spec"], **change}}
    if change == {"tasks": []}:
        changed["spec"]["minAvailable"] = 0
    assert words in _denial(admission, "UPDATE", JOB, job, changed)


def test_equal_quantities_are_no_change() -> None:
    admission = _admission()

    def job(cpu: Any) -> dict[str, Any]:
        resources = {"limits": {"cpu": cpu}}
        template = {"spec": {"containers": [{"name": "main", "image": "x", "resources": resources}]}}
        return _create(admission, _job(task={"template": template}))

    admission.validate("UPDATE", JOB, job("1"), job("1000m"))
    assert _denial(admission, "UPDATE", JOB, job("1"), job("2"))


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ([{"action": "AbortJob"}], "either event and exitCode should be specified"),
        ([{"event": "PodFailed", "exitCode": 1, "action": "AbortJob"}], "must not specify event and exitCode"),
        (
            [{"event": "PodRunning", "action": "AbortJob"}],
            'spec.policies: Invalid value: "PodRunning": invalid policy event',
        ),
        (
            [{"event": "PodFailed", "action": "SyncJob"}],
            'spec.policies: Invalid value: "SyncJob": invalid policy action',
        ),
        ([{"exitCode": 3, "action": "x"}, {"exitCode": 3, "action": "x"}], "duplicate exitCode 3"),
        (
            [{"event": "*", "action": "AbortJob"}, {"event": "PodFailed", "action": "AbortJob"}],
            "if there's * here, no other policy should be here",
        ),
    ],
)
def test_refused_policies(policies: list[Any], words: str) -> None:
    admission = _admission()
    job = admission.mutate("CREATE", JOB, None, _job(policies=policies))
    assert words in _denial(admission, "CREATE", JOB, None, job)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"volumes": [{}]}, "mountPath is required;"),
        ({"volumes": [{"mountPath": "/x"}]}, "either VolumeClaim or VolumeClaimName must be specified;"),
        ({"networkTopology": {"highestTierAllowed": 1, "highestTierName": "x"}}, "simultaneously"),
        ({"queue": "closed"}, "can only submit job to queue with state `Open`, queue `closed` status is `Closed`;"),
        ({"queue": "new"}, "queue `new` status is ``;"),
        ({"queue": "parent"}, "can only submit job to leaf queue, queue `parent` has 1 child queues;"),
        (
            {"task": {"replicas": 3, "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2}}},
            "'Replicas' are not equal",
        ),
        ({"task": {"topologyPolicy": "restricted"}}, "spec.task[0] isn't Guaranteed pod"),
        ({"task": {"dependsOn": {"name": ["absent"]}}}, "doesn't form a directed acyclic graph(DAG);"),
    ],
)
def test_refused_jobs(spec: dict[str, Any], words: str) -> None:
    queues = (_queue("closed", "Closed"), _queue("new", ""), _queue("parent"), _queue("child", parent="parent"))
    admission = _admission(*queues)
    job = admission.mutate("CREATE", JOB, None, _job(**spec))
    assert words in _denial(admission, "CREATE", JOB, None, job)


def test_errors_are_told_together() -> None:
    admission = _admission()
    job = admission.mutate("CREATE", JOB, None, _job(queue="nope", plugins={"magic": []}))
    text = _denial(admission, "CREATE", JOB, None, job)
    assert text == (
        'unable to find job plugin: magic; unable to find job queue: queue.scheduling.volcano.sh "nope" not found;'
    )


def test_what_is_not_refused() -> None:
    admission = _admission()
    _create(admission, _job(task={"replicas": 0}))
    _create(admission, _job(priorityClassName="absent"))
    huge = {"spec": {"containers": [{"name": "m", "image": "x", "resources": {"limits": {GPU: "1000"}}}]}}
    _create(admission, _job(task={"template": huge}))


def test_pod_groups_need_an_open_queue() -> None:
    admission = _admission(_queue("closing", "Closing"))

    def denial(queue: str) -> str:
        return _denial(admission, "CREATE", POD_GROUP, None, {"metadata": {"name": "g"}, "spec": {"queue": queue}})

    assert (
        denial("closing") == "can only submit PodGroup to queue with state `Open`, queue `closing` status is `Closing`."
    )
    assert denial("nope") == 'unable to find queue: queue.scheduling.volcano.sh "nope" not found'
    admission.validate("UPDATE", POD_GROUP, {}, {"metadata": {"name": "g"}, "spec": {"queue": "closing"}})


def test_other_kinds_pass() -> None:
    pod = {"metadata": {"name": "p"}}
    admission = _admission()
    assert admission.mutate("CREATE", POD, None, pod) is pod
    admission.validate("CREATE", POD, None, pod)


def _new_queue(name: str = "q", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"weight": 1, **spec}}


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (
            _new_queue(capability={GPU: "0.5"}),
            f'requestBody.spec.capability.{GPU}: Invalid value: "500m": must be an integer',
        ),
        (_new_queue(capability={"cpu": "-1"}), "must be greater than or equal to 0"),
        (_new_queue("q", parent="q"), "queue q cannot use itself as parent"),
        (
            _new_queue(parent="busy"),
            "queue busy cannot be the parent queue of queue q because it has allocated Pods: 3",
        ),
        (_new_queue(parent="e"), "queue q exceeds the maximum allowed depth of 5"),
        (
            _new_queue(parent="a", capability={GPU: 9}),
            f"queue q capability[{GPU}]=9000.00 exceeds its ancestor's capability=4000.00",
        ),
        (_new_queue(parent="a", deserved={GPU: 3}), "sum of children's deserved"),
    ],
)
def test_refused_queues(queue: dict[str, Any], words: str) -> None:
    busy = _queue("busy")
    busy["status"]["allocated"] = {"pods": "3"}
    chain = [_queue("a", capability={GPU: 4}, deserved={GPU: 2}), _queue("b", parent="a", deserved={GPU: 1})]
    chain += [_queue(name, parent=parent) for name, parent in (("c", "b"), ("d", "c"), ("e", "d"))]
    admission = _admission(busy, *chain)
    assert words in _denial(admission, "CREATE", QUEUE, None, queue)


def test_root_and_parents_are_protected() -> None:
    parent, child = _queue("parent", capability={GPU: 4}), _queue("child", parent="parent", capability={GPU: 3})
    admission = _admission(parent, child)
    root = _queue("root")
    assert "cannot be modified" in _denial(admission, "UPDATE", QUEUE, root, _queue("root", capability={GPU: 1}))
    text = _denial(admission, "UPDATE", QUEUE, parent, _queue("parent", capability={GPU: 2}))
    assert "is smaller than its descendants' max capability=3000.00" in text
    assert _denial(admission, "DELETE", QUEUE, root, None) == "`root` queue can not be deleted"
    text = _denial(admission, "DELETE", QUEUE, parent, None)
    assert text == "queue parent can not be deleted because it has 1 child queues: child"
    admission.validate("DELETE", QUEUE, child, None)


def test_queue_defaults() -> None:
    annotations = {"volcano.sh/hierarchy": "sci", "volcano.sh/hierarchy-weights": "2"}
    queue = {"metadata": {"name": "q", "annotations": annotations}, "spec": {"weight": 0}}
    changed = _admission().mutate("CREATE", QUEUE, None, queue)
    assert changed["spec"] == {"weight": 1, "reclaimable": True}
    assert changed["metadata"]["annotations"]["volcano.sh/hierarchy"] == "root/sci"
