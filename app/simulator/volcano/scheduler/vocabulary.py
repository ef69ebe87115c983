"""The names of Volcano's scheduler configuration (v1.15.1; volcano-facts 5.1), and which of them do something here."""

SIMULATED_ACTIONS = frozenset({"enqueue", "allocate", "preempt", "reclaim", "backfill"})
KNOWN_ACTIONS = SIMULATED_ACTIONS | {"shuffle", "gangpreempt", "gangreclaim"}

SIMULATED_PLUGINS = frozenset(
    {
        "binpack",
        "capacity",
        "conformance",
        "drf",
        "gang",
        "nodeorder",
        "overcommit",
        "predicates",
        "priority",
        "proportion",
    }
)
KNOWN_PLUGINS = SIMULATED_PLUGINS | {
    "cdp",
    "deviceshare",
    "extender",
    "network-topology-aware",
    "nodegroup",
    "numaaware",
    "pdb",
    "rescheduling",
    "resource-strategy-fit",
    "resourcequota",
    "sla",
    "task-topology",
    "tdm",
    "usage",
}

HIERARCHY = "enableHierarchy"
"""The one flag that is off unless written."""
SIMULATED_FLAGS = frozenset(
    {
        "enableJobEnqueued",
        "enableJobOrder",
        "enableJobPipelined",
        "enableJobReady",
        "enableJobStarving",
        "enableNodeOrder",
        "enablePredicate",
        "enablePreemptable",
        "enablePreemptive",
        "enableQueueOrder",
        "enableReclaimable",
        "enableTaskOrder",
        "enabledAllocatable",
        "enabledOverused",
    }
)
KNOWN_FLAGS = SIMULATED_FLAGS | {
    HIERARCHY,
    "enableBestNode",
    "enableReservedNodes",
    "enableTargetJob",
    "enabledClusterOrder",
    "enabledHyperNodeGradient",
    "enabledHyperNodeOrder",
    "enabledSubJobOrder",
    "enabledSubJobPipelined",
    "enabledSubJobReady",
    "enabledVictim",
}

OVERCOMMIT_FACTOR = "overcommit-factor"
BINPACK_RESOURCES = "binpack.resources"
SIMULATED_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "overcommit": (OVERCOMMIT_FACTOR,),
    "nodeorder": ("leastrequested.weight", "mostrequested.weight", "balancedresource.weight"),
    "binpack": ("binpack.weight", "binpack.cpu", "binpack.memory", BINPACK_RESOURCES),
}
"""Arguments by plugin. A name that goes on after the last one of binpack, as `binpack.resources.<name>`, counts too."""
