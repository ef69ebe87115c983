"""Each part as a process of its own, over one database and one cluster, as an operator runs them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

Start = Callable[..., Any]


def test_api_controller_migrations_and_cluster_run_apart(
    start: Start, tmp_path: Path, empty_database_url: str, service_at: Callable[[str, str], Any]
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    simulate = start("simulate", "--port", "0", "--speed", "5", "--kubeconfig-out", str(kubeconfig))
    simulate.until_line("kubectl --kubeconfig")
    settings = {
        "PUMICE_DATABASE_URL": empty_database_url,
        "PUMICE_KUBECONFIG": str(kubeconfig),
        "PUMICE_ADMIN_TOKEN": "of-the-test",
        "PUMICE_METRICS_PORT": "0",
        "PUMICE_CONTROLLER_PORT": "0",
    }
    api = start("api", "--port", "0", **settings)
    metrics = api.until_line(r"^metrics port at (.*)")[1]
    url = api.until_line(r"^API at (.*)")[1]
    unready = httpx.get(f"{url}/readyz", trust_env=False)
    assert (unready.status_code, unready.json()["missing"]) == (503, ["migrations"])
    for _ in range(2):
        assert start("migrate", **settings).finish(60) == 0
    controllers = [start("controller", **settings) for _ in range(2)]
    probes = [controller.until_line(r"^probe port at (.*)")[1] for controller in controllers]

    service = service_at(url, "of-the-test")
    service.until("/readyz", lambda body: body["controller"]["leading"])
    service.team("nlp", "q-nlp", gpus=2)
    ended = service.ended(service.submit("nlp", "apart", 2, gpus=2))
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)
    log = service.call("GET", f"/v1/jobs/{ended['id']}/logs?tail=1").text.splitlines()
    assert sorted(line.partition(" | ")[0] for line in log) == ["worker-0", "worker-1"]
    assert all(line.endswith("worker ends with exit code 0") for line in log)

    assert "pumice_jobs_accepted_total 1.0" in httpx.get(f"{metrics}/metrics", trust_env=False).text
    assert service.call("GET", "/metrics").status_code == 404
    leading = [httpx.get(f"{probe}/metrics", trust_env=False).text.count("pumice_leader 1.0") for probe in probes]
    assert sorted(leading) == [0, 1]
    assert all(httpx.get(f"{probe}/healthz", trust_env=False).status_code == 200 for probe in probes)
    for process in (*controllers, api, simulate):
        process.process.terminate()
    assert [process.finish() for process in (*controllers, api, simulate)] == [0, 0, 0, 0]


def test_a_controller_without_a_cluster_says_so(start: Start) -> None:
    controller = start("controller")
    assert controller.finish(30) == 1
    assert controller.errors.read_text() == (
        "pumice: No cluster is named: set PUMICE_KUBECONFIG or KUBECONFIG, or run in a pod of the cluster.\n"
    )


def test_a_wrong_setting_is_one_sentence(start: Start) -> None:
    api = start("api", PUMICE_MAX_BODY_BYTES="hunter2")
    assert api.finish(30) == 1
    text = api.errors.read_text()
    assert text.startswith("pumice: The settings are wrong. PUMICE_MAX_BODY_BYTES: ")
    assert len(text.splitlines()) == 1
    assert "hunter2" not in text
