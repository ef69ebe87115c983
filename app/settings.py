"""Settings of the service; the only place that reads the environment."""

import base64
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

_SCHEMES = frozenset({"postgres", "postgresql", "postgresql+asyncpg"})
_FERNET_KEY_BYTES = 32


class Settings(BaseSettings):
    """Everything that can be set, from `PUMICE_*` variables or a `.env` file. Durations are in seconds."""

    model_config = SettingsConfigDict(env_prefix="PUMICE_", env_file=".env", extra="ignore")

    database_url: SecretStr = Field(
        default=SecretStr("postgresql+asyncpg://postgres@127.0.0.1:5432/pumice"),
        description="Address of Postgres; `postgresql://` is read as `postgresql+asyncpg://`.",
    )
    database_pool_size: int = Field(default=10, ge=1, description="Connections that one process keeps open.")
    database_pool_timeout_seconds: float = Field(
        default=5.0, gt=0, description="How long a request waits for a connection before it is answered with 503."
    )

    host: str = Field(default="127.0.0.1", description="Address that the API listens on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port of the API; 0 takes a free one.")
    metrics_port: int | None = Field(
        default=None, ge=0, le=65535, description="Port for /metrics alone; unset serves it beside the API."
    )
    controller_port: int | None = Field(
        default=None, ge=0, le=65535, description="Port of the controller's own /healthz, /readyz and /metrics."
    )
    root_path: str = Field(default="", description="Path prefix that a proxy in front takes away.")
    max_body_bytes: int = Field(default=1_048_576, ge=1024, description="Largest request body, in bytes.")
    max_bulk_body_bytes: int = Field(
        default=16_777_216, ge=1024, description="Largest body of a bulk submission, in bytes."
    )
    admin_token: SecretStr | None = Field(
        default=None, description="Bootstrap token with the role admin; unset turns it off."
    )

    kubeconfig: Path | None = Field(
        default=None, description="Path of a kubeconfig; unset uses KUBECONFIG, then in-cluster credentials."
    )
    kube_context: str | None = Field(default=None, description="Context of the kubeconfig; unset uses its current one.")

    create_timeout_seconds: float = Field(
        default=15.0, gt=0, description="Limit of one create call to the API server; it is never repeated by itself."
    )
    lease_seconds: float = Field(
        default=120.0, gt=0, description="Lease of a claimed job; must outlive the create timeout of client and server."
    )
    submit_concurrency: int = Field(default=16, ge=1, description="Create calls in flight at the most.")
    release_window: Literal["on", "off"] = Field(
        default="on", description="`off` hands every accepted job to Volcano at once."
    )
    release_window_factor: float = Field(
        default=2.0, gt=0, description="Pending work kept in a queue, as a multiple of its capability in GPUs."
    )
    release_window_jobs: int = Field(
        default=500, ge=1, description="Volcano Jobs not yet running in one queue at most."
    )

    leader_lease_seconds: float = Field(default=15.0, gt=0, description="How long a silent leader stays the leader.")
    sweep_seconds: float = Field(default=60.0, gt=0, description="Time between two sweeps over everything.")
    work_poll_seconds: float = Field(
        default=2.0, gt=0, description="Time between two looks at the work list when no notification comes."
    )
    retention_seconds: float = Field(
        default=600.0, ge=0, description="How long a finished Volcano Job stays in the cluster; its history stays."
    )
    job_ttl_seconds: int = Field(
        default=86_400, ge=60, description="ttlSecondsAfterFinished of every Volcano Job, should the service be away."
    )

    event_poll_seconds: float = Field(
        default=0.2, gt=0, description="Time between two looks for new events while streams are open."
    )
    webhook_allow: list[str] = Field(
        default_factory=list,
        description=(
            "Host names, addresses and CIDR ranges that webhooks may reach although they are not on the public"
            " internet, as a JSON list."
        ),
    )
    webhook_allow_http: bool = Field(default=False, description="Whether webhooks may have http:// addresses.")
    webhook_keys: list[SecretStr] = Field(
        default_factory=list,
        description=(
            "Keys that encrypt the secrets of webhooks in Postgres, as a JSON list of Fernet keys; the first encrypts,"
            " all decrypt. Empty stores them readable."
        ),
    )
    webhooks_per_team: int = Field(default=20, ge=0, description="Webhooks that one team may have.")
    webhook_concurrency: int = Field(
        default=8, ge=1, description="Webhooks that are sent to at the same time; each gets one message at a time."
    )
    webhook_timeout_seconds: float = Field(
        default=15.0, gt=0, description="Limit of one attempt, name look-up included."
    )
    webhook_retry_seconds: list[Annotated[float, Field(ge=0)]] = Field(
        default_factory=lambda: [5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 36_000.0],
        description="Seconds between the attempts to send a message, as a JSON list; there is one attempt more.",
    )
    webhook_rotation_seconds: float = Field(
        default=86_400.0, ge=0, description="How long the previous secret of a webhook signs beside a new one."
    )
    webhook_disable_seconds: float = Field(
        default=432_000.0, gt=0, description="A webhook at which every attempt has failed for so long is turned off."
    )
    webhook_delivered_seconds: float = Field(
        default=259_200.0, ge=0, description="How long a delivered message stays in the list of deliveries."
    )
    webhook_dead_seconds: float = Field(
        default=2_592_000.0, ge=0, description="How long a message that was given up stays in the list of deliveries."
    )
    log_max_bytes: int = Field(
        default=67_108_864, ge=1024, description="Where the log of a job is cut, unless it is followed; in bytes."
    )
    log_max_pods: int = Field(
        default=32, ge=1, le=1000, description="Pods whose logs one request shows together; above it has to choose."
    )
    log_max_streams: int = Field(
        default=500, ge=1, description="Logs of pods that one api process has open; above it requests get 503."
    )
    kept_log_lines: int = Field(
        default=200, ge=0, le=10_000, description="Last lines of each ended pod's log that are kept; 0 keeps none."
    )
    kept_log_bytes: int = Field(
        default=65_536, ge=256, le=1_048_576, description="Largest kept end of one pod's log, in bytes."
    )
    kept_log_job_bytes: int = Field(
        default=4_194_304, ge=256, description="Kept ends of all pods of one job together at most, in bytes."
    )

    log_format: Literal["json", "console"] = Field(default="console", description="Form of the log lines.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Least level logged.")
    failpoints: list[str] = Field(
        default_factory=list, description="Failpoints that kill the process; for crash tests only.", exclude=True
    )

    priorities: dict[str, str | None] = Field(
        default_factory=lambda: {"low": "low", "normal": None, "high": "high"},
        description=(
            "Names that jobs use for `priority`, lowest first, each with its Kubernetes PriorityClass; null leaves the"
            " class to the cluster, so that ordinary jobs run where no class was made."
        ),
    )
    default_priority: str = Field(default="normal", description="Priority of a job that names none.")

    @field_validator("database_url")
    @classmethod
    def _is_an_address_of_postgres(cls, given: SecretStr) -> SecretStr:
        try:
            scheme = make_url(given.get_secret_value()).drivername
        except ArgumentError:
            scheme = ""
        if scheme not in _SCHEMES:
            raise PydanticCustomError("database-url", "it has the form postgresql://user:password@host:port/database")
        return given

    @field_validator("webhook_keys")
    @classmethod
    def _are_fernet_keys(cls, given: list[SecretStr]) -> list[SecretStr]:
        for key in given:
            try:
                size = len(base64.urlsafe_b64decode(key.get_secret_value()))
            except ValueError:
                size = 0
            if size != _FERNET_KEY_BYTES:
                raise PydanticCustomError("fernet-key", "a key is 32 bytes in URL-safe base64")
        return given

    @model_validator(mode="after")
    def _default_priority_exists(self) -> Self:
        if self.default_priority not in self.priorities:
            raise ValueError(f"default_priority must be one of priorities: {', '.join(self.priorities)}")
        return self

    @property
    def async_database_url(self) -> str:
        """The database address with the asyncpg driver named."""
        url = self.database_url.get_secret_value()
        scheme, separator, rest = url.partition("://")
        return f"postgresql+asyncpg{separator}{rest}" if scheme in {"postgres", "postgresql"} else url


class KubernetesEnvironment(BaseSettings):
    """What Kubernetes' own tools read: where `kubectl` looks, and what a pod is told of its API server."""

    model_config = SettingsConfigDict(extra="ignore")

    kubeconfig: str | None = Field(default=None, description="Paths of kubeconfigs, as `kubectl` takes them.")
    kubernetes_service_host: str | None = Field(default=None, description="Set in every pod.")
