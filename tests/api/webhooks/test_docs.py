import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.webhooks.signing import new_secret, signed_headers

PAGE = Path(__file__).parents[3] / "docs" / "webhooks.md"


@pytest.fixture(scope="module")
def verify() -> Callable[..., None]:
    """The example of docs/webhooks.md, as a reader would copy it."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    return names["verify"]


def test_the_example_takes_what_we_send(verify: Callable[..., None]) -> None:
    old, new = new_secret(), new_secret()
    headers = signed_headers("msg_1", datetime.now(UTC), '{"name":"Müller"}', [new, old])
    for secret in (old, new):
        verify('{"name":"Müller"}'.encode(), headers, secret)


def test_the_example_refuses_what_is_not_ours_or_too_old(verify: Callable[..., None]) -> None:
    secret, now = new_secret(), datetime.now(UTC)
    headers = signed_headers("msg_1", now, "{}", [secret])
    with pytest.raises(ValueError, match="signature"):
        verify(b"{ }", headers, secret)
    with pytest.raises(ValueError, match="signature"):
        verify(b"{}", headers, new_secret())
    with pytest.raises(ValueError, match="old"):
        verify(b"{}", signed_headers("msg_1", now - timedelta(minutes=6), "{}", [secret]), secret)
