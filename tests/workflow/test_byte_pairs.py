"""Byte-pair encoding in the workflow: tokenizers of one training, and reruns after an
edit.
"""

import json

import tiktoken
from gguf import GGUFReader
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

from tests.made_text import write_lines
from tests.workflow.conftest import make_text
from vocap.files.io import read_tsv
from vocap.tokenizers.byte_pairs import train_bpe
from vocap.unigram.text_settings import LOSSLESS

OWN = r"""\p{L}{1,9}|[^\p{L}'"]+|['"]"""  # braces and quotes on their way through the rule
SETTINGS = {
    "allocation": {},
    "text": {"preset": "lossless"},
    "tokenizers": {
        "bpe-500": {"kind": "bpe", "total": 500, "split": "gpt2"},
        "bpe-400": {"kind": "bpe", "total": 400, "split": "gpt2"},
        "parity-400": {"kind": "parity-bpe", "total": 400, "from": 50, "split": {"regex": OWN}},
    },
}
CORPORA = {
    "source": "made",
    "sources": {"made": {"path": "text/{lang}.txt"}},
    "development": "parallel/{lang}.txt",
}


def configure(workflow, **changes) -> None:
    path = workflow.folder / "test.json"
    settings = {
        **SETTINGS,
        "languages": ["de", "ja", "ru"],
        "pretraining": {"models": {}},
        "corpora": CORPORA,
        **changes,
    }
    path.write_text(json.dumps(settings), "utf-8")
    path.rename(workflow.folder / "test.yaml")  # JSON is YAML


def check_forms(folder) -> None:
    """tiktoken gives the ids of tokenizer.json, and the GGUF file has its tokens."""
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    said = json.loads((folder / "tiktoken/encoding.json").read_text("utf-8"))
    ranks = load_tiktoken_bpe(str(folder / "tiktoken/ranks.tiktoken"))
    encoding = tiktoken.Encoding(**said, mergeable_ranks=ranks)
    for line in make_text("ru", 20, seed=9).splitlines():
        assert encoding.encode(line) == made.encode(line, add_special_tokens=False).ids
    field = GGUFReader(folder / "bpe-400.gguf").fields["tokenizer.ggml.tokens"]
    tokens = [field.parts[place].tobytes().decode() for place in field.data]
    assert tokens == [made.id_to_token(number) for number in range(400)]


def test_a_run_and_what_an_edit_reruns(workflow):
    for language in ("de", "ja", "ru"):
        lines = make_text(language, 40, seed=7).splitlines()
        write_lines(workflow.folder / "parallel" / f"{language}.txt", lines)
    configure(workflow)
    planned = workflow.planned("tokenizers")
    assert (planned["bpe_training"], planned["pick_bpe"]) == (2, 3)
    run = workflow.snakemake("tokenizers")
    assert run.returncode == 0, run.stdout
    folder = workflow.folder / "results" / "tokenizers"
    for name, total in (("bpe-500", 500), ("bpe-400", 400), ("parity-400", 400)):
        assert json.loads((folder / name / "description.json").read_text())["total"] == total
        assert (folder / name / "huggingface" / "tokenizer.json").is_file()
        trips = [
            line.split("\t")
            for line in (folder / name / "roundtrip.tsv").read_text().splitlines()[1:]
        ]
        assert all(row[2] == row[3] for row in trips)
    assert (
        json.loads((folder / "parity-400" / "description.json").read_text())["settings"]["regex"]
        == OWN
    )

    # further forms train nothing
    exported = SETTINGS["tokenizers"]["bpe-400"] | {"export": ["tiktoken", "gguf"]}
    configure(workflow, tokenizers={**SETTINGS["tokenizers"], "bpe-400": exported})
    planned = workflow.planned("tokenizers")
    assert planned == {"export_tiktoken": 1, "export_gguf": 1, "tokenizers": 1}
    run = workflow.snakemake("tokenizers")
    assert run.returncode == 0, run.stdout
    check_forms(folder / "bpe-400")

    # a larger T is trained, and a smaller one cut: as if both had been trained together
    for total, trainings in ((550, 1), (450, 0)):
        more = {**SETTINGS["tokenizers"], "more": {"kind": "bpe", "total": total, "split": "gpt2"}}
        configure(workflow, tokenizers=more)
        planned = workflow.planned("tokenizers")
        assert (planned.get("bpe_training", 0), planned["pick_bpe"]) == (trainings, 1)
        assert planned["evaluate"] == 1
    run = workflow.snakemake("results/tokenizers/more/description.json")
    assert run.returncode == 0, run.stdout
    assert not {"bpe_training", "pick_bpe"} & set(workflow.planned("tokenizers"))
    trained = train_bpe(
        workflow.folder / "results/corpora",
        workflow.folder / "results/corpora/weights.tsv",
        450,
        text=LOSSLESS,
        split="gpt2",
    )
    assert (folder / "more/tokenizer.json").read_bytes() == trained.model
    rows = read_tsv(folder / "more/pieces.tsv")
    assert [row["piece"] for row in rows] == [row[0] for row in trained.rows]

    write_lines(workflow.folder / "parallel" / "de.txt", make_text("de", 40, seed=8).splitlines())
    configure(workflow)
    planned = workflow.planned("tokenizers")
    assert (planned["bpe_training"], planned["pick_bpe"]) == (1, 1)
