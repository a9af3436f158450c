"""The simulated scheduler against cases worked out by hand, and against the bounds of every schedule."""

import math

from hypothesis import given
from hypothesis import strategies as st

from vocap.plan.jobs import Job, longest_chain, simulate


def job(name, *after, threads=1, priority=0, local=False):
    return Job("rule", name, {}, after, (), threads, priority, local)


def run(jobs, seconds, cores, **options):
    return simulate(jobs, seconds, dict.fromkeys(seconds, 1.0), cores, **options)


def test_two_chains_on_one_and_two_cores():
    jobs = [job("a"), job("b", "a"), job("c"), job("d", "c")]
    seconds = {"a": 1, "b": 2, "c": 4, "d": 1}
    assert run(jobs, seconds, 1).wall_s == 8
    assert run(jobs, seconds, 2).wall_s == 5
    assert run(jobs, seconds, 2).longest_chain_s == 5
    assert run(jobs, seconds, 2).memory_mb == 2


def test_a_job_of_two_threads_waits_for_two_cores_and_one_core_runs_it_alone():
    jobs = [job("a"), job("b", threads=2), job("c")]
    seconds = {"a": 3, "b": 5, "c": 3}
    assert run(jobs, seconds, 2).wall_s == 3 + 5  # a and c, then b
    assert run(jobs, seconds, 1).wall_s == 11
    assert run(jobs, seconds, 1, places=2).wall_s == 6  # on a cluster: c follows a


def test_priority_goes_first_and_submissions_lie_apart():
    jobs = [job("a"), job("b", priority=1), job("c", "b")]
    seconds = {"a": 10, "b": 1, "c": 10}
    assert run(jobs, seconds, 1).wall_s == 21
    assert run(jobs, {"a": 2, "b": 2, "c": 0}, 1, places=9, submit_s=5).wall_s == 10  # b at 0, a at 5, c at 10


def test_light_jobs_take_cores_while_the_others_take_places():
    jobs = [job("a"), job("b"), job("c", local=True), job("d", local=True)]
    seconds = {"a": 4, "b": 4, "c": 3, "d": 3}
    assert run(jobs, seconds, 1, places=2).wall_s == 6
    assert run(jobs, seconds, 2, places=1).wall_s == 8


def test_trainings_on_a_gpu_follow_one_another_but_on_a_cluster():
    jobs = [Job("rule", name, {"gpu": float(name != "c")}) for name in "abc"]
    seconds = {"a": 5, "b": 5, "c": 5}
    assert run(jobs, seconds, 16).wall_s == 10
    assert run(jobs, seconds, 16, gpus=2).wall_s == 5
    assert run(jobs, seconds, 1).wall_s == 15
    assert run(jobs, seconds, 16, places=3).wall_s == 5


def test_nothing_to_do():
    assert run([], {}, 2).wall_s == 0


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 12))
    jobs = [
        job(str(index), *(str(other) for other in range(index) if draw(st.integers(0, 3)) == 0))
        for index in range(count)
    ]
    return jobs, {job.name: draw(st.integers(0, 20)) for job in jobs}, draw(st.integers(1, 4))


@given(graphs())
def test_between_the_bounds_of_every_greedy_schedule(graph):
    """Graham's bound (1966): no idle core while a job is ready means at most work / cores + the longest chain."""
    jobs, seconds, cores = graph
    wall, work, chain = run(jobs, seconds, cores).wall_s, sum(seconds.values()), longest_chain(jobs, seconds)
    assert max(chain, work / cores) <= wall + 1e-9
    assert wall <= work / cores + chain * (1 - 1 / cores) + 1e-9
    assert run(jobs, seconds, 1).wall_s == work
    assert math.isclose(run(jobs, seconds, len(jobs)).wall_s, chain)
