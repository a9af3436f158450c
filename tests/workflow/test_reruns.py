"""An edit of the configuration or of an input reruns the jobs that depend on it alone:
counts of dry runs.
"""

import os
import re
import shutil

import pytest

from tests.cases import edit, read_cases
from tests.workflow.conftest import CASES, MODEL, make_text
from vocap.files.io import read_object, write_json

EDITS = read_cases(__file__)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reruns_what_depends_on_it(finished, name):
    edit = EDITS[name]
    finished.write_config(**edit["changes"])
    planned = finished.planned()
    if "spared" in edit:
        assert edit["jobs"].items() <= planned.items()
        assert not set(edit["spared"]) & planned.keys()
    else:
        assert planned == edit["jobs"]


def test_text_is_new_by_another_size_or_date(finished):
    """An older file too; neither by its owner and mode, nor where the results were made
    before versions were recorded.
    """
    text = finished.folder / "text/de.txt"
    again = {"sample": 1, "ladder": 1, "weigh": 1, "mix": 1, "allocate": 2, "fit": 1}
    state = text.stat()
    text.chmod(0o600)
    assert finished.planned("vocabularies") == {}
    os.utime(text, ns=(state.st_atime_ns, 10**18))
    assert again.items() <= finished.planned().items()
    text.write_text(make_text("de", seed=5), "utf-8")
    os.utime(text, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert again.items() <= finished.planned().items()
    finished.ran("corpora")
    assert finished.planned("corpora") == {}
    for record in (finished.folder / ".snakemake/metadata").rglob("*"):
        if record.is_file():
            content = read_object(record)
            params = [one for one in content["params"] or () if "versions" not in one]
            write_json(record, {**content, "params": params})
    os.utime(text, ns=(state.st_atime_ns, 10**18))
    assert finished.planned("corpora") == {}


def test_a_new_model_trains_only_itself(finished):
    """And neither a changed rhythm of checkpoints nor another model trains one
    again.
    """

    def planned(**models) -> dict[str, int]:
        finished.write_config(pretraining={"models": models})
        return finished.planned()

    assert planned(knn=MODEL) == {"all": 1, "tokenize": 3, "pretrain": 1, "report": 1}
    finished.ran("pretraining")
    folder = finished.folder / "results/pretraining/knn"
    made = {"checkpoints", "description.json", "metrics.jsonl", "model", "model-2"}
    assert {path.name for path in folder.iterdir()} == made
    assert planned(knn={**MODEL, "checkpoint_every": 3}) == {"all": 1, "report": 1}
    second = {"full": {**MODEL, "loss": "full"}}
    assert planned(knn=MODEL, **second) == {"all": 1, "pretrain": 1, "report": 1}
    assert planned(knn={**MODEL, "steps": 5}) == {"all": 1, "pretrain": 1, "report": 1}
    assert planned(knn={**MODEL, "tokenizer": "mono"})["tokenize"] == 3


def tuned(tasks: list[str], seeds: list[int], models: dict, **recipe) -> dict:
    """Fine-tuning of a few steps, on the smoke configuration's text."""
    short = CASES["recipe"] | recipe
    asked = {"tasks": tasks, "seeds": seeds, "models": models}
    return CASES["finetuning"] | asked | {"recipes": dict.fromkeys(("panx", "squad"), short)}


def test_a_new_task_model_or_seed_fine_tunes_only_itself(finished):
    """And a language's file that is added, or a setting changed, runs its readers
    again.
    """
    one, both = {"knn": {}}, {"knn": {}, "full": {}}

    def planned(*arguments, **recipe) -> dict[str, int]:
        models = {"knn": MODEL, "full": {**MODEL, "loss": "full"}}
        finished.write_config(
            pretraining={"models": models}, finetuning=tuned(*arguments, **recipe)
        )
        return finished.planned("finetuning")

    planned(["panx"], [1, 2], one)
    finished.ran("finetuning")
    assert planned(["panx"], [1, 2], one) == {}
    again = {"finetuning": 1, "average": 1}
    assert planned(["panx"], [1, 2, 3], one) == again | {"finetune": 1, "score": 1}
    prepared = {"encode": 1, "finetune": 2, "score": 1}
    # xquad and mlqa share their training
    assert planned(["panx", "xquad", "mlqa"], [1, 2], one) == again | prepared | {"score": 2}
    # the second model has the first one's tokenizer, so its inputs too
    assert planned(["panx"], [1, 2], both) == again | {"pretrain": 1, "finetune": 2, "score": 1}
    assert planned(["panx"], [1, 2], one, learning_rates=[1e-3, 2e-3]) == again | {
        "finetune": 2,
        "score": 1,
    }
    assert planned(["panx"], [1, 2], one, max_length=32) == again | prepared
    folder = finished.folder / "config/smoke-xtreme/panx"
    (folder / "test-af.tsv").write_bytes((folder / "test-de.tsv").read_bytes())
    assert planned(["panx"], [1, 2], one) == again | prepared


def test_sizes_that_are_on_disk_are_not_trained_again(finished):
    folder = finished.folder / "results/vocabularies/ru"
    before = {path: path.stat().st_mtime_ns for path in folder.glob("models/*")}
    finished.write_config(vocabularies={"sizes": [50, 150]}, tokenizers={"mono": None})
    finished.ran(f"{folder.relative_to(finished.folder)}/curve.tsv")
    assert {
        path: path.stat().st_mtime_ns for path in before if path.suffix == ".model"
    }.items() <= before.items()
    assert [line.split("\t")[0] for line in (folder / "curve.tsv").open()] == ["size", "50", "150"]


def test_with_single_trainings_a_size_added_trains_that_size(workflow, finished_once):
    """The other engine: the same models and tables, byte for byte, and one job a
    size.
    """
    workflow.write_config(vocabularies={"engine": "sentencepiece"})
    workflow.ran("vocabularies")
    for path in sorted((workflow.folder / "results/vocabularies").rglob("*")):
        if path.is_file() and path.parent.name != "points" and path.name != "parameters.jsonl":
            other = finished_once.folder / path.relative_to(workflow.folder)
            assert path.read_bytes() == other.read_bytes(), path
    workflow.write_config(vocabularies={"engine": "sentencepiece", "sizes": [50, 150, 200, 300]})
    assert workflow.planned("vocabularies") == {"vocabularies": 1, "train": 3, "curve": 3}


def test_a_total_added_trains_only_that_one(finished):
    """JOINT: all T of a configuration come from one descent, but tokenizers that are
    made stay as they are.
    """
    path = finished.folder / "results/tokenizers/joint/sentencepiece.model"
    before = path.read_bytes(), path.stat().st_mtime_ns
    # 297 is a point of the curve, which is there already
    for name, total, descents in (("larger", 340, 1), ("smaller", 297, 0)):
        finished.write_config(tokenizers={name: {"kind": "joint", "total": total}})
        planned = finished.planned()
        assert (planned.get("joint_descent", 0), planned["pick_joint"]) == (descents, 1)
        finished.ran(f"results/tokenizers/{name}/sentencepiece.model")
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert not {"joint_descent", "pick_joint"} & finished.planned().keys()
    finished.write_config()
    assert finished.planned().keys() <= {"all", "report"}


def test_another_order_of_files_samples_again(finished):
    for language in ("de", "ja", "ru"):
        shutil.copy(finished.folder / f"text/{language}.txt", finished.folder / f"text/{language}")
    target, places = "results/corpora/de/train.txt", ["text/{lang}.txt", "text/{lang}"]
    finished.write_config(corpora={"sources": {"made": {"path": places}}})
    finished.ran(target)
    assert finished.planned(target) == {}
    finished.write_config(corpora={"sources": {"made": {"path": places[::-1]}}})
    assert finished.planned(target) == {"sample": 1}


def test_an_edit_of_the_table_reruns_what_reads_it(finished):
    table = finished.folder / "config/languages.tsv"
    text = table.read_text("utf-8")
    head, *rows = text.splitlines()
    more = [f"{head}\tspeakers", *(f"{row}\t1" for row in rows)]
    table.write_text("\n".join(more), "utf-8")
    assert finished.planned() == {"all": 1, "report": 1}
    script = "ru\tRussian\trus\trus\t"
    table.write_text(text.replace(f"{script}Cyrl", f"{script}Latn"), "utf-8")
    assert finished.planned() == {"all": 1, "evaluate": 3, "export": 3, "report": 1}
    table.rename(table.with_name("mine.tsv")).write_text(text, "utf-8")
    finished.write_config(corpora={"table": "config/mine.tsv"})
    assert not {"sample", "weigh", "ladder", "allocate"} & finished.planned().keys()


def test_a_licence_is_written_into_the_cards_alone(finished):
    finished.write_config(
        corpora={"sources": {"made": {"path": "text/{lang}.txt", "licence": "CC0 {as} written"}}}
    )
    assert finished.planned() == {"all": 1, "export": 3, "report": 1}
    card = "results/tokenizers/joint/huggingface/README.md"
    before = (finished.folder / card).read_text("utf-8")
    assert "- made: licence not recorded" in before and "| ru | -" in before
    finished.ran(card)
    assert "- made: CC0 {as} written." in (finished.folder / card).read_text("utf-8")


def test_a_run_ends_with_its_tokenizers_its_report_and_warnings(finished):
    """Of a total that was not reached, and of an allocation."""
    description = "results/tokenizers/vocap/description.json"
    summary = "results/allocation/a/summary.json"
    uneven = ["lines differ in length between languages"]
    for path, change in ((description, {"total": 480}), (summary, {"warnings": uneven})):
        edit(finished.folder / path, **change)
    finished.ran("--touch", description, summary)
    finished.write_config(report={"title": "Another title"})
    said = finished.ran()
    lines = said.splitlines()
    assert max(map(len, lines)) < 400
    end = lines[lines.index("Tokenizers:") :]
    shown = {line.split()[0]: line.split()[1:] for line in end[1:] if line.startswith("  ")}
    assert shown.keys() == {"vocap", "joint", "mono"}
    assert shown["vocap"] == ["480", "ids", "results/tokenizers/vocap"]
    assert "Report: results/report/index.html" in end
    (path,) = re.findall(r'from_pretrained\("(.+)"\)', said)
    assert (finished.folder / path / "tokenizer.json").exists()
    short, allocation = (line for line in end if line.startswith("Warning: "))
    assert "vocap has 480 of the 500 ids" in short
    assert allocation == f"Warning: of allocations, {uneven[0]}: a"
