import json
from typing import Any

import aiohttp
import pytest

from app.cluster import errors


def status(code: int, reason: str, message: str = "", **details: Any) -> bytes:
    return json.dumps(
        {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    ).encode()


@pytest.mark.parametrize(
    ("code", "reason", "kind", "unknown"),
    [
        (400, "BadRequest", errors.Rejected, False),
        (401, "Unauthorized", errors.Unauthorized, False),
        (403, "Forbidden", errors.Rejected, False),
        (404, "NotFound", errors.NotFound, False),
        (405, "MethodNotAllowed", errors.Rejected, False),
        (408, "Timeout", errors.ClusterUnavailable, True),
        (409, "AlreadyExists", errors.AlreadyExists, False),
        (409, "Conflict", errors.Conflict, False),
        (409, "", errors.Conflict, False),
        (410, "Expired", errors.Expired, False),
        (410, "Gone", errors.Expired, False),
        (413, "RequestEntityTooLarge", errors.Rejected, False),
        (422, "Invalid", errors.Rejected, False),
        (429, "TooManyRequests", errors.ClusterThrottled, False),
        (500, "InternalError", errors.ClusterUnavailable, True),
        (502, "", errors.ClusterUnavailable, True),
        (503, "ServiceUnavailable", errors.ClusterThrottled, False),
        (504, "Timeout", errors.ClusterUnavailable, True),
        (302, "", errors.ClusterUnavailable, True),
    ],
)
def test_what_each_status_means(code: int, reason: str, kind: type[errors.ClusterError], unknown: bool) -> None:
    error = errors.from_status(code, status(code, reason))
    assert type(error) is kind
    assert (error.status, error.reason, error.outcome_unknown) == (code, reason, unknown)
    assert error.message


@pytest.mark.parametrize(
    "body", [None, b"", b"<html>502 Bad Gateway</html>", b'{"code": ', b"[1]", b'"x"', b"\xff\xfe", {"message": 7}]
)
def test_an_answer_that_is_no_status_object_is_understood_by_its_code(body: Any) -> None:
    assert type(errors.from_status(409, body)) is errors.Conflict
    error = errors.from_status(502, body)
    assert error.outcome_unknown
    assert "html" not in error.message


def test_a_refusal_keeps_the_webhooks_own_words_cut_to_a_length() -> None:
    words = 'admission webhook "validatejob.volcano.sh" denied the request: unable to find job queue: x'
    assert errors.from_status(403, status(403, "Forbidden", words)).message == words
    assert len(errors.from_status(422, status(422, "Invalid", "x" * 5000)).message) == 1024


def test_a_webhook_that_cannot_be_called_is_trouble_of_the_server_and_its_address_is_not_told() -> None:
    message = (
        'Internal error occurred: failed calling webhook "mutatejob.volcano.sh": failed to call webhook: '
        'Post "https://volcano-admission-service.volcano-system.svc:443/jobs/mutate?timeout=10s": '
        "context deadline exceeded"
    )
    error = errors.from_status(500, status(500, "InternalError", message))
    assert type(error) is errors.ClusterUnavailable
    assert not error.outcome_unknown
    assert error.message == "The cluster could not call the admission webhook mutatejob.volcano.sh."


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"Retry-After": "3"}, {}, 3.0),
        ({"retry-after": "0"}, {"retryAfterSeconds": 9}, 0.0),
        ({}, {"retryAfterSeconds": 5}, 5.0),
        ({}, {}, 1.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, 1.0),
        ({"Retry-After": "nan"}, {}, 1.0),
        ({"Retry-After": "-1"}, {"retryAfterSeconds": [2]}, 1.0),
        ({"Retry-After": "1e9"}, {}, 300.0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], details: dict[str, Any], seconds: float) -> None:
    error = errors.from_status(429, status(429, "TooManyRequests", **details), headers)
    assert error.retry_after_seconds == seconds


@pytest.mark.parametrize(
    "body",
    [
        status(504, "Timeout", "Too large resource version: 900, current: 20"),
        status(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge", "message": "x"}]),
    ],
)
def test_a_version_from_another_clusters_future_has_expired(body: bytes) -> None:
    assert type(errors.from_status(504, body)) is errors.Expired


@pytest.mark.parametrize(
    ("raised", "unknown"),
    [
        (aiohttp.ConnectionTimeoutError("connect"), False),
        (aiohttp.SocketTimeoutError("read"), True),
        (TimeoutError(), True),
        (aiohttp.ServerDisconnectedError(), True),
        (aiohttp.ClientPayloadError("cut"), True),
        (ConnectionResetError("10.1.2.3:6443"), True),
    ],
)
def test_network_errors_say_whether_the_call_may_have_worked(raised: Exception, unknown: bool) -> None:
    with pytest.raises(errors.ClusterUnavailable) as caught, errors.edge_errors():
        raise raised
    assert caught.value.outcome_unknown is unknown
    assert "10.1.2.3" not in str(caught.value)


def test_other_exceptions_pass_the_edge_untouched() -> None:
    with pytest.raises(ZeroDivisionError), errors.edge_errors():
        _ = 1 / 0
