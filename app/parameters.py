"""Parameters of requests: what a route does not declare, or takes once and was sent twice, is refused.

So no list looks filtered and is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.errors import Invalid, ValidationError
from app.validation import invalid


@dataclass(frozen=True, slots=True)
class Declared:
    """The names of what a route and its dependencies take.

    Attributes:
        query: every query parameter, also those that stand in a model.
        repeated: those of them that may come several times.
        headers: every header, in lower case; each may come once.
    """

    query: frozenset[str]
    repeated: frozenset[str]
    headers: frozenset[str]


_NOTHING = Declared(frozenset(), frozenset(), frozenset())


class OnlyKnownParameters:
    """A dependency of every route that looks at how parameters were sent; what they say is pydantic's to check."""

    def __init__(self) -> None:
        self._declared: dict[object, Declared] = {}

    async def __call__(self, request: Request) -> None:
        """Check one request.

        Raises:
            ValidationError: with a pointer `/query/<name>` or `/header/<name>` for each fault.
        """
        known = self._known(request)
        if not request.scope["query_string"] and not known.headers:
            return
        faults = [*_faults_in_query(request, known), *_faults_in_headers(request, known)]
        if faults:
            raise ValidationError(faults)

    def _known(self, request: Request) -> Declared:
        route = request.scope.get("route")
        if not isinstance(route, APIRoute):
            return _NOTHING
        known = self._declared.get(route.endpoint)
        if known is None:
            known = self._declared[route.endpoint] = declared(route.dependant)
        return known


def _faults_in_query(request: Request, known: Declared) -> Iterator[Invalid]:
    seen: set[str] = set()
    for name, value in request.query_params.multi_items():
        where = ("query", name)
        if name not in known.query:
            yield invalid(where, "This route has no such parameter", "unknown-parameter")
        elif name in seen and name not in known.repeated:
            yield invalid(where, "This parameter stands twice, and can be given once", "duplicate")
        elif "\x00" in value:
            yield invalid(where, "The text holds a NUL", "unstorable-character")
        seen.add(name)


def _faults_in_headers(request: Request, known: Declared) -> Iterator[Invalid]:
    for name in known.headers:
        if len(request.headers.getlist(name)) > 1:
            yield invalid(("header", name), "This header stands twice, and can be given once", "duplicate")


def declared(dependant: Dependant) -> Declared:
    """What a route takes, together with its dependencies."""
    annotations = dict(_query_parameters(dependant))
    return Declared(
        query=frozenset(annotations),
        repeated=frozenset(name for name, annotation in annotations.items() if _is_list(annotation)),
        headers=frozenset(_header_names(dependant)),
    )


def _query_parameters(dependant: Dependant) -> Iterator[tuple[str, Any]]:
    for parameter in dependant.query_params:
        annotation = parameter.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            for name, field in annotation.model_fields.items():
                yield field.alias or name, field.annotation
        else:
            yield parameter.alias, annotation
    for below in dependant.dependencies:
        yield from _query_parameters(below)


def _header_names(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias.lower() for parameter in dependant.header_params)
    for below in dependant.dependencies:
        yield from _header_names(below)


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(_is_list(part) for part in get_args(annotation))
