"""Volcano's configuration file: what is taken, what is refused, and what is said of it (volcano-facts 5.1)."""

import logging
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.volcano.scheduler.configuration import (
    DEFAULT,
    Configuration,
    ConfigurationError,
    Plugin,
    parse_configuration,
)
from app.simulator.volcano.scheduler.configuration_file import ConfigurationFile
from app.simulator.volcano.scheduler.policy import Policy

EXAMPLE = """
actions: "enqueue, allocate, backfill, reclaim"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false, enableReclaimable: false}
  - {name: conformance}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack, arguments: {binpack.resources: nvidia.com/gpu, binpack.resources.nvidia.com/gpu: 5}}
"""
"""The file of volcano-facts 7.4, which a real Volcano ran."""


def one_plugin(written: str) -> Configuration:
    return parse_configuration(f"actions: allocate\ntiers:\n- plugins:\n  - {written}\n")


def test_default_is_that_of_the_helm_chart() -> None:
    assert DEFAULT.actions == ("enqueue", "allocate", "backfill")
    names = [[plugin.name for plugin in tier] for tier in DEFAULT.tiers]
    second = ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"]
    assert names == [["priority", "gang", "conformance"], second]
    assert DEFAULT.remarks == ()


def test_example_is_read() -> None:
    read = parse_configuration(EXAMPLE)
    assert read.actions == ("enqueue", "allocate", "backfill", "reclaim")
    assert read.tiers[0][1] == Plugin("gang", {"enablePreemptable": False, "enableReclaimable": False})
    assert read.remarks == ()
    policy = Policy(read)
    assert policy.reclaimable == (("conformance", "proportion"),)
    assert policy.preemptable == (("priority", "conformance"),)
    assert policy.weights.packed == {"cpu": 1.0, "memory": 1.0, "nvidia.com/gpu": 5.0}


def test_flags_that_are_not_written_are_on_but_for_the_hierarchy() -> None:
    plugin = Plugin("drf")
    assert plugin.enabled("enablePreemptable")
    assert not plugin.enabled("enableHierarchy")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "The scheduler's configuration is empty or no mapping of actions and tiers."),
        ("- a", "The scheduler's configuration is empty or no mapping of actions and tiers."),
        ("actions: [", "The scheduler's configuration is no YAML at line 1."),
        ("tiers: []", "actions must be a text with the names of actions, separated by commas."),
        ("actions: [enqueue]", "actions must be a text with the names of actions, separated by commas."),
        ('actions: ""', "There is no action ''"),
        ("actions: enqueue, alocate", "There is no action 'alocate'"),
        ("actions: enqueue\ntiers: {}\n", None),
        ("actions: enqueue\ntiers: gang\n", "The file must give tiers as a list."),
        ("actions: enqueue\ntiers: [gang]\n", "Tier 1 must be a mapping with plugins."),
        ("actions: enqueue\ntiers: [{plugins: [gang]}]\n", "Each plugin of tier 1 must be a mapping with a name."),
        ("actions: enqueue\ntiers: [{plugins: [{name: gang, arguments: 1}]}]\n", "The arguments of gang must be a"),
        (
            "actions: enqueue\ntiers: [{plugins: [{name: gang, enableReclaimable: maybe}]}]\n",
            "enableReclaimable of gang must be true or false.",
        ),
        (
            "actions: enqueue\ntiers: [{plugins: [{name: proportion}, {name: drf, enableHierarchy: true}]}]\n",
            "Tier 1 has proportion and drf with enableHierarchy, which exclude each other.",
        ),
    ],
)
def test_what_is_refused_and_why(text: str, why: str | None) -> None:
    if why is None:
        parse_configuration(text)
        return
    with pytest.raises(ConfigurationError) as refused:
        parse_configuration(text)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("written", "remark"),
    [
        ("{name: nosuch}", "There is no plugin nosuch; it is ignored, as Volcano ignores it."),
        ("{name: sla}", "The plugin sla is not simulated and does nothing."),
        ("{name: gang, enableReclaimble: false}", "There is no flag enableReclaimble of gang in Volcano's format"),
        ("{name: capacity, enableHierarchy: true}", "The flag enableHierarchy of capacity is not simulated"),
        ("{name: predicates, arguments: {predicate.NodePortsEnable: false}}", "The argument predicate.NodePortsEnable"),
        (
            "{name: overcommit, arguments: {overcommit-factor: much}}",
            "The argument overcommit-factor of overcommit has",
        ),
    ],
)
def test_what_does_nothing_is_said(written: str, remark: str) -> None:
    (said,) = one_plugin(written).remarks
    assert said.startswith(remark)


def test_actions_and_fields_that_do_nothing_are_said() -> None:
    remarks = parse_configuration("actions: enqueue, shuffle, gangreclaim\nmetrics: {}\ntier: []\n").remarks
    assert [remark.split(" is not ")[0].split(";")[0] for remark in remarks] == [
        "The field metrics",
        "There is no field tier in Volcano's format",
        "The action shuffle",
        "The action gangreclaim",
    ]


def test_both_books_of_queues_are_a_mistake() -> None:
    text = "actions: allocate\ntiers:\n- plugins:\n  - {name: proportion}\n  - {name: capacity}\n"
    assert any("only capacity is simulated" in remark for remark in parse_configuration(text).remarks)


@pytest.mark.parametrize(("written", "factor"), [("1.5", 1.5), ("2", 2.0), ("0.5", 1.2), ("much", 1.2)])
def test_overcommit_factor(written: str, factor: float) -> None:
    text = f"{{name: overcommit, arguments: {{overcommit-factor: {written}}}}}"
    assert Policy(one_plugin(text)).overcommit_factor == factor


def test_without_plugins_nobody_is_asked(cluster: Any) -> None:
    """Neither a gang nor a share holds anything back; there are no conditions."""
    cluster.configure("actions: allocate\n")
    cluster.queue("q", gpus=2)
    cluster.job("gang", "q", pods=8, gpus=1)
    cluster.settle()
    assert cluster.placed("gang") == 6
    assert "conditions" not in cluster.groups["gang"]["status"]


def test_enqueue_needs_only_the_first_tier_with_an_opinion(cluster: Any) -> None:
    cluster.configure(
        "actions: enqueue\ntiers:\n- plugins:\n  - {name: overcommit}\n- plugins:\n  - {name: proportion}\n"
    )
    cluster.queue("q", gpus=2)
    cluster.job("large", "q", pods=4, gpus=1)
    cluster.settle()
    assert cluster.phase("large") == "Inqueue"


def test_edits_are_noticed_and_wrong_ones_are_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    path.write_text(EXAMPLE)
    watched = ConfigurationFile(path)
    assert not watched.changed()
    path.write_text("actions: allocate\n")
    assert watched.changed()
    assert watched.policy.actions == ("allocate",)
    path.write_text("actions: alocate\n")
    with capture_logs() as logs:
        assert [watched.changed() for _ in range(3)] == [False] * 3
        path.unlink()
        assert not watched.changed()
    assert watched.policy.actions == ("allocate",)
    assert [entry["log_level"] for entry in logs] == ["error", "error"]
    assert logs[0]["why"].startswith("There is no action 'alocate'")


def test_what_does_nothing_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    path.write_text("actions: allocate, shuffle\n")
    with capture_logs() as logs, caplog.at_level(logging.WARNING):
        ConfigurationFile(path)
    assert [entry["part"] for entry in logs] == ["The action shuffle is not simulated and does nothing."]


def test_cluster_does_not_start_with_a_wrong_file(tmp_path: Path) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    path.write_text("actions: alocate\n")
    with pytest.raises(ConfigurationError):
        SimulatedCluster(SimulatorSettings(scheduler_config=path))
