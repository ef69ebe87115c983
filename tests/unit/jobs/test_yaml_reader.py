"""YAML as people write it, and what must not get in by it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yaml import safe_dump

from app.errors import InvalidYaml, ValidationError
from app.jobs.importing.documents import read_documents
from app.jobs.importing.yaml_reader import MAXIMUM_DEPTH, MAXIMUM_FAULTS, read_yaml


def faults(text: str) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        read_yaml(text)
    return {fault["pointer"]: fault["code"] for fault in refused.value.extras["errors"]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("+7", 7),
        ("0", 0),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("'on'", "on"),
        ('"0777"', "0777"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("2026-12-01", "2026-12-01"),  # dates stay what was written
        ("2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        ("8080:80", "8080:80"),  # and are no sexagesimal numbers
        ("16Gi", "16Gi"),
        ("500m", "500m"),
        ("registry.test/llm:1", "registry.test/llm:1"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("-", [None]),
    ],
)
def test_reads_what_all_readers_agree_on(text: str, value: object) -> None:
    inner = f"\n  {text}" if text == "-" else f" {text}"
    (document,) = read_yaml(f"a:{inner}\n")
    assert document == {"a": value}
    assert type(document["a"]) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("on", "off", "yes", "No", "y", "N", "0777", "-012", "0o17", "0b101", "1_000", "0x1_F"),
        *(".nan", ".inf", "-.INF", "1e400", "1" * 65),
        *("!!binary aGk=", "!!python/object/apply:os.system [x]", "!!set {a}", "!own x", "*nothing"),
    ],
)
def test_refuses_where_readers_differ_or_json_has_no_word(text: str) -> None:
    assert list(faults(f"a:\n- x\n- {text}\n")) == ["/a/1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: {c: 1, c: 2}\n", {"/b/c": "duplicate"}),
        ("a: 1\nb: 2\na: 3\n", {"/a": "duplicate"}),
        ("a: 1\n---\na: {b: [x, on]}\n", {"/1/a/b/1": "yaml-scalar"}),
        ("---\n---\na: on\n---\n# nothing\n", {"/a": "yaml-scalar"}),
        ("a:\n- {x: 1}\n- [w, {z: off}]\n", {"/a/1/1/z": "yaml-scalar"}),
        ("a: {<<: {b: 1}}", {"/a": "yaml-merge"}),
        ("a: {1: x}", {"/a": "yaml-key"}),
        ("on: 1", {"": "yaml-scalar"}),
        ("image: {{ .Values.image }}", {"": "yaml-key"}),
        ("a: &a [*a]", {"/a/0": "yaml-alias"}),
    ],
)
def test_says_where(text: str, expected: dict[str, str]) -> None:
    assert faults(text) == expected


def test_repeats_what_is_behind_an_alias() -> None:
    assert read_yaml("a: &x {b: [1]}\nc: *x\nd: [*x, &y z, *y]\n") == [
        {"a": {"b": [1]}, "c": {"b": [1]}, "d": [{"b": [1]}, "z", "z"]}
    ]


_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{key}: &{key} [{', '.join([f'*{before}'] * 10)}]\n" for before, key in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_LAUGHS, "too-many-values"),
        (f"a: &a {'x' * 500_000}\nb:\n{'- *a' + chr(10)}" + "- *a\n" * 10, "too-many-values"),
        ("- " * (MAXIMUM_DEPTH + 1), "too-deep"),
        ("- " * 500_000, "too-deep"),
        ("{a: " * 200_000, "too-deep"),
    ],
    ids=["laughs", "long-text", "one-too-deep", "very-deep", "deep-mappings"],
)
def test_grows_within_bounds(text: str, code: str) -> None:
    began = time.process_time()
    assert faults(text) == {"": code}
    assert time.process_time() - began < 5  # without the bounds it would not end


def test_stops_at_many_faults() -> None:
    with pytest.raises(ValidationError) as refused:
        read_yaml("- on\n" * 10_000)
    assert len(refused.value.extras["errors"]) == MAXIMUM_FAULTS


@pytest.mark.parametrize(
    "text", ["{", "a: b: c", "\tx: 1", "a: \x00", 'a: "\\ud800"', "[" * 100_000, "&a &a x", "%BAD"]
)
def test_refuses_what_is_no_yaml(text: str) -> None:
    with pytest.raises((InvalidYaml, ValidationError)) as refused:
        read_yaml(text)
    assert isinstance(refused.value, InvalidYaml)


def test_refuses_texts_that_cannot_be_stored() -> None:
    with pytest.raises(ValidationError) as refused:
        read_documents(b'kind: Job\na: ["\\0"]\n', "application/yaml")
    assert [fault["pointer"] for fault in refused.value.extras["errors"]] == ["/a/0"]


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    # PyYAML writes these without quotes though other readers take them for booleans, and we refuse them
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])).filter(lambda text: text not in set("yYnN")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdefg", min_size=1), inner, max_size=4),
    max_leaves=20,
)


@given(_json.filter(lambda value: value is not None))
def test_reads_back_what_a_safe_writer_wrote(value: object) -> None:
    assert read_yaml(safe_dump(value, allow_unicode=True)) == [value]
