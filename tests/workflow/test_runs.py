"""Whole runs: equal bytes on one core after a kill and on two, and faults that leave
nothing half-written.
"""

import hashlib
import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.workflow.conftest import MODEL, copy_workflow, parse_counts


def digests(folder: Path) -> dict[str, str]:
    """Every file of the results but Snakemake's own time stamps and the record of parameters,
    which has the modification times of the texts.
    """
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file() and path.name not in (".snakemake_timestamp", "parameters.jsonl")
    }


def test_a_killed_run_on_one_core_ends_with_the_bytes_of_a_whole_one_on_two(
    finished_once, tmp_path
):
    killed = copy_workflow(tmp_path / "clone")
    process = killed.start("--cores", "1", start_new_session=True)
    deadline = time.monotonic() + 600  # minutes on a busy machine
    while len(list((killed.folder / "results").glob("vocabularies/*/curve.tsv"))) < 2:
        assert time.monotonic() < deadline, "the run did not get to its second ladder"
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed.folder / "results/report/index.html").exists()

    killed.ran("--unlock")
    killed.ran("--cores", "1")
    assert digests(killed.folder) == digests(finished_once.folder)


def test_ctrl_c_ends_a_run_with_one_line(workflow):
    """Of this project; what Snakemake says of the jobs is in its log file."""
    process = workflow.start(
        "vocabularies",
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (workflow.folder / "logs/vocabularies/compile.log").exists():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=600)[0]
    assert process.returncode != 0 and "Traceback" not in said, said
    after = said[said.index("vocap: interrupted; finished files are kept") :].splitlines()
    assert len(after) <= 5, said
    (log,) = (workflow.folder / ".snakemake/log").iterdir()
    assert "Error in rule compile" in log.read_text("utf-8")
    assert workflow.planned("vocabularies")["ladder"] == 3


def test_a_run_that_does_not_fit_on_the_disk_stops_before_its_first_job(workflow):
    shape = {"layers": 1000, "hidden": 65536, "heads": 64, "intermediate": 262144, "positions": 64}
    workflow.write_config(pretraining={"models": {"vast": {**MODEL, "shape": shape}}})
    said = workflow.refused("pretraining")
    assert re.search(r"results: this run writes about [\d,]+ MB, and [\d,]+ MB are free", said)
    assert not (workflow.folder / "results/corpora/de").exists()


def test_an_allocation_that_follows_parallel_text_reads_it(workflow):
    fair = {"fair": {"total": 500, "rule": "pieces", "token_fairness": 2.0}}
    for lang in ("de", "ru"):
        (workflow.folder / "text" / f"dev-{lang}.txt").write_text("a\nb\n")
    workflow.write_config(allocation=fair, corpora={"development": "text/dev-{lang}.txt"})
    said = workflow.ran("-n", "-p", "results/allocation/fair/allocation.tsv")
    (command,) = re.findall("vocap allocate .*fair.*", said)
    assert "--token-fairness=2.0" in command and "'--development=text/dev-{lang}.txt'" in command


@pytest.mark.parametrize(("name", "kind"), [("results", "file"), ("logs", "link")])
def test_a_place_that_cannot_be_written_is_named_in_one_line(workflow, name, kind):
    path = workflow.folder / name
    if kind == "file":
        path.write_text("in the way")
    else:
        path.symlink_to("nowhere")
    lines = workflow.refused("results/corpora/ja/stats.json").splitlines()
    (said,) = (line for line in lines if "error" in line.lower())
    assert said.startswith(f"vocap: error: {name}: ")


def test_the_papers_grid_is_planned_whole_on_a_fresh_clone(paper_dry_run):
    """Fine-tuning and XLM-R too: one block names the files to fetch, and those that the
    user brings.
    """
    assert "left out" not in paper_dry_run
    lines = paper_dry_run.splitlines()
    assert len(lines) < min(500, sum(parse_counts(paper_dry_run).values()))
    assert any(line.startswith("to bring, planned as if there:") for line in lines[-10:])
    assert re.findall("(?m)^(?:fetched|to bring).*", paper_dry_run) == [
        "fetched: text: cc100 (81 languages), wikipedia (5 languages)",
        "fetched: text for pre-training: wikipedia (86 languages)",
        "fetched: tokenizers: xlm-r",
        "fetched: XTREME, to data/xtreme: xnli, pawsx, udpos, squad, xquad, mlqa, tydiqa",
        "to bring, planned as if there: data/xtreme/panx (docs/finetuning.md)",
    ]
    counts = parse_counts(paper_dry_run)
    assert counts["ladder"] == 86
    assert counts["allocate"] == 5
    assert counts["list_files"] == counts["list_files_pretraining"] == 86
    assert counts["fetch_file"] == 21
    assert counts["pick_joint"] == 2
    assert counts["pretrain"] == 20 and counts["adopt"] == 1
    assert counts["tokenize"] == 8 * 86
    # Table 1: 8 models, 70 runs each; Tables 2 to 4: 4 on 4 tasks, 8 on 3; Figure 5: 4
    # states of 7 models on 2 the correlation study: of 4 languages 30 sizes, 2 tasks, 2
    # rates and 5 seeds
    assert counts["finetune"] == 8 * 70 + 4 * 40 + 8 * 30 + 7 * 4 * 20 + 4 * 30 * 2 * 2 * 5
    assert counts["score"] == 8 * 7 + 4 * 4 + 8 * 3 + 7 * 4 * 2 + 4 * 30 * 2
    assert counts["average"] == 8 + 4 + 8 + 7 * 4
    assert counts["encode"] == 5 * 6 + 3 * 4 + 4 * 30 * 2
