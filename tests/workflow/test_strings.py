"""Strings of the configuration that mean something to Snakemake or to a shell reach the
commands as they are.
"""

import shutil

from tests.cases import read_cases
from tests.tokenizers import scripts
from tests.workflow.conftest import ROOT
from vocap.files.io import read_tsv

CHANGES = read_cases(__file__)


def test_symbols_reach_the_tokenizer_and_paths_the_commands(workflow):
    folder = workflow.folder
    (folder / "text").rename(folder / "it's $HOME & `text`")
    for file in (folder / "it's $HOME & `text`").iterdir():
        file.rename(file.with_name(f"[{file.stem}].txt"))
    table = (ROOT / "config" / "languages.tsv").read_text("utf-8").splitlines()
    weighed = [
        f"{line}\t{'{lang} $x' if number == 0 else 2}\n" for number, line in enumerate(table)
    ]
    (folder / "lang's $t; #.tsv").write_text("".join(weighed), "utf-8")
    shutil.copytree(ROOT / "config" / "smoke-xtreme", folder / "x' $t")
    model = CHANGES["tokenizers"]["elsewhere"]["path"]
    (folder / model).write_bytes(scripts.model().SerializeToString())
    workflow.write_config(**CHANGES)
    assert "xtreme 'x'\"'\"' $t'" in workflow.ran("-n", "-p")
    workflow.ran("results/tokenizers/joint/pieces.tsv", "results/corpora/weights.tsv")
    pieces = {row["piece"] for row in read_tsv(folder / "results/tokenizers/joint/pieces.tsv")}
    assert set(CHANGES["tokenizers"]["joint"]["user_defined_symbols"]) <= pieces
