"""Whoever writes a new type of event has to say what it means."""

import re
from pathlib import Path

from app.jobs.event_types import EVENT_TYPES

ROOT = Path(__file__).resolve().parents[3]

# the ways in which the code names a type: a constant, an argument, a literal of an INSERT ... SELECT
NAMED = (
    r'^(?:[A-Z]+_)?EVENT = "([a-z-]+)"',
    r'\bevent(?:: str)? ?= ?"([a-z-]+)"(?: if .* else "([a-z-]+)")?',
    r'record_event\([^")]*, "([a-z-]+)"',
    r'func\.now\(\), literal\("([a-z-]+)"\)',
)


def written() -> set[str]:
    found: set[str] = set()
    for folder in ("jobs", "controller"):
        for path in (ROOT / "app" / folder).rglob("*.py"):
            for pattern in NAMED:
                for match in re.finditer(pattern, path.read_text(), re.MULTILINE):
                    found |= {name for name in match.groups() if name}
    return found


def test_every_type_that_the_code_writes_is_known() -> None:
    assert written() == set(EVENT_TYPES)


def test_the_docs_have_the_same_words() -> None:
    page = (ROOT / "docs" / "events.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", page.partition("## Following")[0], re.MULTILINE))
    assert rows == EVENT_TYPES
