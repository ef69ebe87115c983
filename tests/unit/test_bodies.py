import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bodies import BodyMiddleware, check_json
from app.errors import BodyTooLarge, InvalidJson, ValidationError

storable = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | storable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(storable, inner, max_size=4),
    max_leaves=20,
)


@given(documents, st.booleans())
def test_every_json_document_passes(document: object, ascii_only: bool) -> None:
    check_json(json.dumps(document, ensure_ascii=ascii_only).encode())


@given(st.binary(max_size=64))
def test_nothing_else_than_a_refusal_comes_of_any_bytes(body: bytes) -> None:
    try:
        check_json(body)
    except (InvalidJson, ValidationError):
        return
    json.loads(body.decode())


@pytest.mark.parametrize(
    "body",
    [
        b'{"replicas": NaN}',
        b'{"replicas": Infinity}',
        b'{"replicas": -Infinity}',
        b'{"priority": 1e400}',
        b'{"a": [{"x": -1e999}]}',
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b"{not json",
        b"{} {}",
        b"\xff",
        b"\xef\xbb\xbf{}",
        '{"a": "b"}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"a": ' * 50_000,
        b"9" * 10_000,
        b'"\x00"',
    ],
)
def test_what_is_no_json_or_has_no_single_meaning_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidJson):
        check_json(body)


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (rb'{"a": "x\u0000"}', ["/a"]),
        (rb'{"a": [1, {"b/c": "\ud800"}]}', ["/a/1/b~1c"]),
        (rb'{"a": "\uDFFF", "b": "\u0000"}', ["/a", "/b"]),
        (rb'{"\u0000": 1}', [""]),
    ],
)
def test_characters_that_cannot_be_stored_are_refused_with_their_place(body: bytes, pointers: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        check_json(body)
    assert [fault["pointer"] for fault in caught.value.extras["errors"]] == pointers


def test_a_whole_pair_and_an_escaped_backslash_are_harmless() -> None:
    check_json(rb'{"a": "\ud83d\ude00", "b": "\\u0000", "c": "\\ud800"}')


async def served(
    chunks: list[bytes], headers: list[tuple[bytes, bytes]], path: str = "/v1/teams/a/jobs"
) -> tuple[int, list[bytes]]:
    """Send chunks through the middleware: how many it took, and the bodies that came through."""
    taken = 0
    seen: list[bytes] = []

    async def receive() -> dict[str, object]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": chunks[taken - 1], "more_body": taken < len(chunks)}

    async def app(scope: object, receive: object, send: object) -> None:
        message = await receive()  # type: ignore[operator]
        assert message["more_body"] is False
        seen.append(message["body"])

    async def send(message: object) -> None:
        raise AssertionError(message)

    with contextlib.suppress(BodyTooLarge):
        middleware = BodyMiddleware(app, 10, larger={"/jobs/bulk": 20})
        await middleware({"type": "http", "method": "POST", "path": path, "headers": headers}, receive, send)
    return taken, seen


async def test_a_declared_length_above_the_limit_is_refused_before_a_byte_is_read() -> None:
    assert await served([b"x"], [(b"content-length", b"11")]) == (0, [])


async def test_a_stream_is_cut_off_at_the_limit() -> None:
    assert await served([b"12345"] * 1000, []) == (3, [])


async def test_a_body_of_exactly_the_limit_comes_through_whole() -> None:
    assert await served([b"12345", b"", b"67890"], [(b"content-length", b"10")]) == (3, [b"1234567890"])
    assert await served([b"1234567890"], []) == (1, [b"1234567890"])


async def test_a_path_may_have_a_limit_of_its_own() -> None:
    path = "/v1/teams/a/jobs/bulk"
    assert await served([b"x" * 20], [(b"content-length", b"20")], path) == (1, [b"x" * 20])
    assert await served([b"x"], [(b"content-length", b"21")], path) == (0, [])
    assert await served([b"12345"] * 1000, [], path) == (5, [])
