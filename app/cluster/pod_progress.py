"""How far a worker says that it is: the text of an annotation, `done/total`."""

import re
from typing import Any

from app.cluster.observed import Progress

MAXIMUM_TOTAL = 10**12
"""The sum over thousands of pods stays below 2**53, up to which all readers of JSON have whole numbers (RFC 8259)."""

_WRITTEN = re.compile(r"([0-9]{1,13})/([0-9]{1,13})", re.ASCII)


def read_progress(written: Any) -> Progress | None:
    """Read `done/total`: two whole numbers with 0 <= done <= total <= 10**12; None for anything else."""
    found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if found is None:
        return None
    done, total = int(found[1]), int(found[2])
    return Progress(done, total) if done <= total <= MAXIMUM_TOTAL else None
