import json
from base64 import urlsafe_b64encode

import pytest
from fastapi import Request, Response
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidCursor
from app.paging import PageRequest, decode, encode


def request(query: str, path: str = "/v1/teams", root_path: str = "") -> Request:
    headers = [(b"host", b"[")]  # a broken one must not matter
    scope = {"type": "http", "method": "GET", "path": path, "root_path": root_path, "headers": headers}
    return Request({**scope, "query_string": query.encode(), "scheme": "http", "server": ("api.test", 80)})


@given(st.text(st.characters(exclude_characters="\x00", codec="utf-8")), st.text(max_size=16))
def test_a_cursor_gives_back_its_key(key: str, fingerprint: str) -> None:
    assert decode(encode(key, fingerprint), fingerprint) == key


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(InvalidCursor):
        decode(text, "a-fingerprint-that-no-text-has")


@pytest.mark.parametrize(
    "document",
    [
        "[" * 700,
        "null",
        "{}",
        "[]",
        '["f"]',
        '["f", 1]',
        '["f", "a\\u0000b"]',
        '["f", "\\ud800"]',
        '["f", "k", 1]',
        "1e999",
    ],
)
def test_made_up_cursors_are_refused(document: str) -> None:
    with pytest.raises(InvalidCursor):
        decode(urlsafe_b64encode(document.encode()).decode().rstrip("="), "f")


def test_a_page_without_surplus_is_the_last_one() -> None:
    response = Response()
    page = PageRequest(request("limit=2"), 2, None).page(response, ["a", "b"], ["a", "b"])
    assert (page.items, page.next_cursor) == (["a", "b"], None)
    assert "link" not in response.headers


def test_a_surplus_item_gives_the_next_page_which_begins_behind_the_last_one_shown() -> None:
    response = Response()
    page = PageRequest(request("limit=2&state=held&state=running"), 2, None).page(
        response, ["a", "b", "c"], list("abc")
    )
    assert page.items == ["a", "b"]
    assert page.next_cursor is not None
    link = f'</v1/teams?limit=2&state=held&state=running&cursor={page.next_cursor}>; rel="next"'
    assert response.headers["link"] == link
    again = PageRequest(request("state=running&limit=7&state=held"), 7, page.next_cursor)
    assert again.after == "b"


def test_a_cursor_of_other_filters_or_another_list_is_refused() -> None:
    page = PageRequest(request("state=held"), 1, None).page(Response(), ["a", "b"], ["a", "b"])
    for other in (request("state=running"), request(""), request("state=held", path="/v1/queues")):
        with pytest.raises(InvalidCursor):
            PageRequest(other, 1, page.next_cursor)


@pytest.mark.parametrize("path", ["/v1/teams", "/prefix/v1/teams"])
def test_behind_a_prefix_the_link_has_it_and_the_cursor_does_not_care(path: str) -> None:
    response = Response()
    page = PageRequest(request("", path, "/prefix"), 1, None).page(response, ["a", "b"], ["a", "b"])
    assert response.headers["link"].startswith("</prefix/v1/teams?")
    assert PageRequest(request(""), 1, page.next_cursor).after == "a"


def test_a_key_that_is_no_id_is_refused_where_ids_are_expected() -> None:
    first = PageRequest(request(""), 1, None)
    assert first.after_id() is None
    page = first.page(Response(), ["a", "b"], ["not-an-id", "b"])
    with pytest.raises(InvalidCursor):
        PageRequest(request(""), 1, page.next_cursor).after_id()


def test_a_cursor_shows_nothing_but_its_key() -> None:
    assert len(json.dumps(encode("k", "f" * 16))) < 64
