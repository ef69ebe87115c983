"""Who calls, with which role. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from app.errors import Forbidden, NotFound


class Role(StrEnum):
    """Roles from least to most; an admin belongs to no team."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    MANAGER = "manager"
    ADMIN = "admin"


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. `team` is None for administrators only."""

    subject: str
    role: Role
    team: str | None = None

    @property
    def is_admin(self) -> bool:
        """Whether the caller administers the whole installation."""
        return self.role is Role.ADMIN

    def require(self, role: Role) -> None:
        """Raise `Forbidden` unless the caller has at least this role."""
        if _RANK[self.role] < _RANK[role]:
            raise Forbidden(f"This needs the role {role}; the token has the role {self.role}.")

    def require_in(self, team: str, role: Role) -> None:
        """Raise `NotFound` for another team, so that its existence is not told, and `Forbidden` for too low a role."""
        if not self.is_admin and self.team != team:
            raise NotFound("There is no such team, or the token does not belong to it.")
        self.require(role)
