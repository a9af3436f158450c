"""The smoke workflow, up to its models, through sbatch: SLURM's records of it, and the
bytes of one machine.
"""

import re

import pytest

from tests.cluster.slurm import ClusterRuns, digests
from tests.workflow.conftest import copy_workflow
from vocap.forecast.needs import needs_of

SMOKE = "config/smoke.yaml"
# with all before them; fine-tuning would be many more jobs of a kind
STAGES = ("tokenizers", "pretraining")
# Run where Snakemake does:
HERE = {"compile", "fetch_starter", "merge_starter", "weigh", "pick_joint", "mono", *STAGES}


# Hold seconds and tokens a second, or the name of a process: what no two runs have in
# common.
TIMED = (
    "metrics.jsonl",
    "checkpoints/lock",
    "report/index.html",
    "tables/models.",
    "figures/exact-loss-time.",
)


def lasting(found: dict[str, str]) -> dict[str, str]:
    """Of the digests, those of results without measured times."""
    return {
        path: digest for path, digest in found.items() if not any(name in path for name in TIMED)
    }


def asked(details: str) -> dict[str, str]:
    """What a job was given, from `scontrol show job`."""
    found = dict(re.findall(r"(Partition|NumCPUs|NumNodes|TimeLimit|TRES)=(\S+)", details))
    return found | dict(re.findall(r"(mem)=(\w+)", found.pop("TRES")))


@pytest.mark.cluster
def test_the_smoke_workflow_goes_through_sbatch(cluster, tmp_path):
    alone = copy_workflow(tmp_path / "alone")
    alone.ran(*STAGES, "--configfile", SMOKE)
    runs = ClusterRuns(copy_workflow(tmp_path / "cluster" / "clone"))
    planned = runs.workflow.planned(*STAGES, "--configfile", SMOKE)
    runs.start(*STAGES, config=SMOKE).succeed(900)
    assert lasting(runs.digests()) == lasting(digests(alone.folder))

    needed = needs_of("ladder").memory_mb
    folder = runs.folder
    for rule, count in planned.items():
        states = cluster.states(rule, folder)
        assert states == ["COMPLETED"] * (0 if rule in HERE else count), rule
    assert len(cluster.records(folder)) == sum(
        count for rule, count in planned.items() if rule not in HERE
    )

    for job in cluster.jobs("fit", folder):
        given = asked(job.details)
        assert [given[key] for key in ("NumNodes", "NumCPUs", "TimeLimit")] == [
            "1",
            "1",
            "00:30:00",
        ]
    for job in cluster.jobs("ladder", folder):
        text = folder / "results/smoke/corpora" / job.comment.rpartition("_")[2]
        megabytes = sum((text / name).stat().st_size for name in ("train.txt", "heldout.txt")) / 1e6
        assert (
            asked(job.details)["mem"] == f"{int(350 + needed.fixed + needed.factor * megabytes)}M"
        )
        assert (asked(job.details)["Partition"], job.node[:3]) == ("cpu", "cpu")
    for job in cluster.jobs("pretrain", folder):
        found = asked(job.details)
        assert [found[key] for key in ("Partition", "NumCPUs", "TimeLimit")] == [
            "gpu",
            "2",
            "1-00:00:00",
        ]
        assert job.gpus == 1
        assert job.node.startswith("gpu")


@pytest.mark.cluster
def test_a_partition_that_is_not_there_ends_a_run_before_its_first_job(cluster, runs):
    run = runs.start("allocation", "--default-resources", "slurm_partition=nowhere")
    assert run.wait(120) == 2
    assert "the cluster has no partition nowhere, but cpu, gpu, preemptible; correct" in run.text()
    assert not cluster.records(runs.folder)
