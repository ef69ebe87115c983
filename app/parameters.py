"""Query parameters: those that a route does not declare are refused, so that no list looks filtered and is not."""

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.errors import Invalid, ValidationError
from app.validation import pointer


class OnlyKnownParameters:
    """A dependency of every route that refuses what the route does not declare, and NUL in what it does."""

    def __init__(self) -> None:
        self._declared: dict[object, frozenset[str]] = {}

    async def __call__(self, request: Request) -> None:
        """Check one request.

        Raises:
            ValidationError: with a pointer `/query/<name>` for each fault.
        """
        if not request.scope["query_string"]:
            return
        known = self._known(request)
        faults = [
            fault
            for name, value in request.query_params.multi_items()
            if (fault := _fault(name, value, known)) is not None
        ]
        if faults:
            raise ValidationError(faults)

    def _known(self, request: Request) -> frozenset[str]:
        route = request.scope.get("route")
        if not isinstance(route, APIRoute):
            return frozenset()
        known = self._declared.get(route.endpoint)
        if known is None:
            known = self._declared[route.endpoint] = declared(route.dependant)
        return known


def _fault(name: str, value: str, known: frozenset[str]) -> Invalid | None:
    where = pointer(("query", name))
    if name not in known:
        return Invalid(where, f"{where}: This route has no such parameter.", "unknown-parameter")
    if "\x00" in value:
        return Invalid(where, f"{where}: The text holds a NUL.", "unstorable-character")
    return None


def declared(dependant: Dependant) -> frozenset[str]:
    """The names of all query parameters of a route and its dependencies, also of those that stand in a model."""
    names: set[str] = set()
    for parameter in dependant.query_params:
        annotation = parameter.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            names |= {field.alias or name for name, field in annotation.model_fields.items()}
        else:
            names.add(parameter.alias)
    return frozenset(names).union(*(declared(below) for below in dependant.dependencies))
