"""The fields of a Volcano Job and of its pods, and what to do in place of those that we do not have.

Sources: Volcano v1.15.1, `batch.volcano.sh/v1alpha1` (volcano-facts 1.2, 3.1); Kubernetes v1.36, `PodSpec` and
`Container`.
"""

from typing import Final

from app.jobs.importing.draft import Known, Same

_LEAVE_OUT = "This is not supported; leave it out"
_SCHEDULER = Same(("volcano", ""), "Jobs go to Volcano's own scheduler; leave it out")
_HOST = "Pods may not use what belongs to the node; leave it out"
_PROBES = "Batch pods are not probed: a pod lives until its process ends; leave it out"


def _unsupported(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, _LEAVE_OUT)


ROOT: Final = Known(read=frozenset({"apiVersion", "kind", "metadata", "spec"}), ignored=frozenset({"status"}))

METADATA: Final = Known(
    read=frozenset({"name", "generateName", "namespace", "labels", "annotations", "finalizers"}),
    ignored=frozenset({"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}),
    refused={
        "ownerReferences": "Jobs of a team belong to no other object; leave it out",
        "deletionTimestamp": "This Job is being deleted; leave it out to run it again",
        "deletionGracePeriodSeconds": "This Job is being deleted; leave it out to run it again",
    },
)

JOB: Final = Known(
    read=frozenset(
        {
            *("queue", "minAvailable", "minSuccess", "maxRetry", "ttlSecondsAfterFinished", "priorityClassName"),
            *("plugins", "policies", "tasks", "volumes"),
        }
    ),
    same={"schedulerName": _SCHEDULER},
    refused={
        "runningEstimate": _LEAVE_OUT,
        "networkTopology": "Placement by network topology is not supported; leave it out",
    },
)

TASK: Final = Known(
    read=frozenset({"name", "replicas", "minAvailable", "dependsOn", "policies", "template"}),
    same={
        "maxRetry": Same(
            (0, 3), "It counts only with policies for TaskFailed; leave it out, and set maxRetry of the Job"
        ),
        "topologyPolicy": Same(("", "none"), "Placement by NUMA topology is not supported; leave it out"),
    },
    refused={"partitionPolicy": "Partitions of a task are not supported; make a task of each"},
)

DEPENDS_ON: Final = Known(read=frozenset({"name", "iteration"}))

POLICY: Final = Known(
    read=frozenset({"event", "events", "exitCode", "action"}),
    refused={"timeout": "A policy that waits is not supported; leave the timeout out"},
)

JOB_VOLUME: Final = Known(
    read=frozenset({"mountPath", "volumeClaimName"}),
    refused={"volumeClaim": "Claims are not made for a job; make the claim first and name it in volumeClaimName"},
)

TEMPLATE: Final = Known(read=frozenset({"metadata", "spec"}))

# Volcano names pods itself, and puts them where the Job is
TEMPLATE_METADATA: Final = Known(
    read=frozenset({"labels", "annotations", "namespace"}),
    ignored=frozenset({"name", "creationTimestamp"}),
    refused=_unsupported("generateName", "finalizers", "ownerReferences"),
)

POD: Final = Known(
    read=frozenset({"containers", "nodeSelector", "tolerations", "volumes", "priorityClassName"}),
    same={
        "restartPolicy": Same(
            ("Never",),
            "Pods run with Never, as the kubelet would restart without end what counts as a run; leave it out, and use "
            "maxRetry and policies of the Job",
        ),
        "schedulerName": _SCHEDULER,
        "dnsPolicy": Same(("", "ClusterFirst"), "Pods use the cluster's DNS; leave it out"),
        "terminationGracePeriodSeconds": Same((30,), "Pods have 30 seconds to end; leave it out"),
        "enableServiceLinks": Same((True,), "Variables of Services are there as by default; leave it out"),
        "automountServiceAccountToken": Same((False,), "No service account's token is mounted; leave it out"),
        "preemptionPolicy": Same(("", "PreemptLowerPriority"), "The PriorityClass says this; leave it out"),
        "hostUsers": Same((True,), "Pods run in the node's user namespace; leave it out"),
        "securityContext": Same(({},), "Users and rights are the image's own and the namespace's; leave it out"),
    },
    refused={
        "initContainers": "One container for each pod is supported; do the preparation in its command, or in a task "
        "that this one depends on",
        "ephemeralContainers": "One container for each pod is supported; leave it out",
        "hostNetwork": _HOST,
        "hostPID": _HOST,
        "hostIPC": _HOST,
        "hostAliases": _LEAVE_OUT,
        "nodeName": "A node's name would go round the scheduler; leave it out, and use nodeSelector",
        "serviceAccountName": "Pods run without a service account's rights; leave it out",
        "serviceAccount": "Pods run without a service account's rights; leave it out",
        "affinity": "Affinity is not supported; use nodeSelector and tolerations",
        "topologySpreadConstraints": "Spreading is not supported; use nodeSelector and tolerations",
        "imagePullSecrets": "Give the secret to the namespace's default service account, and leave it out",
        "activeDeadlineSeconds": "Leave it out; a submission has run_timeout_seconds for the whole job",
        "priority": "The PriorityClass of the Job gives the number; leave it out",
        "resources": "Write resources at the container",
        "resourceClaims": "Dynamic resource allocation is not supported; ask for GPUs as an extended resource",
        "schedulingGates": "The service itself decides when a job is released; leave it out",
        **_unsupported("hostname", "subdomain", "setHostnameAsFQDN", "hostnameOverride", "dnsConfig", "os", "overhead"),
        **_unsupported("readinessGates", "runtimeClassName", "shareProcessNamespace", "workloadRef", "schedulingGroup"),
    },
)

# a container's name is of no effect in a pod with one; here it is that of its task
CONTAINER: Final = Known(
    read=frozenset(
        {"image", "imagePullPolicy", "command", "args", "env", "resources", "volumeMounts", "securityContext"}
    ),
    ignored=frozenset({"name"}),
    same={
        "terminationMessagePath": Same(("/dev/termination-log",), "The path is Kubernetes' default one; leave it out"),
        "terminationMessagePolicy": Same(("File",), "The message is read from its file; leave it out"),
    },
    refused={
        "workingDir": "Set the directory in the image, or begin the command with cd",
        "envFrom": "Name each variable under env; values of a Secret by valueFrom.secretKeyRef",
        "ports": "Batch pods serve nothing; leave ports out",
        "volumeDevices": "Raw devices are not supported; mount a PersistentVolumeClaim",
        "livenessProbe": _PROBES,
        "readinessProbe": _PROBES,
        "startupProbe": _PROBES,
        "lifecycle": "Hooks are not supported; do the same in the command",
        "restartPolicy": "Pods run with Never; leave it out",
        **_unsupported("stdin", "stdinOnce", "tty", "resizePolicy", "restartPolicyRules"),
    },
)

SECURITY: Final = Known(
    read=frozenset(),
    same={
        "privileged": Same((False,), "Privileged containers are not allowed; leave it out"),
        "allowPrivilegeEscalation": Same((), "Set it for the namespace, by its Pod Security level; leave it out"),
    },
    refused={
        **dict.fromkeys(
            ("capabilities", "procMount", "windowsOptions"), "Rights of a container cannot be changed; leave it out"
        ),
        **dict.fromkeys(
            (
                *("runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "seccompProfile"),
                *("seLinuxOptions", "appArmorProfile"),
            ),
            "Users and rights are the image's own and the namespace's; leave it out",
        ),
    },
)

RESOURCES: Final = Known(
    read=frozenset({"requests", "limits"}),
    refused={"claims": "Dynamic resource allocation is not supported; ask for GPUs as an extended resource"},
)

VARIABLE: Final = Known(read=frozenset({"name", "value", "valueFrom"}))

_ONLY_SECRETS = "Only values, and keys of Secrets by secretKeyRef, are supported"

VALUE_FROM: Final = Known(
    read=frozenset({"secretKeyRef"}),
    refused=dict.fromkeys(("configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"), _ONLY_SECRETS),
)

SECRET_KEY: Final = Known(
    read=frozenset({"name", "key"}),
    refused={"optional": "A pod does not start without the key; leave it out"},
)

MOUNT: Final = Known(
    read=frozenset({"name", "mountPath", "readOnly"}),
    same={
        "mountPropagation": Same(("", "None"), "Mounts of the node are not shared; leave it out"),
        "recursiveReadOnly": Same(("", "Disabled"), _LEAVE_OUT),
    },
    refused=dict.fromkeys(("subPath", "subPathExpr"), "A claim is mounted whole; mount it, and use the path inside"),
)

_USE_A_CLAIM = "Only PersistentVolumeClaims are supported; make a claim in the team's namespace"

# a source that is an empty object is a source all the same, so these are not merely refused when they hold something
VOLUME: Final = Known(
    read=frozenset({"name", "persistentVolumeClaim"}),
    same={
        "hostPath": Same((), "Paths of the node are not allowed; use a PersistentVolumeClaim"),
        "emptyDir": Same((), "Scratch space is the container's own file system, or a PersistentVolumeClaim"),
        "configMap": Same((), "Put small files into the image, and pass settings as env"),
        "secret": Same((), "Pass keys of a Secret as variables, by env.valueFrom.secretKeyRef"),
        "downwardAPI": Same((), "The Job's own name and indices are in the environment; leave it out"),
        "projected": Same((), "Pass keys of a Secret as variables, by env.valueFrom.secretKeyRef"),
        **dict.fromkeys(
            (
                *("awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "ephemeral", "fc"),
                *("flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "image", "iscsi", "nfs"),
                *("photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos"),
                "vsphereVolume",
            ),
            Same((), _USE_A_CLAIM),
        ),
    },
)

CLAIM: Final = Known(read=frozenset({"claimName", "readOnly"}))

TOLERATION: Final = Known(read=frozenset({"key", "operator", "value", "effect", "tolerationSeconds"}))
