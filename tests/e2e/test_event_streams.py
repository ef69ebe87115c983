"""A client that follows events across two api processes, one of which is killed, started again and stopped."""

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

Start = Callable[..., Any]
JOBS = 60
TOKEN = "of-the-test"
TASK = {"replicas": 1, "image": "registry.test/llm:1", "resources": {}}


class Client:
    """What an event source does: it remembers the last id, and connects again with it."""

    def __init__(self) -> None:
        self.position = "0"
        self.ids: list[int] = []

    def follow(self, url: str, until: Callable[[int], bool]) -> bool:
        """Take events until this holds of how many there are by now; whether the server ended the stream in full."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream", "Last-Event-ID": self.position}
        with (
            httpx.Client(trust_env=False, timeout=30) as http,
            http.stream("GET", f"{url}/v1/events", headers=headers) as answer,
        ):
            assert answer.status_code == 200
            event: dict[str, str] = {}
            try:
                for line in answer.iter_lines():
                    name, _, value = line.partition(": ")
                    event[name] = value
                    if line:
                        continue
                    self.position = event.get("id", self.position)
                    self.ids += [int(event["id"])] if "data" in event else []
                    event = {}
                    if until(len(self.ids)):
                        return False
            except httpx.RemoteProtocolError:
                return False
        return True


def test_each_event_comes_once_across_processes_kills_and_restarts(
    start: Start, database_url: str, service_at: Callable[[str, str], Any]
) -> None:
    settings = {"PUMICE_DATABASE_URL": database_url, "PUMICE_ADMIN_TOKEN": TOKEN, "PUMICE_EVENT_POLL_SECONDS": "0.02"}

    def api() -> tuple[Any, str]:
        process = start("api", "--port", "0", **settings)
        return process, process.until_line(r"^API at (.*)")[1]

    (one, one_url), (_, other_url) = api(), api()
    service = service_at(other_url, TOKEN)
    service.made("POST", "/v1/queues", {"name": "q-nlp"})
    service.made(
        "POST", "/v1/teams", {"name": "nlp", "namespace": "team-nlp", "queues": ["q-nlp"], "default_queue": "q-nlp"}
    )

    def submit() -> None:
        for number in range(JOBS):
            made = service.made("POST", "/v1/teams/nlp/jobs", {"name": f"job-{number}", "tasks": [TASK]})
            if number % 3 == 0:
                service.made("POST", f"/v1/jobs/{made['id']}/cancel", {})

    client = Client()

    def kill_at(count: int) -> Callable[[int], bool]:
        def look(seen: int) -> bool:
            if seen >= count and one.process.poll() is None:
                one.process.send_signal(signal.SIGKILL)
            return False

        return look

    with ThreadPoolExecutor() as pool:
        submitting = pool.submit(submit)
        assert not client.follow(one_url, kill_at(5))  # cut in the middle of whatever it was sending
        client.follow(other_url, lambda seen: seen >= 25)
        again, again_url = api()
        client.follow(again_url, lambda seen: seen >= 45)
        submitting.result(60)
        total = JOBS + JOBS // 3
        if len(client.ids) < total:
            client.follow(other_url, lambda seen: seen >= total)
    stopping = Client()
    assert stopping.follow(again_url, lambda seen: seen == total and again.process.send_signal(signal.SIGTERM)) is True
    assert again.finish() == 0
    items = service.get("/v1/events?limit=500")["items"]
    assert client.ids == stopping.ids == [event["id"] for event in items]
    assert len(items) == total
