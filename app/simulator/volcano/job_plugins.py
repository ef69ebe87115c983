"""The job plugins `env` and `svc` (volcano-facts 2.10); the others are accepted and do nothing here."""

from app.simulator.objects import Object
from app.simulator.volcano import names

KNOWN = frozenset({"env", "svc", "ssh", "tensorflow", "pytorch", "mpi", "ray", "hcclrank"})
CONFIG_PATH = "/etc/volcano"


def prepare_pod(pod: Object, job: Object, index: int) -> None:
    """Change a new pod as the Job's plugins do."""
    plugins = job["spec"].get("plugins") or {}
    if "env" in plugins:
        variables = [{"name": name, "value": str(index)} for name in ("VK_TASK_INDEX", "VC_TASK_INDEX")]
        _add_variables(pod, variables)
    if "svc" in plugins:
        _prepare_for_service(pod, job)


def _all_containers(pod: Object) -> list[Object]:
    return [*(pod["spec"].get("containers") or []), *(pod["spec"].get("initContainers") or [])]


def _add_variables(pod: Object, variables: list[Object]) -> None:
    for container in _all_containers(pod):
        container["env"] = [*(container.get("env") or []), *variables]


def _prepare_for_service(pod: Object, job: Object) -> None:
    spec = pod["spec"]
    spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
    spec["subdomain"] = spec.get("subdomain") or job["metadata"]["name"]
    name = config_map_name(job)
    keys = [key for task in job["spec"]["tasks"] for key in _variable_names(task["name"])]
    _add_variables(pod, [{"name": k, "valueFrom": {"configMapKeyRef": {"name": name, "key": k}}} for k in keys])
    spec.setdefault("volumes", []).append({"name": name, "configMap": {"name": name}})
    for container in _all_containers(pod):
        container.setdefault("volumeMounts", []).append({"name": name, "mountPath": CONFIG_PATH})


def config_map_name(job: Object) -> str:
    """`<job>-svc`."""
    return f"{job['metadata']['name']}-svc"


def _variable_names(task: str) -> tuple[str, str]:
    upper = task.replace("-", "_").upper()
    return f"VC_{upper}_HOSTS", f"VC_{upper}_NUM"


def hosts(job: Object) -> dict[str, str]:
    """The data of the ConfigMap: hosts of each task, as a file and as variables."""
    data: dict[str, str] = {}
    for task in job["spec"]["tasks"]:
        names_of_task = _hosts_of_task(job, task)
        list_name, number_name = _variable_names(task["name"])
        data[f"{task['name'].replace('-', '_')}.host"] = "\n".join(names_of_task)
        data[list_name] = ",".join(names_of_task)
        data[number_name] = str(len(names_of_task))
    return data


def _hosts_of_task(job: Object, task: Object) -> list[str]:
    template = task["template"].get("spec") or {}
    subdomain = template.get("subdomain") or job["metadata"]["name"]
    if template.get("hostname"):
        return [f"{template['hostname']}.{subdomain}"] if task.get("replicas", 0) else []
    job_name = job["metadata"]["name"]
    return [f"{job_name}-{task['name']}-{index}.{subdomain}" for index in range(task.get("replicas", 0))]


def build_config_map(job: Object) -> Object:
    """The ConfigMap that is mounted into every pod."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": config_map_name(job),
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [names.owner_reference(job)],
        },
        "data": hosts(job),
    }


def build_service(job: Object) -> Object:
    """The headless Service that gives each pod a name in the cluster's DNS."""
    metadata = job["metadata"]
    selector = {names.JOB_NAME: metadata["name"], names.JOB_NAMESPACE: metadata["namespace"]}
    arguments = (job["spec"].get("plugins") or {}).get("svc") or []
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "ownerReferences": [names.owner_reference(job)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": selector,
            "publishNotReadyAddresses": "--publish-not-ready-addresses=true" in arguments,
        },
    }
