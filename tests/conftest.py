"""For all tests: which of them are slow, and which run on one worker."""

import fcntl
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import settings

# A busy machine may leave any test waiting for a second: how long an example takes is
# no fault of the code.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# Clients of SLURM, of which Snakemake's plugin calls one as it is imported, wait up to
# 20 seconds for a controller that is down; without a configuration they fail at once.
os.environ["SLURM_CONF"] = os.devnull  # not in tests/cluster

ROOT = Path(__file__).parent

# Modules and folders that run Snakemake, a browser or many commands, or train models:
# they get the marker `slow`. The other tests together stay below two minutes on two
# cores; `pytest --durations=20` names the longest.
SLOW = {
    "adapt",
    "allocation/test_command.py",
    "allocation/test_pieces_command.py",
    "allocation/test_rules.py",
    "allocation/test_solution.py",
    "allocation/test_token_fairness.py",
    "bpe/test_cuts.py",
    "bpe/test_tiktoken.py",
    "cluster",
    "corpora/test_commands.py",
    "files/test_files_and_tables.py",
    "files/test_plain_data.py",
    "finetuning/test_heads.py",
    "finetuning/test_inputs.py",
    "finetuning/test_offsets.py",
    "finetuning/test_runs.py",
    "init",
    "pretraining/test_causal.py",
    "pretraining/test_gpu_benchmark.py",
    "pretraining/test_index.py",
    "pretraining/test_interruptions.py",
    "pretraining/test_own_layout.py",
    "pretraining/test_precision.py",
    "pretraining/test_runs.py",
    "pretraining/test_tokenizing.py",
    "report",
    "starter/test_fetching.py",
    "starter/test_packages.py",
    "starter/test_parallel.py",
    "storage/test_clients.py",
    "storage/test_faults.py",
    "storage/test_init.py",
    "test_added_rule_and_kind.py",
    "test_command_line.py",
    "test_extensions.py",
    "test_extras.py",
    "test_interruption.py",
    "text_files/test_one_reader.py",
    "text_files/test_parquet.py",
    "tokenizer_files/test_export.py",
    "tokenizers/test_fitting.py",
    "tokenizers/test_joint.py",
    "tokenizers/test_lossless.py",
    "tokenizers/test_mono.py",
    "tokenizers/test_own_layout.py",
    "training/test_devices.py",
    "training/test_ranks.py",
    "unigram/test_against_sentencepiece.py",
    "unigram/test_command.py",
    "unigram/test_sentencepiece_trainer.py",
    "vocabularies",
    "workflow",
}
# fixtures, each a long run of Snakemake
SHARED = ("finished_once", "paper_dry_run", "smoke")


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker and xdist reads the groups
def pytest_collection_modifyitems(items):
    """Mark the slow tests; leave to one worker those that share a long run, and those
    of one module.
    """
    if absent := sorted(name for name in SLOW if not (ROOT / name).exists()):
        raise pytest.UsageError(
            f"tests/conftest.py: SLOW names {', '.join(absent)}, which tests/ does not hold"
        )
    for item in items:
        path = item.path.relative_to(ROOT).as_posix()
        if not SLOW.isdisjoint({path, path.partition("/")[0]}):
            item.add_marker(pytest.mark.slow)
        if not item.get_closest_marker("xdist_group"):
            shared = next((name for name in SHARED if name in item.fixturenames), None)
            item.add_marker(pytest.mark.xdist_group(shared or path))


@pytest.fixture(scope="session")
def smoke(tmp_path_factory) -> Path:
    """Results of the smoke configuration up to its tokenizers, of a run that all workers
    share; of made text where the package of the real one cannot be fetched.
    """
    from tests.workflow.conftest import copy_workflow

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with open(folder / "smoke.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "smoke").exists():
            workflow = copy_workflow(folder / "smoke")
            run = workflow.snakemake("tokenizers", configfile="config/smoke.yaml")
            if run.returncode:
                path = workflow.folder / "config/smoke.yaml"
                smoke = yaml.safe_load(path.read_text("utf-8"))
                made = {"source": "made", "sources": {"made": {"path": "text/{lang}.txt"}}}
                path.write_text(yaml.safe_dump(smoke | {"corpora": made}))
                workflow.ran("tokenizers", configfile="config/smoke.yaml")
    return folder / "smoke/results/smoke"
