"""The table of cases names tests that are there, and every case that is played here."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
CASES = {
    *("V-01", "V-03", "V-04", "V-06", "V-07", "V-09", "V-10", "V-11"),
    *("N-01", "N-03", "N-04", "N-05", "N-07", "N-09"),
    *("C-01", "C-03", "C-04", "C-06", "C-07", "C-09", "C-10"),
    *("L-01", "L-02", "L-04", "L-06", "L-07"),
    *("I-01", "I-03", "I-05", "I-06", "I-08", "I-09"),
}
ROW = re.compile(r"\| ([VNCLI]-\d\d) [^|]+\| ([^|]+) \| ([^|]+) \|")


def rows() -> dict[str, list[str]]:
    """The tests of each case, as path::name."""
    lines = (HERE / "README.md").read_text().splitlines()
    found = [row for line in lines if (row := ROW.fullmatch(line))]
    assert len({row[1] for row in found}) == len(found)
    return {row[1]: re.findall(r"`([^`]+)`", row[2]) for row in found}


@cache
def names_in(path: Path) -> frozenset[str]:
    """The names of the test functions of a file, without running it."""
    tree = ast.parse(path.read_text())
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_every_case_has_a_row() -> None:
    assert set(rows()) == CASES


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_names_in_a_case_are_there(case: str) -> None:
    named = rows()[case]
    assert named
    for each in named:
        path, _, name = each.partition("::")
        assert name in names_in(ROOT / path), each


def test_every_test_with_a_cases_id_stands_in_its_row() -> None:
    table = rows()
    for path in sorted(HERE.glob("test_*.py")):
        for name in sorted(names_in(path)):
            found = re.match(r"test_([vncli])(\d\d)_", name)
            if found:
                case = f"{found[1].upper()}-{found[2]}"
                assert f"tests/cases/{path.name}::{name}" in table.get(case, []), name


def test_no_test_here_is_without_a_case() -> None:
    for path in sorted(HERE.glob("test_*.py")):
        if path.name != Path(__file__).name:
            assert all(re.match(r"test_[vncli]\d\d_", name) for name in names_in(path)), path.name
