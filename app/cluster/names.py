"""Names that Pumice and Volcano write on objects: labels, annotations and the finalizer."""

JOB_ID_LABEL = "pumice.dev/job-id"
"""The id of the job's row, on the Volcano Job and on its pods."""

INSTALLATION_LABEL = "pumice.dev/installation-id"
"""Which Pumice made the object: two installations may share a cluster."""

TEAM_LABEL = "pumice.dev/team"

RECORDED_FINALIZER = "pumice.dev/recorded"
"""Keeps a Job in the cluster until its end is committed to Postgres."""

TURN_GATE = "pumice.dev/turn"
"""The scheduling gate of pods whose turn Pumice decides (Kubernetes, "Pod Scheduling Readiness")."""

INDEX_ANNOTATION = "pumice.dev/index"
"""Which index of its task a pod runs; set when its gate is taken off, and never changed after that."""

PROGRESS_ANNOTATION = "pumice.dev/progress"
"""How far a worker says that its pod is: `done/total`."""

VOLCANO_JOB_NAME_LABEL = "volcano.sh/job-name"
VOLCANO_TASK_LABEL = "volcano.sh/task-spec"
VOLCANO_TASK_INDEX_LABEL = "volcano.sh/task-index"

# Only annotations hold these two (volcano-facts 2.10, Volcano v1.15.1); task and index are there as well.
VOLCANO_JOB_VERSION_ANNOTATION = "volcano.sh/job-version"
VOLCANO_RETRY_COUNT_ANNOTATION = "volcano.sh/job-retry-count"
