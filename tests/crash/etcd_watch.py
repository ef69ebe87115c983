"""Which objects were ever created, as etcd itself tells it.

An API server's audit log is no such account: when the client of a create call has gone, it notes 504 although the
object is stored a moment later (seen with kube-apiserver v1.36.1), and a `kill -9` may cost its last lines.
"""

import base64
import contextlib
import json
import threading
from typing import Any

import httpx

_JOBS = "/registry/batch.volcano.sh/jobs/"


class EtcdWatch:
    """A watch on the keys of Volcano Jobs through etcd's HTTP gateway (`/v3/watch`), open from `start` to `stop`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._found: dict[str, dict[str, Any]] = {}
        self._is_open = threading.Event()
        self._client = httpx.Client(base_url=address, trust_env=False, timeout=None)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self.broken = ""

    def start(self) -> None:
        self._thread.start()
        assert self._is_open.wait(30), self.broken or "etcd has not opened the watch within 30 s"

    def stop(self) -> None:
        self._client.close()

    def created(self) -> list[dict[str, Any]]:
        """The metadata of each Job as it was created, in order."""
        assert not self.broken, self.broken
        return list(self._found.values())

    def _follow(self) -> None:
        end = _JOBS[:-1] + chr(ord(_JOBS[-1]) + 1)
        wanted = {"key": _base64(_JOBS), "range_end": _base64(end), "filters": ["NODELETE"]}
        with contextlib.suppress(httpx.StreamClosed, RuntimeError):
            try:
                with self._client.stream("POST", "/v3/watch", json={"create_request": wanted}) as answer:
                    for line in answer.iter_lines():
                        self._read(json.loads(line)["result"])
            except (httpx.TransportError, KeyError, ValueError) as error:
                self.broken = f"the watch on etcd ended: {type(error).__name__}"

    def _read(self, result: dict[str, Any]) -> None:
        if result.get("canceled"):
            raise ValueError(result)
        if result.get("created"):
            self._is_open.set()
        for event in result.get("events", []):
            if event["kv"]["version"] == "1":  # the first one of its key: a creation
                metadata = json.loads(base64.b64decode(event["kv"]["value"]))["metadata"]
                self._found[metadata["uid"]] = metadata


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
