import pytest

from app.simulator.access.attributes import Attributes
from app.simulator.rest.request_attributes import attributes_of

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs"


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", JOBS, {}, Attributes("list", "batch.volcano.sh", "jobs", namespace="n")),
        ("HEAD", JOBS, {}, Attributes("list", "batch.volcano.sh", "jobs", namespace="n")),
        ("GET", JOBS, {"watch": "1"}, Attributes("watch", "batch.volcano.sh", "jobs", namespace="n")),
        ("GET", JOBS, {"watch": "0"}, Attributes("list", "batch.volcano.sh", "jobs", namespace="n")),
        ("POST", JOBS, {}, Attributes("create", "batch.volcano.sh", "jobs", namespace="n")),
        ("DELETE", JOBS, {}, Attributes("deletecollection", "batch.volcano.sh", "jobs", namespace="n")),
        ("GET", f"{JOBS}/a", {}, Attributes("get", "batch.volcano.sh", "jobs", "", "n", "a")),
        ("PATCH", f"{JOBS}/a/status", {}, Attributes("patch", "batch.volcano.sh", "jobs", "status", "n", "a")),
        ("POST", "/api/v1/namespaces/n/pods/p/binding", {}, Attributes("create", "", "pods", "binding", "n", "p")),
        ("GET", "/api/v1/nodes", {}, Attributes("list", "", "nodes")),
        ("GET", "/api/v1/nodes", {"fieldSelector": "metadata.name=a"}, Attributes("list", "", "nodes", name="a")),
        ("GET", "/api/v1/nodes", {"fieldSelector": "metadata.name!=a"}, Attributes("list", "", "nodes")),
        ("GET", "/api/v1/namespaces", {}, Attributes("list", "", "namespaces")),
        ("GET", "/api/v1/namespaces/n", {}, Attributes("get", "", "namespaces", "", "n", "n")),
        ("PUT", "/api/v1/namespaces/n/finalize", {}, Attributes("update", "", "namespaces", "finalize", "n", "n")),
        ("GET", "/apis/apps/v1", {}, Attributes("get", path="/apis/apps/v1")),
        ("GET", "/api/v1", {}, Attributes("get", path="/api/v1")),
        ("POST", "/simulator/faults", {}, Attributes("post", path="/simulator/faults")),
        ("GET", "/", {}, Attributes("get", path="/")),
    ],
)
def test_what_a_request_asks_of_the_roles(method: str, path: str, query: dict[str, str], expected: Attributes) -> None:
    assert attributes_of(method, path, query) == expected
