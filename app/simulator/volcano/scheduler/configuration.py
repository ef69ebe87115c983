"""The scheduler's configuration in Volcano's own file format (v1.15.1, `pkg/scheduler/util.go`; volcano-facts 5.1).

A file that Volcano takes is taken here and does the same. What Volcano knows and the simulated scheduler does not do,
and what Volcano itself passes over in silence, is put into `Configuration.remarks`, so that it can be said.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from app.simulator.volcano.scheduler.remarks import plugin_remarks, setting_remarks
from app.simulator.volcano.scheduler.vocabulary import HIERARCHY, KNOWN_ACTIONS, KNOWN_FLAGS, SIMULATED_ACTIONS

DEFAULT_TEXT = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
"""What Volcano's Helm chart installs. Neither reclaim nor preempt is in it."""


class ConfigurationError(ValueError):
    """A configuration that Volcano refuses; the message is one sentence that says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin of a tier. `flags` are the enable flags that are written; the others are true, but for the hierarchy."""

    name: str
    flags: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def enabled(self, flag: str) -> bool:
        """Whether one of the plugin's functions is asked."""
        return self.flags.get(flag, flag != HIERARCHY)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Actions in their order, plugins by tier, and sentences about what is passed over."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[Plugin, ...], ...]
    remarks: tuple[str, ...] = ()


def parse_configuration(text: str) -> Configuration:
    """Read a configuration.

    Raises:
        ConfigurationError: no YAML mapping, an empty or unknown action, a field of a wrong type, or proportion together
            with a hierarchical drf in one tier.
    """
    document = _document(text)
    actions = _actions(document.get("actions"))
    tiers = tuple(_tier(tier, number) for number, tier in enumerate(_list(document, "tiers", "The file"), start=1))
    remarks = [
        *setting_remarks(document),
        *(f"The action {name} is not simulated and does nothing." for name in actions if name not in SIMULATED_ACTIONS),
        *(remark for tier in tiers for plugin in tier for remark in plugin_remarks(plugin)),
        *_conflicts(tiers),
    ]
    return Configuration(actions, tiers, tuple(remarks))


def _document(text: str) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"The scheduler's configuration is no YAML{where}.") from error
    if not isinstance(document, dict):
        raise ConfigurationError("The scheduler's configuration is empty or no mapping of actions and tiers.")
    return document


def _actions(value: Any) -> tuple[str, ...]:
    if not isinstance(value, str):
        raise ConfigurationError("actions must be a text with the names of actions, separated by commas.")
    names = tuple(name.strip() for name in value.split(","))
    unknown = next((name for name in names if name not in KNOWN_ACTIONS), None)
    if unknown is not None:
        known = ", ".join(sorted(KNOWN_ACTIONS))
        raise ConfigurationError(f"There is no action {unknown!r}; Volcano knows {known}.")
    return names


def _list(owner: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = owner.get(key) or []
    if not isinstance(value, list):
        raise ConfigurationError(f"{where} must give {key} as a list.")
    return value


def _tier(tier: Any, number: int) -> tuple[Plugin, ...]:
    where = f"Tier {number}"
    if not isinstance(tier, dict):
        raise ConfigurationError(f"{where} must be a mapping with plugins.")
    plugins = tuple(_plugin(item, where) for item in _list(tier, "plugins", where))
    hierarchical = any(plugin.name == "drf" and plugin.enabled(HIERARCHY) for plugin in plugins)
    if hierarchical and any(plugin.name == "proportion" for plugin in plugins):
        raise ConfigurationError(f"{where} has proportion and drf with {HIERARCHY}, which exclude each other.")
    return plugins


def _plugin(item: Any, where: str) -> Plugin:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise ConfigurationError(f"Each plugin of {where.lower()} must be a mapping with a name.")
    name = item["name"]
    arguments = item.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise ConfigurationError(f"The arguments of {name} must be a mapping.")
    flags = {key: value for key, value in item.items() if key not in ("name", "arguments")}
    wrong = next((key for key, value in flags.items() if key in KNOWN_FLAGS and not isinstance(value, bool)), None)
    if wrong is not None:
        raise ConfigurationError(f"{wrong} of {name} must be true or false.")
    return Plugin(name, flags, {str(key): value for key, value in arguments.items()})


def _conflicts(tiers: tuple[tuple[Plugin, ...], ...]) -> Iterator[str]:
    names = [plugin.name for tier in tiers for plugin in tier]
    if "proportion" in names and "capacity" in names:
        yield "proportion and capacity keep different books of the same queues; only capacity is simulated here."


DEFAULT = parse_configuration(DEFAULT_TEXT)
