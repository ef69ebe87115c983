"""A configuration as the questions that a session asks: which plugins have a say in what (volcano-facts 5.1, 5.7)."""

from collections.abc import Mapping
from typing import Any

from app.simulator.volcano.scheduler.configuration import DEFAULT, Configuration, Plugin
from app.simulator.volcano.scheduler.nodeorder import Weights
from app.simulator.volcano.scheduler.vocabulary import BINPACK_RESOURCES, OVERCOMMIT_FACTOR

_DEFAULT_FACTOR = 1.2


class Policy:
    """What a configuration says. The names that the questions give are those of Volcano's plugins and flags."""

    def __init__(self, configuration: Configuration = DEFAULT) -> None:
        self._tiers = configuration.tiers
        self.actions = configuration.actions
        self.job_order = self._in_order("enableJobOrder", "priority", "gang", "drf")
        self.orders_tasks = self.asks("priority", "enableTaskOrder")
        self.has_gang = self.has("gang")
        self.keeps_gangs = self.asks("gang", "enableJobReady")
        self.pipelines_gangs = self.asks("gang", "enableJobPipelined")
        self.starving = self.tiers("enableJobStarving", "priority", "gang")
        self.enqueueable = self.tiers("enableJobEnqueued", "overcommit", self.share_plugin)
        self.reclaimable = self.tiers("enableReclaimable", "gang", "conformance", self.share_plugin)
        self.preemptable = self.tiers("enablePreemptable", "priority", "gang", "conformance", "drf")
        self.orders_queues = self.asks(self.share_plugin, "enableQueueOrder")
        self.limits_allocation = self.asks(self.share_plugin, "enabledAllocatable")
        self.limits_reclaim = self.asks(self.share_plugin, "enablePreemptive")
        self.stops_overused = self.asks(self.share_plugin, "enabledOverused")
        self.filters_nodes = self.asks("predicates", "enablePredicate")

    @property
    def share_plugin(self) -> str:
        """The plugin that keeps the queues' books."""
        return "capacity" if self.has("capacity") else "proportion"

    @property
    def overcommit_factor(self) -> float:
        """How much of the cluster may be enqueued; what is below 1 is replaced by the default, as in Volcano."""
        factor = _number(self._arguments("overcommit"), OVERCOMMIT_FACTOR, _DEFAULT_FACTOR)
        return factor if factor >= 1.0 else _DEFAULT_FACTOR

    @property
    def weights(self) -> Weights:
        """How nodes are scored."""
        return Weights(*self._nodeorder_weights(), *self._binpack_weights())

    def has(self, name: str) -> bool:
        """Whether a plugin is configured at all."""
        return any(plugin.name == name for tier in self._tiers for plugin in tier)

    def asks(self, name: str, flag: str) -> bool:
        """Whether a plugin is configured and one of its functions enabled."""
        return any(plugin.name == name and plugin.enabled(flag) for tier in self._tiers for plugin in tier)

    def tiers(self, flag: str, *names: str) -> tuple[tuple[str, ...], ...]:
        """Of some plugins those that are asked, by tier and in their order; tiers without any are left out."""
        asked = (tuple(p.name for p in tier if p.name in names and p.enabled(flag)) for tier in self._tiers)
        return tuple(tier for tier in asked if tier)

    def _in_order(self, flag: str, *names: str) -> tuple[str, ...]:
        return tuple(name for tier in self.tiers(flag, *names) for name in tier)

    def _plugin(self, name: str) -> Plugin | None:
        return next((plugin for tier in self._tiers for plugin in tier if plugin.name == name), None)

    def _arguments(self, name: str) -> Mapping[str, Any]:
        plugin = self._plugin(name)
        return plugin.arguments if plugin else {}

    def _nodeorder_weights(self) -> tuple[float, float, float]:
        """Those of leastrequested, mostrequested and balancedresource."""
        if not self.asks("nodeorder", "enableNodeOrder"):
            return 0.0, 0.0, 0.0
        arguments = self._arguments("nodeorder")
        return (
            _number(arguments, "leastrequested.weight", 1.0),
            _number(arguments, "mostrequested.weight", 0.0),
            _number(arguments, "balancedresource.weight", 1.0),
        )

    def _binpack_weights(self) -> tuple[float, dict[str, float]]:
        """That of binpack and those of the resources inside it."""
        if not self.asks("binpack", "enableNodeOrder"):
            return 0.0, {}
        arguments = self._arguments("binpack")
        listed = arguments.get(BINPACK_RESOURCES)
        names = [name.strip() for name in listed.split(",")] if isinstance(listed, str) else []
        packed = {name: _weight(arguments, f"{BINPACK_RESOURCES}.{name}") for name in names if name}
        packed |= {"cpu": _weight(arguments, "binpack.cpu"), "memory": _weight(arguments, "binpack.memory")}
        return _number(arguments, "binpack.weight", 1.0), packed


def _number(arguments: Mapping[str, Any], name: str, default: float) -> float:
    """A number; anything else counts as not written, as Volcano warns of it and goes on."""
    value = arguments.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def _weight(arguments: Mapping[str, Any], name: str) -> float:
    """A weight of binpack; a negative one is replaced by the default."""
    weight = _number(arguments, name, 1.0)
    return weight if weight >= 0.0 else 1.0


DEFAULT_POLICY = Policy()
