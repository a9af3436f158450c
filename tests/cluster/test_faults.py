"""What clusters do to jobs: after each fault the run ends by itself, with the bytes of
an undisturbed run.

Where the fault could hit a later job, of another rule, the target is the allocation; a
second job takes 40 s more, most of them until Snakemake asks for its state.
"""

import shutil
import signal
import subprocess
import time

import pytest

from tests.cluster.slurm import command, send, wait_until

MEMORY_WATCH_SECONDS = 2  # JobAcctGatherFrequency of slurm-cluster


def ask_of_ladder(runs, megabytes: int, minutes: int) -> None:
    """Change what the first attempt of the rule asks for."""
    rules = runs.folder / "rules/vocabularies.smk"
    asked = {"mem_mb": megabytes, "runtime": minutes}
    words = ", ".join(
        f"{name}=lambda wildcards, attempt: {value} * attempt" for name, value in asked.items()
    )
    old, text = '**needs(f"ladder{batch.suffix}")', rules.read_text("utf-8")
    assert text.count(old) == 1
    rules.write_text(text.replace(old, words), "utf-8")


@pytest.mark.cluster
def test_a_job_cancelled(cluster, runs, fault):
    run, job = fault.holds("vocabularies")
    fault.strikes("scancel of the running job")
    command("scancel", job.id)
    fault.waits_for("CANCELLED")
    runs.release("ladder@ru")
    fault.is_over(run, "CANCELLED, submitted again, COMPLETED", "CANCELLED", "COMPLETED")


@pytest.mark.faults
def test_a_job_killed_with_its_results_written(cluster, runs, fault):
    run, job = fault.holds("vocabularies", place="ladder@ru.after")
    curve = runs.folder / "results/vocabularies/ru/curve.tsv"
    wait_until(curve.exists, 300, "the curve is written")
    curve.write_text("half")
    fault.strikes("kill -9 of all processes of the running job, one of its outputs cut to half")
    send(signal.SIGKILL, cluster.processes(job.id))
    runs.release("ladder@ru.after")
    fault.is_over(run, "FAILED, submitted again, COMPLETED", "FAILED", "COMPLETED")


@pytest.mark.faults
def test_a_node_without_power(cluster, runs, fault):
    run, job = fault.holds("allocation")
    fault.strikes(
        "kill -9 of a node's daemon and of all processes of its jobs; SLURM notices by itself"
    )
    cluster.cut_power(job.node, [job.id])
    fault.waits_for("NODE_FAIL")
    runs.release("ladder@ru")
    fault.is_over(run, "NODE_FAIL, submitted again, COMPLETED on the other node")
    again = fault.jobs()[-1]
    assert again.state == "COMPLETED"
    assert again.node != job.node


@pytest.mark.faults
def test_all_nodes_drained_then_down_then_resumed(cluster, runs, fault):
    run, job = fault.holds("allocation")
    runs.wait_until_held(job.id)
    fault.strikes(
        "state=drain and then state=down of all nodes; state=resume once a job waits for them"
    )
    cluster.set_nodes("cpu[1-2]", "drain")
    assert fault.states() == ["RUNNING"]
    cluster.set_nodes("cpu[1-2]", "down")
    wait_until(lambda: fault.states() == ["NODE_FAIL", "PENDING"], 300, "a job waits")
    runs.release("ladder@ru")
    wait_until(lambda: not cluster.steps(job.id), 60, "the node ends the job that it had")
    cluster.set_nodes("cpu[1-2]", "resume")
    fault.is_over(
        run,
        "NODE_FAIL, submitted again, PENDING until a node is back, COMPLETED",
        "NODE_FAIL",
        "COMPLETED",
    )


@pytest.mark.faults
def test_ctrl_c_with_a_job_on_a_drained_node(cluster, runs, fault):
    first, job = fault.holds("vocabularies")
    runs.wait_until_held(job.id)
    fault.strikes("state=drain of all nodes; Ctrl-C; state=resume; the same command")
    cluster.set_nodes("cpu[1-2]", "drain")
    first.interrupt()
    assert first.wait(120) == 1
    fault.waits_for("CANCELLED", seconds=60)
    wait_until(lambda: not cluster.steps(job.id), 60, "the job's processes end")
    runs.release("ladder@ru")
    cluster.set_nodes("cpu[1-2]", "resume")
    fault.is_over(
        runs.start("vocabularies"),
        "CANCELLED within seconds; the second run submits it again",
        "CANCELLED",
        "COMPLETED",
    )


@pytest.mark.faults
def test_a_node_back_after_the_run_with_its_copy_of_a_job(cluster, runs, fault):
    """Told to end, the copy takes the results back, through the Snakemake on its
    node.
    """
    first, job = fault.holds("allocation", place="ladder@ru.after")
    runs.wait_until_held(job.id)
    fault.strikes("a node and its job stopped (SIGSTOP), continued when the run has ended")
    thaw = cluster.freeze(job.node, [job.id])
    try:
        fault.waits_for("NODE_FAIL")
        runs.release("ladder@ru.after")
        first.succeed()
        assert fault.states() == ["NODE_FAIL", "COMPLETED"]
        assert runs.digests() == fault.undisturbed[first.target]
        runs.hold("ladder@ru.after")
    finally:
        thaw()
    wait_until(lambda: not cluster.steps(job.id), 120, "the node ends the job that it had")
    assert runs.digests().items() <= fault.undisturbed[first.target].items(), (
        "results are missing at most"
    )
    runs.release("ladder@ru.after")
    second = runs.start("allocation", "-R", "results/vocabularies/ru/curve.tsv")
    fault.is_over(
        second, "NODE_FAIL, COMPLETED on the other node; results removed, and made again with -R"
    )


@pytest.mark.cluster
def test_a_job_over_its_memory(cluster, runs, fault):
    """A process of 800 MB asks for 600 MB, and is killed; the retry asks for 1,200, and
    is not.
    """
    ask_of_ladder(runs, 600, 30)
    runs.hold("ladder@ru", takes_mb=800)
    run = runs.start("vocabularies")
    fault.running()
    fault.strikes("the job takes 800 MB and has asked for 600")
    fault.waits_for("FAILED", "OUT_OF_MEMORY")
    again = fault.running()
    wait_until(lambda: runs.took(again.id), 300, "the retry has taken the memory")
    time.sleep(3 * MEMORY_WATCH_SECONDS)
    runs.release("ladder@ru")
    fault.is_over(run, "FAILED, submitted again with twice the memory")
    first, second = fault.jobs()
    assert (
        "exceeded memory limit"
        in next((runs.folder / ".snakemake").rglob(f"{first.id}.log")).read_text()
    )
    assert ["mem=600M" in first.details, "mem=1200M" in second.details] == [True, True]
    assert second.state == "COMPLETED"


@pytest.mark.faults
def test_a_job_over_its_time_in_its_last_attempt(cluster, runs, fault):
    ask_of_ladder(runs, 680, 1)
    first, job = fault.holds("vocabularies", "--retries", "0")
    fault.strikes(
        "the job's runtime, 1 minute, is too short, and no retry is left; the same command again"
    )
    assert first.wait(300) == 1
    said = [
        line for line in first.text().splitlines() if f"'{job.id}'" in line and "TIMEOUT" in line
    ]
    assert len(said) == 1
    log = next((runs.folder / ".snakemake").rglob(f"{job.id}.log"))
    assert str(log) in first.text()
    assert "DUE TO TIME LIMIT" in log.read_text()
    runs.release("ladder@ru")
    fault.is_over(
        runs.start("vocabularies"),
        "TIMEOUT, the run ends with status 1; the second run goes on",
        "TIMEOUT",
        "COMPLETED",
    )


@pytest.mark.cluster
def test_the_controller_restarted(cluster, runs, fault):
    run, job = fault.holds("allocation")
    fault.strikes("slurmctld stopped, and started again 20 s later; the job ends meanwhile")
    cluster.stop_controller()
    runs.release("ladder@ru")
    time.sleep(20)
    cluster.start()
    fault.is_over(run, "the job goes on, the run waits")
    assert [later.id for later in fault.jobs()] == [job.id]


@pytest.mark.cluster
def test_snakemake_killed_and_started_again(cluster, runs, fault):
    first, job = fault.holds("vocabularies")
    fault.strikes("kill -9 of Snakemake; --unlock; started again while its job runs on")
    first.kill()
    assert job.id in {left.id for left in fault.jobs() if left.state == "RUNNING"}
    runs.workflow.ran("--unlock")
    second = runs.start("vocabularies")
    fault.waits_for("CANCELLED")
    runs.release("ladder@ru")
    fault.is_over(
        second,
        "the second run cancels the job that was left, and submits it again",
        "CANCELLED",
        "COMPLETED",
    )
    assert "cancelling" in second.text()
    assert second.text().count("Building DAG of jobs") == 2, "it starts over"


@pytest.mark.faults
def test_two_copies_of_a_job_at_once(cluster, runs, fault):
    """As above, where the leftovers are not cancelled: SLURM was not to be asked when
    the second run began.
    """
    shutil.rmtree(runs.folder / "results/vocabularies/de")  # to be made again
    runs.hold("ladder@ru")
    runs.hold("ladder@de.after")
    first = runs.start("vocabularies")
    fault.running()
    wait_until(
        (runs.folder / "results/vocabularies/de/curve.tsv").exists, 300, "the other has written"
    )
    fault.strikes("as above, but squeue fails as the second run begins: nothing is cancelled")
    first.kill()
    runs.workflow.ran("--unlock")
    runs.hold("no-status")
    second = runs.start("vocabularies")
    wait_until(
        lambda: "may still be running" in second.text(), 300, "the run says that squeue failed"
    )
    runs.release("no-status")
    wait_until(
        lambda: cluster.states("ladder", runs.folder).count("RUNNING") == 4,
        300,
        "two copies of each",
    )
    runs.release("ladder@de.after")
    runs.release("ladder@ru")
    fault.is_over(second, "both copies run to their end and write the same files, each whole")
    assert cluster.states("ladder", runs.folder) == ["COMPLETED"] * 4


@pytest.mark.cluster
def test_a_full_disk(cluster, runs, fault):
    """The folder of one language is a file system of 16 KiB, until its job has
    failed.
    """
    small = runs.folder / "results/vocabularies/ru"
    small.mkdir(parents=True)
    try:
        command("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no file system may be mounted here: {error.stderr.strip()}")
    try:
        run = runs.start("vocabularies")
        fault.strikes(
            "the folder that a job writes to is a full file system, enlarged once the job has "
            "failed"
        )
        fault.waits_for("FAILED")
        assert not (small / "curve.tsv").exists()
        command("mount", "-o", "remount,size=50m", small)
        fault.is_over(run, "FAILED with 'No space left on device', submitted again, COMPLETED")
        assert "No space left on device" in run.text()
    finally:
        command("umount", small)
