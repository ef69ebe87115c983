"""The real control plane as a cluster that can be damaged, with `pumice simulate --kubeconfig` as Volcano's part."""

import contextlib
import sys
import time
from pathlib import Path
from typing import Any

from tests.controlplane.plane import ControlPlane
from tests.controlplane.service import ControlPlaneFailed, Service
from tests.crash.clusters import FOR_EVER, READY_SECONDS, Creation
from tests.crash.etcd_watch import EtcdWatch


class RealCluster:
    """A kube-apiserver whose etcd, controllers and nodes stay alive while it is damaged."""

    name = "control plane"
    can_fail_pods = False
    can_refuse = False

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._etcd = EtcdWatch(plane.etcd_url)
        self._volcano: Service | None = None

    def begin(self) -> None:
        """Start Volcano's part and wait until it works; the control plane itself runs already."""
        self._etcd.start()
        arguments = [sys.executable, "-m", "app.cli", "simulate", f"--kubeconfig={self._plane.kubeconfig_path}"]
        arguments.append("--schedule-period=0.3")
        self._volcano = Service(arguments, self._plane.directory / "volcano.log")
        self._volcano.start()
        deadline = time.monotonic() + READY_SECONDS
        while "Volcano's part (simulated) works on" not in self._volcano.tail():
            self._volcano.check()
            assert time.monotonic() < deadline, self._volcano.tail()
            time.sleep(0.1)

    @property
    def url(self) -> str:
        return self._plane.url

    def kubeconfig(self, path: Path) -> Path:
        return self._plane.kubeconfig(path)

    def admin_kubeconfig(self) -> Path:
        return self._plane.kubeconfig_path

    def life(self, seconds: float, exit_code: int = 0) -> dict[str, Any]:
        assert exit_code == 0, "kwok's pods always succeed"
        milliseconds = int(min(seconds, FOR_EVER) * 1000)
        named = {"delay": f"{milliseconds}ms", "jitter-delay": f"{milliseconds}ms"}
        annotations = {f"pod-complete.stage.kwok.x-k8s.io/{name}": value for name, value in named.items()}
        return {"command": ["sleep", str(seconds)], "annotations": annotations}

    def creations(self) -> list[Creation]:
        """As etcd tells it, whatever became of the API server."""
        found = self._etcd.created()
        return [Creation(each["namespace"], each["name"], each["uid"]) for each in found]

    def kill(self) -> None:
        self._plane.api_server.kill()

    def start(self) -> None:
        self._plane.start_api_server()

    def freeze(self) -> None:
        self._plane.api_server.freeze()

    def thaw(self) -> None:
        self._plane.api_server.thaw()

    def compact(self) -> None:
        self._plane.compact()

    def close(self) -> None:
        self._etcd.stop()
        if self._volcano is not None:
            with contextlib.suppress(ControlPlaneFailed):
                self._volcano.stop()
