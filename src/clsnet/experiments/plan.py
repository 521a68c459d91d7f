"""What has to be computed for some experiments, sequence by sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clsnet.data import Report, TaskSequence, load_sequence
from clsnet.errors import ClsnetError
from clsnet.evaluation.harness import Job, network_digest
from clsnet.experiments.needs import Key, Measurement, Needed, Needs
from clsnet.experiments.networks import network_of
from clsnet.methods import check_options, get_method


@dataclass(frozen=True)
class Group:
    """All that is needed of one sequence, or of its stand-ins."""

    sequences: tuple[str, ...]
    runs: list[Needed] = field(default_factory=list)
    measurements: dict[str, Measurement] = field(default_factory=dict)

    @property
    def keys(self) -> list[Key]:
        """What tells all this apart."""
        measured = [one.key for one in self.measurements.values()]
        return [run.key for run in self.runs] + measured


@dataclass(frozen=True)
class Plan:
    """Jobs on one sequence by what needs them, and why others cannot be run."""

    sequence: TaskSequence
    jobs: dict[Key, list[Job]]
    problems: dict[Key, str]


def grouped(needs: Sequence[Needs]) -> Iterator[Group]:
    """Yield what several experiments need, so that what two of them need is done once."""
    groups: dict[tuple[str, ...], Group] = {}
    for need in needs:
        for run in need.runs:
            names = tuple(run.sequences)
            groups.setdefault(names, Group(names)).runs.append(run)
        for one in need.measurements:
            names = (one.sequence,)
            groups.setdefault(names, Group(names)).measurements[one.name] = one
    yield from groups.values()


def first_there(names: Sequence[str], data: Path | None, report: Report) -> TaskSequence:
    """Return the first sequence whose data is there, or say what to put where."""
    problems = []
    for name in names:
        try:
            return load_sequence(name, data, report)
        except ClsnetError as error:
            problems.append(str(error).removesuffix("."))
    raise ClsnetError("; ".join(problems))


def plan_jobs(group: Group, sequence: TaskSequence, out: Path, data: Path | None) -> Plan:
    """Return the jobs of a group; a method that cannot be run does not stop the others.

    Parameters
    ----------
    group
        What is needed.
    sequence
        Where.
    out
        Where runs and networks are kept.
    data
        As for `load_sequence`.
    """
    plan = Plan(sequence, {}, {})
    for needed in group.runs:
        try:
            jobs = _jobs(needed, sequence, out, data)
            for job in jobs:
                job.stored(sequence)  # one of another version is a reason, too
        except ClsnetError as error:
            plan.problems[needed.key] = str(error).removesuffix(".")
        else:
            plan.jobs[needed.key] = [*plan.jobs.get(needed.key, ()), *jobs]
    return plan


def _jobs(needed: Needed, sequence: TaskSequence, out: Path, data: Path | None) -> list[Job]:
    method, jobs = get_method(needed.method), []
    for seed in needed.seeds:
        backbone = needed.network and network_of(needed.network, sequence, seed, out, data)
        options = {**needed.options, **({"backbone": backbone} if backbone else {})}
        check_options(method, options, needed.preset)
        seeing = backbone or method.presets
        digest = network_digest(backbone or "auto", sequence) if seeing else None
        jobs += needed.jobs(out, seed, backbone, digest)
    return jobs
