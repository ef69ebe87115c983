"""The table of a benchmark run: figures with their ratio, and the target that each ratio has."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One measured figure. `floor` is what it is compared with in the same run."""

    what: str
    figure: str
    floor: str = ""
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


def at_least(what: str, figure: float, floor: float, target: float, *, unit: str, floor_name: str) -> Line:
    """A figure whose ratio to its floor has to reach a target."""
    ratio = figure / floor
    return Line(
        what, f"{figure:,.0f} {unit}", f"{floor:,.0f} {floor_name}", ratio, f"at least {target:.2f}", ratio >= target
    )


def below(what: str, figure: float, limit: float, *, unit: str) -> Line:
    """A figure that has to stay below a limit."""
    return Line(what, f"{figure:,.1f} {unit}", target=f"under {limit:,.0f} {unit}", met=figure < limit)


def shown(what: str, figure: float, *, unit: str) -> Line:
    """A figure without a target."""
    return Line(what, f"{figure:,.1f} {unit}")


def render(lines: list[Line]) -> str:
    """The lines as a Markdown table."""
    rows = ["| what | measured | compared with | ratio | target | met |", "| --- | --- | --- | --- | --- | --- |"]
    for line in lines:
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        met = {None: "", True: "yes", False: "no"}[line.met]
        rows.append(f"| {line.what} | {line.figure} | {line.floor} | {ratio} | {line.target} | {met} |")
    return "\n".join(rows)
