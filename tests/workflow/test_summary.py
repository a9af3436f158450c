"""The last lines of a run: tokenizers, the line that loads one, the report, and a T that was not reached."""

import json
import re

from tokenizers import Tokenizer


def test_a_run_ends_with_its_tokenizers_and_its_report(finished):
    finished.write_config(
        report={"title": "Another title"}, tokenizers={"larger": {"kind": "mono", "language": "ru", "size": 300}}
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
    assert "pieces; bring more text, or lower T: vocap has 480 of the 500 ids asked for" in run.stdout, run.stdout
    assert "Warning: ids of SentencePiece and Hugging Face differ; see parity.tsv: joint" in run.stdout
    assert "Warning: allocation a: lines differ in length between languages" in run.stdout
