"""Which documents a body holds, and where in it each of them stands. Pure."""

import json
from dataclasses import dataclass
from typing import Any

from app.bodies import unstorable
from app.errors import InvalidYaml, UnsupportedMediaType, ValidationError
from app.jobs.bulk_schemas import MAXIMUM_JOBS
from app.jobs.faults import Place
from app.jobs.importing.yaml_reader import read_yaml
from app.validation import invalid

JSON = "application/json"
YAML = ("application/yaml", "text/yaml", "application/x-yaml", "text/x-yaml")

_LISTS = ("List", "JobList")
_MEMBERS_OF_A_LIST = frozenset({"apiVersion", "kind", "metadata", "items"})


@dataclass(frozen=True, slots=True)
class Document:
    """One value that ought to be a Volcano Job, and the way to it in the body."""

    value: Any
    place: Place


@dataclass(frozen=True, slots=True)
class Documents:
    """What a body holds. `several` says that it was sent as a list, which one document alone can be too."""

    found: tuple[Document, ...]
    several: bool


def read_documents(body: bytes, content_type: str) -> Documents:
    """Read a body: one object or an array in JSON, one document or several in YAML, a `List` in either.

    Raises:
        UnsupportedMediaType: it is neither JSON nor YAML.
        InvalidYaml: it is not YAML. JSON was checked before (`app.bodies`).
        ValidationError: it holds nothing, too much, or what no document may hold.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON:
        return _listed(json.loads(body) if body.strip() else None)
    if kind in YAML:
        documents = read_yaml(_text(body))
        one = documents[0] if len(documents) == 1 else documents or None
        faults = list(unstorable(one, ()))
        if faults:
            raise ValidationError(faults)
        return _listed(one)
    raise UnsupportedMediaType(f"The body must be sent with Content-Type: {JSON} or {YAML[0]}.")


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidYaml("The body is not text in UTF-8.") from error


def _listed(value: Any) -> Documents:
    found = tuple(_flat(value))
    if not found:
        raise ValidationError([invalid((), "There is no document; send at least one Volcano Job", "too-short")])
    if len(found) > MAXIMUM_JOBS:
        words = f"The body holds {len(found)} documents, at most {MAXIMUM_JOBS} are possible"
        raise ValidationError([invalid((), words, "too-long")])
    return Documents(found, several=isinstance(value, list) or _is_list(value))


def _flat(value: Any) -> list[Document]:
    if isinstance(value, list):
        outer = [Document(item, (index,)) for index, item in enumerate(value)]
    else:
        outer = [] if value is None else [Document(value, ())]
    return [document for each in outer for document in _items(each)]


def _items(document: Document) -> list[Document]:
    """The items of a `List`, as kubectl prints several objects, or the document itself."""
    if not _is_list(document.value):
        return [document]
    faults = [
        invalid((*document.place, name), "A List has no such field", "extra-forbidden")
        for name in document.value.keys() - _MEMBERS_OF_A_LIST
    ]
    items = document.value.get("items")
    if not isinstance(items, list):
        faults.append(invalid((*document.place, "items"), "This has to be a JSON array", "list-type"))
    if faults:
        raise ValidationError(faults)
    return [Document(item, (*document.place, "items", index)) for index, item in enumerate(items or [])]


def _is_list(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in _LISTS
