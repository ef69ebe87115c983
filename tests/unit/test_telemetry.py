import io
import json
import logging
from collections.abc import Iterator

import pytest

from app.telemetry import configure_logging, get_logger


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What goes to the log."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    configure_logging("json", "info")
    stream = io.StringIO()
    root.handlers[0].setStream(stream)  # type: ignore[attr-defined]
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def _fails() -> None:
    raise ValueError("postgresql://user:secret@db.internal")


@pytest.mark.parametrize("logger", [get_logger("ours"), logging.getLogger("foreign")])
def test_an_error_is_named_with_its_place_and_without_its_text(written: io.StringIO, logger: logging.Logger) -> None:
    try:
        _fails()
    except ValueError:
        logger.exception("it failed")
    line = json.loads(written.getvalue())
    assert (line["event"], line["error"], line["level"]) == ("it failed", "ValueError", "error")
    assert line["at"][-1].startswith("test_telemetry.py:")
    assert line["at"][-1].endswith(" _fails")
    assert "secret" not in written.getvalue()
    assert "Traceback" not in written.getvalue()
