"""Volcano Jobs as people have them, read as jobs; whatever cannot be kept is refused at its place."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from app.errors import GpuNotWhole
from app.jobs.importing.context import Context
from app.jobs.importing.documents import Document, read_documents
from app.jobs.importing.translation import Imported, Refused, translate

CONTEXT = Context(
    namespace="team-nlp",
    priorities={"low": "batch-low", "normal": None, "high": "batch-high", "urgent": "batch-high"},
    default_priority="normal",
    ttl_seconds=86_400,
)
CONTAINER = "/spec/tasks/0/template/spec/containers/0"
POD = "/spec/tasks/0/template/spec"

JOB: dict[str, Any] = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "score"},
    "spec": {
        "queue": "q-nlp",
        "tasks": [
            {
                "name": "worker",
                "replicas": 2,
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "main",
                                "image": "registry.test/llm:1",
                                "command": ["score"],
                                "resources": {"limits": {"nvidia.com/gpu": 1}},
                            }
                        ]
                    }
                },
            }
        ],
    },
}

Change = Callable[[dict[str, Any]], object]


def container(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod(job)["containers"][0]
    return found


def pod(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["tasks"][0]["template"]["spec"]
    return found


def changed(*changes: Change) -> dict[str, Any]:
    job = copy.deepcopy(JOB)
    for change in changes:
        change(job)
    return job


def imported(document: Any) -> dict[str, Any]:
    """The body that a document gives, without defaults."""
    read = translate(Document(document, ()), CONTEXT)
    assert isinstance(read, Imported), read
    return read.spec.model_dump(mode="json", exclude_defaults=True)


def faults(document: Any) -> dict[str, str]:
    read = translate(Document(document, ()), CONTEXT)
    assert isinstance(read, Refused), read
    for fault in read.faults:
        assert fault.detail.startswith(f"{fault.pointer or 'The body'}: "), fault
        assert fault.detail.endswith(".")
        assert fault.detail.count(".") == fault.detail.rstrip(".").count(".") + 1
    return {fault.pointer: fault.detail for fault in read.faults}


def set_in(part: Callable[[dict[str, Any]], dict[str, Any]], **values: Any) -> Change:
    return lambda job: part(job).update(values)


def spec(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]
    return found


def task(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["tasks"][0]
    return found


def metadata(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["metadata"]
    return found


BODY = {
    "name": "score",
    "queue": "q-nlp",
    "tasks": [
        {
            "name": "worker",
            "replicas": 2,
            "image": "registry.test/llm:1",
            "command": ["score"],
            "resources": {"gpus": 1},
        }
    ],
}


def test_reads_a_job() -> None:
    assert imported(JOB) == BODY


KUBECTL = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"kind":"Job"}'
    note: nightly
  creationTimestamp: "2026-12-01T09:00:00Z"
  generation: 1
  managedFields:
  - {apiVersion: batch.volcano.sh/v1alpha1, manager: kubectl, operation: Update}
  name: score
  namespace: team-nlp
  resourceVersion: "412"
  uid: 8f0d4a49-24d3-4a52-9e59-0f5a2a53f3a1
spec:
  maxRetry: 3
  minAvailable: 2
  plugins:
    env: []
  policies:
  - action: RestartJob
    event: PodEvicted
  priorityClassName: batch-low
  queue: q-nlp
  schedulerName: volcano
  tasks:
  - maxRetry: 3
    minAvailable: 2
    name: worker
    replicas: 2
    template:
      metadata:
        creationTimestamp: null
        labels: {app: score}
        name: score
      spec:
        affinity: {}
        containers:
        - command: [score]
          env:
          - {name: MODEL, value: "on"}
          - {name: EMPTY}
          - name: HF_TOKEN
            valueFrom: {secretKeyRef: {key: token, name: hf}}
          image: registry.test/llm:1
          imagePullPolicy: IfNotPresent
          name: main
          resources:
            limits: {cpu: "4", memory: 16Gi, nvidia.com/gpu: "1"}
            requests: {cpu: 4000m, memory: 16Gi, nvidia.com/gpu: "1"}
          securityContext: {privileged: false}
          terminationMessagePath: /dev/termination-log
          terminationMessagePolicy: File
          volumeMounts:
          - {mountPath: /models, name: models, readOnly: true}
        dnsPolicy: ClusterFirst
        hostNetwork: false
        imagePullSecrets: []
        nodeSelector: {gpu-type: a100}
        restartPolicy: Never
        schedulerName: volcano
        securityContext: {}
        terminationGracePeriodSeconds: 30
        tolerations:
        - {effect: NoSchedule, key: gpu, operator: Exists}
        volumes:
        - name: models
          persistentVolumeClaim: {claimName: models}
status:
  state: {phase: Running}
"""


def test_reads_what_kubectl_prints() -> None:
    (document,) = read_documents(KUBECTL.encode(), "application/yaml").found
    assert imported(document.value) == {
        "name": "score",
        "queue": "q-nlp",
        "priority": "low",
        "labels": {"app": "score"},
        "annotations": {"note": "nightly"},
        "min_available": 2,
        "tasks": [
            {
                "name": "worker",
                "replicas": 2,
                "min_available": 2,
                "image": "registry.test/llm:1",
                "command": ["score"],
                "env": {"MODEL": "on", "EMPTY": ""},
                "secret_env": {"HF_TOKEN": {"secret": "hf", "key": "token"}},
                "resources": {"cpu": "4000m", "memory": "16Gi", "gpus": 1},
                "node_selector": {"gpu-type": "a100"},
                "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
                "volumes": [{"claim": "models", "path": "/models", "read_only": True}],
            }
        ],
    }


def resources(**given: Any) -> Change:
    return lambda job: container(job).update(resources=given)


GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("change", "read"),
    [
        (resources(limits={GPU: 2}), {"gpus": 2}),  # Q-06 a
        (resources(requests={GPU: "2"}), {"gpus": 2}),  # b: the limit is filled in
        (resources(requests={GPU: "2"}, limits={GPU: "2000m"}), {"gpus": 2}),  # d
        (resources(limits={"cpu": 4}), {"cpu": "4"}),  # e
        (resources(limits={"cpu": "4", "memory": "1Gi"}, requests={"cpu": "4000m"}), {"cpu": "4000m", "memory": "1Gi"}),
        (resources(requests={"memory": "1Gi", "cpu": 0.5}), {"memory": "1Gi", "cpu": "0.5"}),
        (resources(limits={"nvidia.com/mig-1g.5gb": 1, GPU: 0}), {"gpus": 1, "gpu_resource": "nvidia.com/mig-1g.5gb"}),
        (resources(limits={GPU: 0}), {}),
        (resources(), {}),
    ],
)
def test_reads_requests_and_limits(change: Change, read: dict[str, Any]) -> None:
    assert imported(changed(change))["tasks"][0]["resources"] == read


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (resources(requests={GPU: 1}, limits={GPU: 2}), "requests/nvidia.com~1gpu"),  # Q-06 c
        (resources(requests={"cpu": 8}, limits={"cpu": 4}), "requests/cpu"),  # f
        (resources(requests={"cpu": 2}, limits={"cpu": 4}), "requests/cpu"),
        (resources(requests={"memory": "1Gi"}, limits={"memory": "2Gi"}), "requests/memory"),
        (resources(limits={GPU: 1, "amd.com/gpu": 1}), "limits/amd.com~1gpu"),
        (resources(limits={"gpu": 1}), "limits/gpu"),
        (resources(limits={"requests.nvidia.com/gpu": 1}), "limits/requests.nvidia.com~1gpu"),
        (resources(limits={"ephemeral-storage": "1Gi"}), "limits/ephemeral-storage"),
        (resources(requests={"cpus": 4}), "requests/cpus"),
        (resources(limits={"memory": "16g"}), "limits/memory"),
        (resources(limits={"memory": "16g"}, requests={"memory": "16Gi"}), "limits/memory"),
        (resources(limits={"memory": "16Gi"}, requests={"memory": "16g"}), "requests/memory"),
        (resources(limits={GPU: "1_0"}), "limits/nvidia.com~1gpu"),
        (resources(limits={GPU: -1}), "limits/nvidia.com~1gpu"),
        (resources(limits={GPU: "2E6024865272343"}), "limits/nvidia.com~1gpu"),
        (resources(limits={GPU: 1}, claims=[{"name": "x"}]), "claims"),
        (resources(limits=[GPU]), "limits"),
    ],
)
def test_refuses_resources_that_cannot_be_kept(change: Change, place: str) -> None:
    assert list(faults(changed(change))) == [f"{CONTAINER}/resources/{place}"]


def test_a_fraction_of_a_gpu_is_the_problem_that_a_submission_has() -> None:
    read = translate(Document(changed(resources(limits={GPU: "500m"})), (1,)), CONTEXT)
    assert isinstance(read, Refused)
    error = read.error()
    assert isinstance(error, GpuNotWhole)
    assert [fault["pointer"] for fault in error.extras["errors"]] == [f"/1{CONTAINER}/resources/limits/nvidia.com~1gpu"]


def policies(*given: dict[str, Any], runs: int | None = None) -> Change:
    return lambda job: spec(job).update({"policies": list(given)} | ({} if runs is None else {"maxRetry": runs}))


def on(event: str, action: str) -> dict[str, Any]:
    return {"event": event, "action": action}


def code(number: Any, action: str) -> dict[str, Any]:
    return {"exitCode": number, "action": action}


@pytest.mark.parametrize(
    ("change", "retries"),
    [
        (policies(), None),
        (policies(runs=5), None),  # without a policy nothing restarts, in Volcano either
        (policies(on("PodFailed", "RestartJob")), {"max": 2}),
        (policies(on("PodFailed", "RestartJob"), runs=0), {"max": 2}),  # the webhook's own default
        (policies(on("PodFailed", "RestartJob"), runs=1), None),
        (policies(on("PodFailed", "RestartJob"), runs=4), {"max": 3}),
        (policies({"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"}, runs=2), {"max": 1}),
        (policies(on("PodEvicted", "RestartTask")), None),
        (policies(on("TaskCompleted", "CompleteJob")), None),
        (
            policies(code(137, "RestartTask"), code(143, "RestartTask"), code(3, "RestartJob"), runs=2),
            {
                "max": 1,
                "on": [
                    {"exit_codes": [137, 143], "action": "restart_task"},
                    {"exit_codes": [3], "action": "restart_job"},
                ],
            },
        ),
        (policies(on("PodFailed", "RestartTask")), {"max": 2}),
        (policies(on("PodFailed", "RestartPod")), {"max": 2}),
        (set_in(task, policies=[on("PodFailed", "RestartJob")]), {"max": 2}),
    ],
)
def test_reads_policies_as_retries(change: Change, retries: Any) -> None:
    assert imported(changed(change)).get("retries") == retries


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (policies(on("PodFailed", "Restart")), "policies/0/action"),  # V-10
        (policies(code(0, "RestartJob")), "policies/0/exitCode"),
        (policies({"event": "PodFailed", "exitCode": 3, "action": "RestartJob"}), "policies/0"),
        (policies(on("*", "RestartJob"), on("PodEvicted", "RestartJob")), "policies/0"),
        (policies(on("PodFailed", "RestartJob"), on("PodFailed", "RestartJob")), "policies/1"),
        (policies(code(3, "RestartJob"), code(3, "RestartJob")), "policies/1/exitCode"),
        (policies(code(3, "AbortJob")), "policies/0/action"),
        (policies(code("3", "RestartJob")), "policies/0/exitCode"),
        (policies(on("PodFailed", "AbortJob")), "policies/0/action"),
        (policies(on("PodEvicted", "AbortJob")), "policies/0"),
        (policies(on("Unknown", "RestartJob")), "policies/0"),
        (policies({"action": "RestartJob"}), "policies/0"),
        (policies({"event": "PodFailed"}), "policies/0/action"),
        (policies(on("PodFailed", "RestartJob") | {"timeout": "1m"}), "policies/0/timeout"),
        (set_in(spec, policies={}), "policies"),
        (policies(on("PodFailed", "RestartJob"), runs=-1), "maxRetry"),
        (policies(on("PodFailed", "RestartJob"), runs=102), "maxRetry"),
    ],
)
def test_refuses_policies_that_cannot_be_kept(change: Change, place: str) -> None:
    assert list(faults(changed(change))) == [f"/spec/{place}"]


def test_pods_that_do_not_need_each_other_restart_together_only_when_that_is_asked() -> None:
    independent = set_in(spec, minAvailable=1)
    together = imported(changed(independent, policies(on("PodFailed", "RestartJob"))))["retries"]
    assert together == {"max": 2, "on": [{"causes": ["Error", "OOMKilled"], "action": "restart_job"}]}
    assert imported(changed(independent, policies(on("PodFailed", "RestartTask"))))["retries"] == {"max": 2}


def test_policies_by_event_and_by_exit_code_do_not_go_together() -> None:
    both = changed(policies(on("PodFailed", "RestartJob"), code(3, "RestartJob")))
    assert list(faults(both)) == ["/spec/policies/0/action", "/spec/policies/1/action"]


def second_task(job: dict[str, Any], **values: Any) -> dict[str, Any]:
    added: dict[str, Any] = copy.deepcopy(task(job)) | {"name": "merge"} | values
    spec(job)["tasks"].append(added)
    return added


@pytest.mark.parametrize(
    ("change", "place"),
    [
        # unsafe
        (set_in(pod, hostNetwork=True), f"{POD}/hostNetwork"),
        (set_in(pod, hostPID=True), f"{POD}/hostPID"),
        (set_in(pod, hostIPC=True), f"{POD}/hostIPC"),
        (set_in(pod, nodeName="node-1"), f"{POD}/nodeName"),
        (set_in(pod, serviceAccountName="admin"), f"{POD}/serviceAccountName"),
        (set_in(pod, automountServiceAccountToken=True), f"{POD}/automountServiceAccountToken"),
        (set_in(pod, securityContext={"runAsUser": 0}), f"{POD}/securityContext"),
        (set_in(container, securityContext={"privileged": True}), f"{CONTAINER}/securityContext/privileged"),
        (
            set_in(container, securityContext={"allowPrivilegeEscalation": False}),
            f"{CONTAINER}/securityContext/allowPrivilegeEscalation",
        ),
        (
            set_in(container, securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}),
            f"{CONTAINER}/securityContext/capabilities",
        ),
        (set_in(metadata, namespace="kube-system"), "/metadata/namespace"),
        (set_in(metadata, labels={"volcano.sh/job-name": "x"}), "/metadata/labels/volcano.sh~1job-name"),
        (set_in(metadata, labels={"pumice.dev/job-id": "x"}), "/metadata/labels/pumice.dev~1job-id"),
        (set_in(metadata, labels={"pumice.dev/team": "vision"}), "/metadata/labels/pumice.dev~1team"),
        (
            set_in(metadata, annotations={"scheduling.k8s.io/group-name": "x"}),
            "/metadata/annotations/scheduling.k8s.io~1group-name",
        ),
        (set_in(metadata, finalizers=["other.test/x"]), "/metadata/finalizers/0"),
        (set_in(metadata, ownerReferences=[{"kind": "CronJob"}]), "/metadata/ownerReferences"),
        # not supported
        (set_in(metadata, name=None, generateName="x-"), "/metadata/name"),
        (set_in(pod, initContainers=[{"name": "x"}]), f"{POD}/initContainers"),
        (set_in(pod, restartPolicy="OnFailure"), f"{POD}/restartPolicy"),
        (set_in(pod, restartPolicy="Always"), f"{POD}/restartPolicy"),
        (set_in(pod, schedulerName="default-scheduler"), f"{POD}/schedulerName"),
        (set_in(pod, terminationGracePeriodSeconds=0), f"{POD}/terminationGracePeriodSeconds"),
        (set_in(pod, affinity={"nodeAffinity": {"x": 1}}), f"{POD}/affinity"),
        (set_in(pod, activeDeadlineSeconds=60), f"{POD}/activeDeadlineSeconds"),
        (set_in(pod, priorityClassName="batch-low"), f"{POD}/priorityClassName"),
        (set_in(pod, enableServiceLinks=False), f"{POD}/enableServiceLinks"),
        (set_in(pod, misspelt=None), f"{POD}/misspelt"),
        (set_in(container, imagePullPolicy="Always"), f"{CONTAINER}/imagePullPolicy"),
        (set_in(container, workingDir="/x"), f"{CONTAINER}/workingDir"),
        (set_in(container, ports=[{"containerPort": 80}]), f"{CONTAINER}/ports"),
        (set_in(container, envFrom=[{"secretRef": {"name": "x"}}]), f"{CONTAINER}/envFrom"),
        (set_in(container, command="score"), f"{CONTAINER}/command"),
        (set_in(container, command=[1]), f"{CONTAINER}/command/0"),
        (lambda job: container(job).pop("image"), f"{CONTAINER}/image"),
        (lambda job: task(job).pop("replicas"), "/spec/tasks/0/replicas"),
        (set_in(task, replicas=0), "/spec/tasks/0/replicas"),
        (set_in(task, replicas="2"), "/spec/tasks/0/replicas"),
        (set_in(task, minAvailable=3), "/spec/tasks/0/minAvailable"),
        (set_in(task, topologyPolicy="best-effort"), "/spec/tasks/0/topologyPolicy"),
        (set_in(task, partitionPolicy={"totalPartitions": 1}), "/spec/tasks/0/partitionPolicy"),
        (set_in(task, maxRetry=5), "/spec/tasks/0/maxRetry"),
        (set_in(task, dependsOn={"name": ["nobody"]}), "/spec/tasks/0/dependsOn/name/0"),
        (set_in(spec, plugins={"svc": []}), "/spec/plugins/svc"),
        (set_in(spec, plugins={"env": ["--x"]}), "/spec/plugins/env"),
        (set_in(spec, schedulerName="other"), "/spec/schedulerName"),
        (set_in(spec, ttlSecondsAfterFinished=60), "/spec/ttlSecondsAfterFinished"),
        (set_in(spec, priorityClassName="system-node-critical"), "/spec/priorityClassName"),
        (set_in(spec, networkTopology={"mode": "hard"}), "/spec/networkTopology"),
        (set_in(spec, tasks=[]), "/spec/tasks"),
        (set_in(spec, minAvailable=3), "/spec/minAvailable"),
        (
            set_in(spec, volumes=[{"mountPath": "/x", "volumeClaim": {"x": 1}, "volumeClaimName": "c"}]),
            "/spec/volumes/0/volumeClaim",
        ),
        (lambda job: job.update(spec=None), "/spec/tasks"),
        (lambda job: job.update(other=1), "/other"),
        (set_in(metadata, name="My_Job"), "/metadata/name"),
    ],
)
def test_refuses_what_cannot_be_kept(change: Change, place: str) -> None:
    assert list(faults(changed(change))) == [place]


def test_a_generated_name_is_no_name() -> None:
    job = changed(lambda job: job.update(metadata={"generateName": "score-"}))
    assert list(faults(job)) == ["/metadata/generateName"]
    assert imported(changed(set_in(metadata, generateName="sco"))) == BODY  # how the name was made does not matter


@pytest.mark.parametrize("count", [0, 2])
def test_a_pod_has_one_container(count: int) -> None:
    job = changed(lambda job: pod(job).update(containers=[container(job)] * count))
    assert f"{POD}/containers" in faults(job)


@pytest.mark.parametrize(
    "source", ["hostPath", "emptyDir", "configMap", "secret", "nfs", "csi", "ephemeral", "downwardAPI", "misspelt"]
)
def test_refuses_every_volume_but_claims_also_an_empty_one(source: str) -> None:
    volumes = [{"name": "x", source: {}}]
    mounts = [{"name": "x", "mountPath": "/x"}]
    job = changed(set_in(pod, volumes=volumes), set_in(container, volumeMounts=mounts))
    assert f"{POD}/volumes/0/{source}" in faults(job)


CLAIM = {"name": "x", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}}


@pytest.mark.parametrize(
    ("mounts", "place"),
    [
        ([{"name": "y", "mountPath": "/x"}, {"name": "x", "mountPath": "/y"}], f"{CONTAINER}/volumeMounts/0/name"),
        ([{"name": "x", "mountPath": "/x", "subPath": "a"}], f"{CONTAINER}/volumeMounts/0/subPath"),
        ([{"name": "x", "mountPath": "x"}], f"{CONTAINER}/volumeMounts/0/mountPath"),
        ([{"name": "x"}], f"{CONTAINER}/volumeMounts/0/mountPath"),
        (
            [{"name": "x", "mountPath": "/x"}, {"name": "x", "mountPath": "/x/"}],
            f"{CONTAINER}/volumeMounts/1/mountPath",
        ),
        ([], f"{POD}/volumes/0"),
    ],
)
def test_refuses_mounts_that_cannot_be_kept(mounts: list[Any], place: str) -> None:
    assert list(faults(changed(set_in(pod, volumes=[CLAIM]), set_in(container, volumeMounts=mounts)))) == [place]


def test_a_claim_for_reading_is_mounted_for_reading() -> None:
    job = changed(set_in(pod, volumes=[CLAIM]), set_in(container, volumeMounts=[{"name": "x", "mountPath": "/x"}]))
    assert imported(job)["tasks"][0]["volumes"] == [{"claim": "models", "path": "/x", "read_only": True}]


def test_a_volume_of_the_job_is_mounted_by_every_task() -> None:
    job = changed(set_in(spec, volumes=[{"mountPath": "/x", "volumeClaimName": "models"}]), second_task)
    assert [task["volumes"] for task in imported(job)["tasks"]] == [[{"claim": "models", "path": "/x"}]] * 2


def env(*entries: dict[str, Any]) -> Change:
    return lambda job: container(job).update(env=list(entries))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (env({"name": "A", "value": "1"}, {"name": "A", "value": "2"}), "1/name"),  # V-03
        (env({"name": "A", "value": True}), "0/value"),
        (env({"name": "A", "value": 1}), "0/value"),
        (env({"name": "1A", "value": ""}), "0"),
        (env({"name": "VC_TASK_INDEX", "value": "1"}), "0"),
        (env({"value": "1"}), "0/name"),
        (env({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}), "0/valueFrom/fieldRef"),
        (
            env({"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}),
            "0/valueFrom/secretKeyRef/optional",
        ),
        (env({"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}), "0/valueFrom/secretKeyRef/key"),
        # a value that refers to another one, which stands elsewhere in our order
        (env({"name": "B", "value": "x"}, {"name": "A", "value": "$(B)"}), "1/value"),
        (env({"name": "B", "value": "$(A)"}, {"name": "A", "value": "x"}), "0/value"),
    ],
)
def test_refuses_variables_that_cannot_be_kept(change: Change, place: str) -> None:
    assert place in {there.removeprefix(f"{CONTAINER}/env/") for there in faults(changed(change))}


def test_keeps_references_that_mean_the_same() -> None:
    secret = {"name": "Z", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    values = [
        {"name": "A", "value": "x"},
        secret,
        {"name": "B", "value": "$(A)/$(Z)/$(NOBODY)/$$(C)"},
        {"name": "C", "value": "$(D)"},
        {"name": "D", "value": ""},
    ]
    assert imported(changed(env(*values)))["tasks"][0]["env"]["B"] == "$(A)/$(Z)/$(NOBODY)/$$(C)"


def test_labels_of_pods_are_those_of_the_job() -> None:
    label = lambda job, **labels: job["template"].update(metadata={"labels": labels})  # noqa: E731
    one = changed(set_in(metadata, labels={"a": "1"}), lambda job: label(task(job), b="2"))
    assert imported(one)["labels"] == {"a": "1", "b": "2"}
    other_value = changed(set_in(metadata, labels={"a": "1"}), lambda job: label(task(job), a="2"))
    assert list(faults(other_value)) == ["/spec/tasks/0/template/metadata/labels/a"]
    unlike = changed(lambda job: label(task(job), role="a"), lambda job: label(second_task(job), other="b"))
    assert list(faults(unlike)) == ["/spec/tasks/1/template/metadata/labels"]
    wrong = changed(lambda job: label(task(job), **{"volcano.sh/x": "1", "ok": 5}))
    assert set(faults(wrong)) == {
        "/spec/tasks/0/template/metadata/labels/ok"
    }  # a wrong form is told before its meaning


def test_two_tasks_have_no_policies_of_their_own() -> None:
    job = changed(second_task, set_in(task, policies=[on("TaskCompleted", "CompleteJob")]))
    assert set(faults(job)) == {"/spec/tasks/0/policies", "/spec/tasks/0/policies/0"}


def test_waiting_for_any_of_several_tasks_cannot_be_kept() -> None:
    def waits(job: dict[str, Any], **more: Any) -> None:
        second_task(job)
        second_task(job, name="last", dependsOn={"name": ["worker", "merge"]} | more)

    assert imported(changed(waits))["tasks"][2]["depends_on"] == ["worker", "merge"]
    assert imported(changed(lambda job: waits(job, iteration="all")))["tasks"][2]["depends_on"] == ["worker", "merge"]
    assert list(faults(changed(lambda job: waits(job, iteration="any")))) == ["/spec/tasks/2/dependsOn/iteration"]


def test_a_class_of_several_priorities_gives_the_first() -> None:
    assert imported(changed(set_in(spec, priorityClassName="batch-high")))["priority"] == "high"


def test_hidden_values_are_not_taken_for_real_ones() -> None:
    own = {"pumice.dev/job-id": "01936f6e-4c00-7000-8000-000000000001", "pumice.dev/team": "nlp"}
    hidden = changed(env({"name": "A", "value": "***"}))
    assert imported(hidden)["tasks"][0]["env"] == {"A": "***"}
    assert list(faults(hidden | {"metadata": {"name": "x", "labels": own}})) == [f"{CONTAINER}/env/0/value"]


def test_every_fault_is_told_at_once_and_only_once() -> None:
    job = changed(
        set_in(pod, hostNetwork=True),
        set_in(container, image="two words", volumeMounts={}),
        set_in(task, replicas=0),
        set_in(metadata, name="X"),
    )
    assert sorted(faults(job)) == [
        "/metadata/name",
        "/spec/tasks/0/replicas",
        f"{CONTAINER}/image",
        f"{CONTAINER}/volumeMounts",
        f"{POD}/hostNetwork",
    ]


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({**JOB, "apiVersion": "batch/v1"}, "/apiVersion"),
        ({**JOB, "kind": "CronJob"}, "/kind"),
        ({**JOB, "kind": ["Job"]}, "/kind"),
        ({}, "/apiVersion"),
        ([], ""),
        (5, ""),
        ("text", ""),
    ],
)
def test_takes_volcano_jobs_only(document: Any, place: str) -> None:
    assert list(faults(document)) == [place]


@pytest.mark.parametrize(
    ("body", "places", "several"),
    [
        (JOB, [()], False),
        ([JOB], [(0,)], True),
        ([JOB, JOB], [(0,), (1,)], True),
        ({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": [JOB]}, [("items", 0)], True),
        ([JOB, {"kind": "JobList", "items": [JOB, JOB]}], [(0,), (1, "items", 0), (1, "items", 1)], True),
    ],
)
def test_finds_the_documents_of_a_body(body: Any, places: list[Any], several: bool) -> None:
    read = read_documents(json.dumps(body).encode(), "application/json; charset=utf-8")
    assert ([document.place for document in read.found], read.several) == (places, several)


_VALUES = [None, 0, -1, 1.5, True, "", "x", [], {}, [None], [[]], {"": None}, [{}], {"name": 5}, [5], "$(A)"]


@pytest.mark.parametrize("value", _VALUES, ids=repr)
def test_no_value_at_any_place_is_more_than_a_fault(value: Any) -> None:
    (document,) = read_documents(KUBECTL.encode(), "text/yaml").found

    def places(part: Any, path: tuple[Any, ...]) -> Any:
        yield path
        for key, inner in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
            yield from places(inner, (*path, key))

    for path in list(places(document.value, ())):
        changed = {"": copy.deepcopy(document.value)}
        part: Any = changed
        for step in ("", *path)[:-1]:
            part = part[step]
        part[("", *path)[-1]] = value
        read = translate(Document(changed[""], ()), CONTEXT)
        assert isinstance(read, Imported) or read.faults
