import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import JobNeverFits, QuotaExceeded
from app.teams.quota import JOB_COUNT, Limit, Quota, QuotaVerdict, available, check

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.5gb"

amounts = st.integers(min_value=0, max_value=20)
limits = st.builds(Limit, per_job=st.none() | amounts, outstanding=st.none() | amounts)
resources = st.sampled_from([GPU, MIG, "amd.com/gpu"])
quotas = st.builds(Quota, limits=st.dictionaries(resources, limits), max_jobs=st.none() | amounts)
charges = st.dictionaries(resources | st.sampled_from(["cpu", "memory"]), amounts)
usages = st.dictionaries(resources | st.just(JOB_COUNT), amounts)


def test_a_job_that_fills_the_quota_exactly_fits() -> None:
    quota = Quota({GPU: Limit(per_job=4, outstanding=8)}, max_jobs=3)
    assert check(quota, {GPU: 4, JOB_COUNT: 2}, {GPU: 4, "cpu": 64}).verdict is QuotaVerdict.FITS


def test_one_card_too_many_is_exceeded_with_the_numbers() -> None:
    decision = check(Quota({GPU: Limit(outstanding=8)}), {GPU: 6}, {GPU: 3})
    error = decision.refusal()
    assert isinstance(error, QuotaExceeded)
    assert error.extras == {"resource": GPU, "limit": 8, "used": 6, "requested": 3}
    assert "3 nvidia.com/gpu while 6 of 8 are in use" in error.detail


def test_above_the_limit_of_one_job_never_fits() -> None:
    error = check(Quota({GPU: Limit(per_job=4, outstanding=16)}), {}, {GPU: 5}).refusal()
    assert isinstance(error, JobNeverFits)
    assert error.extras == {"resource": GPU, "limit": 4, "requested": 5}


def test_above_everything_outstanding_never_fits_however_much_is_free() -> None:
    assert check(Quota({GPU: Limit(outstanding=4)}), {}, {GPU: 5}).verdict is QuotaVerdict.NEVER


def test_a_resource_without_an_entry_is_not_allowed() -> None:
    decision = check(Quota({GPU: Limit()}), {}, {MIG: 1, GPU: 100})
    assert decision.verdict is QuotaVerdict.NEVER
    assert [(s.resource, s.limit, s.requested) for s in decision.shortages] == [(MIG, 0, 1)]


def test_names_of_resources_are_case_sensitive() -> None:
    assert check(Quota({GPU: Limit()}), {}, {"NVIDIA.com/GPU": 1}).verdict is QuotaVerdict.NEVER


def test_a_team_without_a_quota_runs_jobs_without_gpus_only() -> None:
    assert check(Quota(), {}, {"cpu": 4, "memory": 1 << 40, GPU: 0}).verdict is QuotaVerdict.FITS
    assert check(Quota(), {}, {GPU: 1}).verdict is QuotaVerdict.NEVER


def test_every_resource_that_is_short_is_in_the_sentence() -> None:
    quota = Quota({GPU: Limit(outstanding=8), MIG: Limit(outstanding=2)}, max_jobs=1)
    decision = check(quota, {GPU: 8, MIG: 2, JOB_COUNT: 1}, {MIG: 1, GPU: 2})
    assert [s.resource for s in decision.shortages] == [GPU, MIG, JOB_COUNT]
    assert all(text in decision.sentence for text in (GPU, MIG, "1 more job while 1 of 1"))


def test_no_jobs_allowed_is_never() -> None:
    assert check(Quota(max_jobs=0), {}, {}).verdict is QuotaVerdict.NEVER


def test_a_job_that_fits_has_no_refusal() -> None:
    with pytest.raises(ValueError, match="fits"):
        check(Quota(), {}, {}).refusal()


@given(quotas, usages, charges)
def test_what_fits_is_within_every_limit_and_what_does_not_is_above_one(
    quota: Quota, used: dict[str, int], asked: dict[str, int]
) -> None:
    decision = check(quota, used, asked)
    fits = quota.max_jobs is None or used.get(JOB_COUNT, 0) < quota.max_jobs
    for resource, amount in asked.items():
        if amount == 0 or "/" not in resource:
            continue
        limit = quota.limits.get(resource, Limit(per_job=0))
        fits &= limit.per_job is None or amount <= limit.per_job
        fits &= limit.outstanding is None or used.get(resource, 0) + amount <= limit.outstanding
    assert (decision.verdict is QuotaVerdict.FITS) == fits
    assert bool(decision.shortages) == bool(decision.sentence) == (not fits)


@given(quotas, usages, charges)
def test_never_depends_on_the_job_and_the_limits_alone(
    quota: Quota, used: dict[str, int], asked: dict[str, int]
) -> None:
    empty = check(quota, {}, asked)
    assert (check(quota, used, asked).verdict is QuotaVerdict.NEVER) == (empty.verdict is QuotaVerdict.NEVER)
    assert empty.verdict is not QuotaVerdict.EXCEEDED


@given(quotas, usages, charges, resources, amounts)
def test_more_in_use_never_makes_a_job_fit(
    quota: Quota, used: dict[str, int], asked: dict[str, int], resource: str, more: int
) -> None:
    if check(quota, used, asked).verdict is not QuotaVerdict.FITS:
        grown = used | {resource: used.get(resource, 0) + more}
        assert check(quota, grown, asked).verdict is not QuotaVerdict.FITS


@given(st.none() | amounts, amounts)
def test_what_is_available_is_never_negative(limit: int | None, used: int) -> None:
    left = available(limit, used)
    assert (left is None) == (limit is None)
    assert left is None or left >= 0
