"""Strings of the configuration that mean something to Snakemake or to a shell reach the
commands as they are.
"""

import shutil

from tests.tokenizers import scripts
from tests.workflow.conftest import ROOT
from vocap.files.io import read_tsv

# Of Snakemake's wildcards, str.format, its path variables, and the shell.
SYMBOLS = [
    "{name}", "{0}", "{lang}", "{{}}", "{", "}}", "{name,[a]+}", "{wildcards.name}",
    "<results>", "<no_such>",
    "$HOME", "$(id)", "`id`", "it's", '"', "\\n", "*", "~", "#", ";", "--", "&&",
]  # fmt: skip


def test_symbols_reach_the_tokenizer_and_paths_the_commands(workflow):
    folder = workflow.folder
    text, model = "it's $HOME & `text`/[{lang}].txt", 'a "b" $c\'s.model'
    (folder / "text").rename(folder / "it's $HOME & `text`")
    for file in (folder / "it's $HOME & `text`").iterdir():
        file.rename(file.with_name(f"[{file.stem}].txt"))
    table = (ROOT / "config" / "languages.tsv").read_text("utf-8").splitlines()
    weighed = [
        f"{line}\t{'{lang} $x' if number == 0 else 2}\n" for number, line in enumerate(table)
    ]
    (folder / "lang's $t; #.tsv").write_text("".join(weighed), "utf-8")
    shutil.copytree(ROOT / "config" / "smoke-xtreme", folder / "x' $t")
    (folder / model).write_bytes(scripts.model().SerializeToString())
    workflow.write_config(
        corpora={
            "table": "lang's $t; #.tsv",
            "weights": "{lang} $x",
            "sources": {
                "made": {"path": text},
                "json": {"path": "{lang}", "format": "jsonl:{name}'s $x"},
            },
        },
        tokenizers={
            "joint": {"kind": "joint", "total": 400, "user_defined_symbols": SYMBOLS},
            "vocap": {"kind": "vocap", "allocation": "a", "user_defined_symbols": SYMBOLS},
            "elsewhere": {"kind": "file", "path": model},
        },
        pretraining={"models": {"m": {"tokenizer": "vocap", "steps": 2, "warmup": 0}}},
        finetuning={"xtreme": "x' $t", "tasks": ["panx", "xquad"]},
        correlation={"languages": ["ru"], "sizes": [150], "tasks": ["panx"]},
        report={"title": "{name} {0} 'a' \"b\" $c `d`\n<results>"},
    )
    planned = workflow.snakemake("-n", "-p")
    assert planned.returncode == 0, planned.stdout
    assert "xtreme 'x'\"'\"' $t'" in planned.stdout

    run = workflow.snakemake("results/tokenizers/joint/pieces.tsv", "results/corpora/weights.tsv")
    assert run.returncode == 0, run.stdout
    pieces = {row["piece"] for row in read_tsv(folder / "results/tokenizers/joint/pieces.tsv")}
    assert set(SYMBOLS) <= pieces
