"""An edit of the configuration or of an input reruns the jobs that depend on it alone:
counts of dry runs.
"""

import json
import os
import re

import pytest
from tokenizers import Tokenizer

from tests.workflow.conftest import make_text, parse_counts

REPORT = {"all": 1, "report": 1}
# changes of the configuration, the jobs that are planned, and rules without one (None:
# no other has any)
EDITS = {
    "a new beta trains nothing": (
        {"allocation": {"a": {"total": 500, "beta": 0.3}}},
        {**REPORT, "allocate": 1, "fit": 1, "export": 1, "evaluate": 1},
        None,
    ),
    "another allocation reruns no other": (
        {"allocation": {"c": {"total": 400, "beta": 0.0}}},
        {**REPORT, "allocate": 1},
        None,
    ),
    "a title reruns the report": ({"report": {"title": "Another title"}}, REPORT, None),
    "a size climbs each ladder again": (
        {"vocabularies": {"sizes": [50, 150, 200, 300]}},
        {"ladder": 3, "allocate": 2},
        {"sample", "mix", "weigh", "pick_joint"},
    ),
    "a language removed trains nothing": ({"languages": ["de", "ru"]}, {}, {"sample", "ladder"}),
    "another seed samples again": ({"seed": 7}, {"sample": 3}, set()),
    "another sample for JOINT leaves the vocabularies alone": (
        {"corpora": {"mix": {"sentences": 1000}}},
        {"mix": 1, "joint_descent": 1, "pick_joint": 1},
        {"sample", "ladder", "allocate", "fit"},
    ),
    "another coverage trains again": (
        {"vocabularies": {"coverage": 0.999}},
        {"ladder": 3, "allocate": 2, "joint_descent": 1, "pick_joint": 1},
        set(),
    ),
}


def test_a_finished_run_has_nothing_left_to_do(finished):
    assert finished.planned() == {}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reruns_what_depends_on_it(finished, name):
    changes, jobs, spared = EDITS[name]
    finished.write_config(**changes)
    planned = finished.planned()
    assert planned == jobs if spared is None else planned | jobs == planned
    assert not (spared or set()) & planned.keys()


def test_text_is_new_by_another_size_or_date(finished):
    """An older file too; neither by its owner and mode, nor where the results were made
    before versions were recorded.
    """
    text, again = finished.folder / "text/de.txt", {"sample": 1, "ladder": 1}
    state = text.stat()
    text.chmod(0o600)
    assert finished.planned("vocabularies") == {}
    os.utime(text, ns=(state.st_atime_ns, 10**18))
    planned = finished.planned("vocabularies")
    assert planned | again == planned
    text.write_text(make_text("de", seed=5), "utf-8")
    os.utime(text, ns=(state.st_atime_ns, state.st_mtime_ns))
    planned = finished.planned("vocabularies")
    assert planned | again == planned
    run = finished.snakemake("corpora")
    assert run.returncode == 0 and finished.planned("corpora") == {}, run.stdout
    for record in (finished.folder / ".snakemake/metadata").rglob("*"):
        if record.is_file():
            content = json.loads(record.read_text())
            params = [one for one in content["params"] or () if "versions" not in one]
            record.write_text(json.dumps({**content, "params": params}))
    os.utime(text, ns=(state.st_atime_ns, 10**18))
    assert finished.planned("corpora") == {}


# a model of a few steps: of interest are the jobs, not the scores
MODEL = {
    "tokenizer": "joint",
    "loss": {"kind": "knn", "k": 3},
    "shape": {"layers": 1, "hidden": 16, "heads": 2, "intermediate": 16, "positions": 64},
    "steps": 4, "batch": 4, "micro_batch": 4, "warmup": 1, "log_every": 2, "export_steps": [2],
}  # fmt: skip


def test_a_new_model_trains_only_itself(finished):
    """And neither a changed rhythm of checkpoints nor another model trains one
    again.
    """

    def planned(**models) -> dict[str, int]:
        finished.write_config(pretraining={"models": models})
        return finished.planned()

    assert planned(knn=MODEL) == {"all": 1, "tokenize": 3, "pretrain": 1, "report": 1}
    run = finished.snakemake("pretraining")
    assert run.returncode == 0, run.stdout
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
    short = {"learning_rates": [1e-3], "epochs": [1], "batch": 32, "max_length": 64, **recipe}
    trainings = ("xnli", "pawsx", "udpos", "panx", "squad", "tydiqa")
    return {
        "xtreme": "config/smoke-xtreme",
        "tasks": tasks,
        "seeds": seeds,
        "models": models,
        "threads": 1,
        "recipes": dict.fromkeys(trainings, short),
    }


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
    run = finished.snakemake("finetuning")
    assert run.returncode == 0, run.stdout
    assert planned(["panx"], [1, 2], one) == {}
    again = {"finetuning": 1, "average": 1}
    assert planned(["panx"], [1, 2, 3], one) == again | {"finetune": 1, "score": 1}
    prepared = {"encode": 1, "finetune": 2, "score": 1}
    assert planned(["panx", "xnli"], [1, 2], one) == again | prepared
    # xquad and mlqa share their training
    assert planned(["panx", "xquad"], [1, 2], one) == again | prepared
    assert planned(["panx", "xquad", "mlqa"], [1, 2], one) == again | prepared | {"score": 2}
    # the second model has the first one's tokenizer, so its inputs too
    assert planned(["panx"], [1, 2], both) == again | {"pretrain": 1, "finetune": 2, "score": 1}
    assert planned(["panx"], [1, 2], one, learning_rates=[1e-3, 2e-3]) == again | {
        "finetune": 2,
        "score": 1,
    }
    assert planned(["panx"], [1, 2], one, clip=2.0) == again | {"finetune": 2, "score": 1}
    assert planned(["panx"], [1, 2], one, max_length=32) == again | {
        "encode": 1,
        "finetune": 2,
        "score": 1,
    }
    folder = finished.folder / "config/smoke-xtreme/panx"
    (folder / "test-af.tsv").write_bytes((folder / "test-de.tsv").read_bytes())
    assert planned(["panx"], [1, 2], one) == again | {"encode": 1, "finetune": 2, "score": 1}


def test_without_an_xtreme_folder_the_report_says_not_run(finished):
    page = (finished.folder / "results/report/index.html").read_text("utf-8")
    assert "No model has been fine-tuned" in page
    finished.write_config(
        pretraining={"models": {"knn": MODEL}}, finetuning={"xtreme": "nowhere/download"}
    )
    run = finished.snakemake("finetuning")
    assert run.returncode == 0 and "no folder nowhere/download" in run.stdout
    planned = finished.snakemake("-n", "finetuning")
    assert (
        planned.returncode == 0
        and "to bring, planned as if there: nowhere/download/mlqa" in planned.stdout
    )
    assert parse_counts(planned.stdout)["finetune"] == 70


def test_sizes_that_are_on_disk_are_not_trained_again(finished):
    folder = finished.folder / "results/vocabularies/ru"
    before = {path: path.stat().st_mtime_ns for path in folder.glob("models/*")}
    finished.write_config(vocabularies={"sizes": [50, 150]}, tokenizers={"mono": None})
    run = finished.snakemake(f"{folder.relative_to(finished.folder)}/curve.tsv")
    assert run.returncode == 0, run.stdout
    assert {
        path: path.stat().st_mtime_ns for path in before if path.suffix == ".model"
    }.items() <= before.items()
    assert [line.split("\t")[0] for line in (folder / "curve.tsv").open()] == ["size", "50", "150"]


def test_with_single_trainings_a_size_added_trains_that_size(workflow, finished_once):
    """The other engine: the same models and tables, byte for byte, and one job a
    size.
    """
    workflow.write_config(vocabularies={"engine": "sentencepiece"})
    run = workflow.snakemake("vocabularies")
    assert run.returncode == 0, run.stdout
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
    finished.write_config(tokenizers={"larger": {"kind": "joint", "total": 340}})
    expected = {
        "all": 1,
        "report": 1,
        "joint_descent": 1,
        "pick_joint": 1,
        "export": 1,
        "evaluate": 1,
    }
    assert finished.planned() == expected
    run = finished.snakemake("results/tokenizers/larger/sentencepiece.model")
    assert run.returncode == 0, run.stdout
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    again = finished.planned()
    assert not {"joint_descent", "pick_joint"} & set(again)
    # a point of its curve is there already
    finished.write_config(tokenizers={"smaller": {"kind": "joint", "total": 297}})
    assert "joint_descent" not in finished.planned()
    run = finished.snakemake("results/tokenizers/smaller/sentencepiece.model")
    assert run.returncode == 0, run.stdout
    assert not {"joint_descent", "pick_joint"} & set(finished.planned())
    finished.write_config(tokenizers={"larger": None, "smaller": None})
    assert set(finished.planned()) <= {"all", "report"}


def test_totals_with_the_same_settings_share_a_descent(workflow):
    more = {
        "larger": {"kind": "joint", "total": 340},
        "bytes": {"kind": "joint", "total": 600, "byte_fallback": True},
    }
    workflow.write_config(tokenizers=more)
    planned = workflow.planned("tokenizers")
    assert (planned["joint_descent"], planned["pick_joint"]) == (2, 3)


def test_a_new_language_trains_only_that_language(finished):
    (finished.folder / "text" / "fr.txt").write_text(make_text("fr"), "utf-8")
    finished.write_config(languages=["de", "fr", "ja", "ru"])
    planned = finished.planned()
    assert planned["sample"] == planned["ladder"] == 1
    assert planned["weigh"] == planned["mix"] == 1


def test_a_changed_corpus_file_reruns_its_language_and_what_joins_it(finished):
    (finished.folder / "text" / "ru.txt").write_text(make_text("ru", seed=1), "utf-8")
    planned = finished.planned()
    assert planned["sample"] == planned["ladder"] == 1
    assert planned["weigh"] == planned["mix"] == 1
    assert planned["allocate"] == 2
    assert planned["fit"] == 1


@pytest.mark.parametrize(
    "edit",
    [
        {"max_sentences": 300},
        {"max_characters": 100_000},
        {"scan_bytes": 5000},
        {"sources": {"made": {"path": "text/{lang}.txt", "format": "tsv:1"}}},
        {"sources": {"made": {"path": "text/{lang}.txt", "split_sentences": True}}},
        {"sources": {"made": {"path": ["text/{lang}.txt"], "codes": {"ru": "de", "de": "ru"}}}},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_another_way_to_sample_samples_again(finished, edit):
    finished.write_config(corpora=edit)
    planned = finished.planned()
    assert planned["sample"] == (2 if "codes" in str(edit) else 3)
    assert planned["ladder"] == planned["sample"]


def test_another_order_of_files_samples_again(finished):
    """The sample of a language depends on it."""
    for language in ("de", "ja", "ru"):
        (finished.folder / "text" / f"{language}-more").write_text(
            make_text(language, seed=3), "utf-8"
        )
    places = ["text/{lang}.txt", "text/{lang}-more"]
    finished.write_config(corpora={"sources": {"made": {"path": places}}})
    run = finished.snakemake("results/corpora/de/train.txt")
    assert run.returncode == 0, run.stdout
    before = (finished.folder / "results/corpora/de/train.txt").read_bytes()
    assert "sample" not in finished.planned("results/corpora/de/train.txt")
    finished.write_config(corpora={"sources": {"made": {"path": places[::-1]}}})
    run = finished.snakemake("results/corpora/de/train.txt")
    assert run.returncode == 0, run.stdout
    assert (finished.folder / "results/corpora/de/train.txt").read_bytes() != before


def test_a_copy_of_the_table_under_another_name_samples_nothing_again(finished):
    table = finished.folder / "config/languages.tsv"
    (table.parent / "mine.tsv").write_text(table.read_text("utf-8"), "utf-8")
    finished.write_config(corpora={"table": "config/mine.tsv"})
    assert not {"sample", "weigh", "ladder", "allocate"} & finished.planned().keys()


def test_a_deleted_result_is_made_again(finished):
    (finished.folder / "results/vocabularies/ru/curve.tsv").unlink()
    assert finished.planned()["ladder"] == 1


def test_a_new_column_of_the_table_reruns_only_the_report(finished):
    table = finished.folder / "config/languages.tsv"
    lines = table.read_text("utf-8").splitlines()
    lines = [lines[0] + "\tspeakers", *(line + "\t1" for line in lines[1:])]
    table.write_text("\n".join(lines) + "\n", "utf-8")
    assert finished.planned() == {"all": 1, "report": 1}


def test_another_resource_group_evaluates_again(finished):
    table = finished.folder / "config/languages.tsv"
    table.write_text(
        table.read_text("utf-8").replace(
            "ru\tRussian\trus\trus\tCyrl", "ru\tRussian\trus\trus\tLatn"
        ),
        "utf-8",
    )
    assert finished.planned() == {"all": 1, "evaluate": 3, "export": 3, "report": 1}


def test_a_licence_is_written_into_the_cards_alone(finished):
    finished.write_config(
        corpora={"sources": {"made": {"path": "text/{lang}.txt", "licence": "CC0 {as} written"}}}
    )
    assert finished.planned() == {"all": 1, "export": 3, "report": 1}
    card = "results/tokenizers/joint/huggingface/README.md"
    before = (finished.folder / card).read_text("utf-8")
    assert "- made: licence not recorded" in before and "| ru | -" in before
    run = finished.snakemake(card)
    assert run.returncode == 0, run.stdout
    assert "- made: CC0 {as} written." in (finished.folder / card).read_text("utf-8")


def test_a_language_added_after_the_starter_corpus_was_made_is_not_taken_for_one_without_text(
    workflow,
):
    text = workflow.folder / "results/corpora/starter/text"
    text.mkdir(parents=True)
    for language in ("de", "ru"):
        (text / f"{language}.txt").write_text(make_text(language), "utf-8")
    table = workflow.folder / "config/languages.tsv"
    row = "hsb,Upper Sorbian,hsb,hsb,Latn,hsb_Latn,Indo-European,Slavic,low,0.1,0.1,1".replace(
        ",", "\t"
    )
    table.write_text(f"{table.read_text('utf-8')}{row}\n", "utf-8")
    (workflow.folder / "test.yaml").write_text("languages: [de, ru, hsb]\n", "utf-8")
    run = workflow.snakemake("-n")
    assert run.returncode != 0
    assert "had hsb" in run.stdout
    assert "corpora.languages" in run.stdout


def test_a_stage_can_be_asked_for_alone(workflow):
    assert set(workflow.planned("corpora")) == {"corpora", "sample", "weigh", "mix"}
    assert set(workflow.planned("vocabularies")) == {"vocabularies", "sample", "compile", "ladder"}
    assert "fit" not in workflow.planned("allocation")
    assert set(workflow.planned("pretraining")) <= {"pretraining"}
    assert set(workflow.planned("finetuning")) <= {"finetuning"}


def test_a_run_ends_with_its_tokenizers_and_its_report(finished):
    finished.write_config(
        report={"title": "Another title"},
        tokenizers={"larger": {"kind": "mono", "language": "ru", "size": 300}},
    )
    run = finished.snakemake()
    assert run.returncode == 0, run.stdout
    lines = run.stdout.splitlines()
    assert max(map(len, lines)) < 400
    end = lines[lines.index("Tokenizers:") :]
    shown = {line.split()[0]: line.split()[1:] for line in end[1:] if line.startswith("  ")}
    assert set(shown) == {"vocap", "joint", "mono", "larger"}
    for name, (count, unit, folder) in shown.items():
        assert (unit, folder) == ("ids", f"results/tokenizers/{name}")
        made = Tokenizer.from_file(str(finished.folder / folder / "huggingface/tokenizer.json"))
        assert made.get_vocab_size() == int(count.replace(",", ""))
    assert "Report: results/report/index.html" in end
    (path,) = re.findall(r'from_pretrained\("(.+)"\)', run.stdout)
    assert (finished.folder / path / "tokenizer.json").exists()
    assert not any(line.startswith("Warning") for line in end)


def test_a_total_that_was_not_reached_and_forms_that_differ_are_warned_of(finished):
    description = finished.folder / "results/tokenizers/vocap/description.json"
    description.write_text(json.dumps(json.loads(description.read_text("utf-8")) | {"total": 480}))
    parity = finished.folder / "results/tokenizers/joint/parity.tsv"
    header, first, *others = parity.read_text("utf-8").splitlines(keepends=True)
    cells = first.split("\t")
    cells[header.split("\t").index("share")] = "0.9"
    parity.write_text("".join([header, "\t".join(cells), *others]), "utf-8")
    summary = finished.folder / "results/allocation/a/summary.json"
    warnings = {"warnings": ["lines differ in length between languages"]}
    summary.write_text(json.dumps(json.loads(summary.read_text("utf-8")) | warnings))
    for path in (description, parity, summary):
        finished.snakemake("--touch", str(path.relative_to(finished.folder)))
    finished.write_config(report={"title": "Another title"})
    run = finished.snakemake()
    assert (
        "pieces; bring more text, or lower T: vocap has 480 of the 500 ids asked for" in run.stdout
    ), run.stdout
    assert (
        "Warning: ids of SentencePiece and Hugging Face differ; see parity.tsv: joint" in run.stdout
    )
    assert "Warning: allocation a: lines differ in length between languages" in run.stdout
