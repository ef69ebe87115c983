"""Which cluster the settings and the environment name: a kubeconfig, the cluster around this pod, or none."""

from pathlib import Path

from app.cluster.client import ClusterSettings
from app.commands.failure import CommandFailed
from app.settings import KubernetesEnvironment, Settings

_SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def named_cluster(settings: Settings) -> tuple[str, ClusterSettings] | None:
    """Where the cluster was named, in words, and how to reach it; None when nothing names one."""
    environment = KubernetesEnvironment()
    if settings.kubeconfig is not None:
        return f"PUMICE_KUBECONFIG {settings.kubeconfig}", by_kubeconfig(
            str(settings.kubeconfig), settings.kube_context
        )
    if environment.kubeconfig:
        return f"KUBECONFIG {environment.kubeconfig}", by_kubeconfig(environment.kubeconfig, settings.kube_context)
    if environment.kubernetes_service_host and _SERVICE_ACCOUNT_TOKEN.exists():
        return "in-cluster credentials", ClusterSettings(in_cluster=True)
    return None


def by_kubeconfig(paths: str, context: str | None = None) -> ClusterSettings:
    """A cluster by kubeconfig; without a context by its current one."""
    return ClusterSettings(kubeconfig=paths, context=context)


def needed_cluster(settings: Settings) -> ClusterSettings:
    """The cluster that the settings or the environment name.

    Raises:
        CommandFailed: nothing names one.
    """
    named = named_cluster(settings)
    if named is None:
        raise CommandFailed("No cluster is named: set PUMICE_KUBECONFIG or KUBECONFIG, or run in a pod of the cluster.")
    return named[1]
