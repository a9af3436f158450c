"""Byte-pair encoding in the workflow: tokenizers of one training, and reruns after an
edit.
"""

import json

import tiktoken
from gguf import GGUFReader
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

from tests.cases import read_cases
from tests.made_text import write_lines
from tests.workflow.conftest import make_text
from vocap.files.io import read_object, read_tsv, write_json
from vocap.tokenizers.byte_pairs import train_bpe
from vocap.unigram.text_settings import LOSSLESS

CONFIGURATION = read_cases(__file__)
TOKENIZERS = CONFIGURATION["tokenizers"]


def configure(workflow, **changes) -> None:
    write_json(workflow.folder / "test.yaml", CONFIGURATION | changes)  # JSON is YAML


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
    workflow.ran("tokenizers")
    folder = workflow.folder / "results" / "tokenizers"
    for name, total in (("bpe-500", 500), ("bpe-400", 400), ("parity-400", 400)):
        assert read_object(folder / name / "description.json")["total"] == total
        assert (folder / name / "huggingface" / "tokenizer.json").is_file()
        trips = read_tsv(folder / name / "roundtrip.tsv")
        assert all(row["texts"] == row["identical"] for row in trips)
    own = read_object(folder / "parity-400" / "description.json")["settings"]["regex"]
    assert own == TOKENIZERS["parity-400"]["split"]["regex"]

    # further forms train nothing
    exported = TOKENIZERS["bpe-400"] | {"export": ["tiktoken", "gguf"]}
    configure(workflow, tokenizers=TOKENIZERS | {"bpe-400": exported})
    planned = workflow.planned("tokenizers")
    assert planned == {"export_tiktoken": 1, "export_gguf": 1, "tokenizers": 1}
    workflow.ran("tokenizers")
    check_forms(folder / "bpe-400")

    # a larger T is trained, and a smaller one cut: as if both had been trained together
    for total, trainings in ((550, 1), (450, 0)):
        more = {**TOKENIZERS, "more": {"kind": "bpe", "total": total, "split": "gpt2"}}
        configure(workflow, tokenizers=more)
        planned = workflow.planned("tokenizers")
        assert (planned.get("bpe_training", 0), planned["pick_bpe"]) == (trainings, 1)
        assert planned["evaluate"] == 1
    workflow.ran("results/tokenizers/more/description.json")
    assert not {"bpe_training", "pick_bpe"} & set(workflow.planned("tokenizers"))
    corpora = workflow.folder / "results/corpora"
    trained = train_bpe(corpora, corpora / "weights.tsv", 450, text=LOSSLESS, split="gpt2")
    assert (folder / "more/tokenizer.json").read_bytes() == trained.model
    rows = read_tsv(folder / "more/pieces.tsv")
    assert [row["piece"] for row in rows] == [row[0] for row in trained.rows]

    write_lines(workflow.folder / "parallel" / "de.txt", make_text("de", 40, seed=8).splitlines())
    configure(workflow)
    planned = workflow.planned("tokenizers")
    assert (planned["bpe_training"], planned["pick_bpe"]) == (1, 1)
