"""What is to be said about a configuration: parts of it that do nothing, in Volcano or here."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from app.simulator.volcano.scheduler.vocabulary import (
    BINPACK_RESOURCES,
    KNOWN_FLAGS,
    KNOWN_PLUGINS,
    SIMULATED_ARGUMENTS,
    SIMULATED_FLAGS,
    SIMULATED_PLUGINS,
)


class _Plugin(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def flags(self) -> Mapping[str, bool]: ...
    @property
    def arguments(self) -> Mapping[str, Any]: ...


def setting_remarks(document: Mapping[str, Any]) -> Iterator[str]:
    """Remarks about the fields beside actions and tiers."""
    for name in document:
        if name in ("configurations", "metrics"):
            yield f"The field {name} is not simulated and does nothing."
        elif name not in ("actions", "tiers"):
            yield f"There is no field {name} in Volcano's format; it is ignored."


def plugin_remarks(plugin: _Plugin) -> Iterator[str]:
    """Remarks about one plugin of a tier."""
    if plugin.name not in KNOWN_PLUGINS:
        yield f"There is no plugin {plugin.name}; it is ignored, as Volcano ignores it."
    elif plugin.name not in SIMULATED_PLUGINS:
        yield f"The plugin {plugin.name} is not simulated and does nothing."
    else:
        yield from _flag_remarks(plugin)
        yield from _argument_remarks(plugin)


def _flag_remarks(plugin: _Plugin) -> Iterator[str]:
    for flag, value in plugin.flags.items():
        if flag not in KNOWN_FLAGS:
            yield f"There is no flag {flag} of {plugin.name} in Volcano's format; it is ignored."
        elif flag not in SIMULATED_FLAGS and (value or flag != "enableHierarchy"):
            yield f"The flag {flag} of {plugin.name} is not simulated and does nothing."


def _argument_remarks(plugin: _Plugin) -> Iterator[str]:
    simulated = SIMULATED_ARGUMENTS.get(plugin.name, ())
    for name, value in plugin.arguments.items():
        weighs = plugin.name == "binpack" and name.startswith(f"{BINPACK_RESOURCES}.")
        if name not in simulated and not weighs:
            yield f"The argument {name} of {plugin.name} is not simulated and does nothing."
        elif isinstance(value, bool) or not isinstance(value, str if name == BINPACK_RESOURCES else (int, float)):
            yield f"The argument {name} of {plugin.name} has a wrong type; its default is used, as in Volcano."
