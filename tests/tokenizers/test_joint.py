"""`vocap joint` against SentencePiece's own training, in the shared layout."""

import json
import re

import pytest
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from tests.commands import ended
from tests.made_text import write_lines
from tests.tokenizer_files.factories import train_model
from tests.tokenizers.factories import NUMBERS, SIZES, make_stages
from vocap.files.io import read_tsv, write_tsv
from vocap.tables.curve import write_characters
from vocap.tables.sampling_probabilities import STEP
from vocap.tokenizer_files.layout import build_model, read_contents, serialize
from vocap.tokenizers.weighted_text import whole_text
from vocap.unigram import lattice
from vocap.unigram.sentencepiece_trainer import Unreachable, train
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import character_counts
from vocap.workflow.names import FILES

TOTAL = 300
IDS = {"bos_id": 0, "pad_id": 1, "eos_id": 2, "unk_id": 3}


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    return make_stages(tmp_path_factory.mktemp("stages"))


def joint(stages, out, *more) -> tuple[SentencePieceProcessor, list[dict], dict]:
    """The model, the account of its pieces, and the description."""
    ended("joint", "--mix", stages.root / "mix.txt", *more, "-o", out)
    processor = SentencePieceProcessor(model_file=str(out / "sentencepiece.model"))
    description = json.loads((out / "description.json").read_text(encoding="utf-8"))
    return processor, list(read_tsv(out / "pieces.tsv")), description


def models(folder, totals) -> list[bytes]:
    return [(folder / str(total) / "sentencepiece.model").read_bytes() for total in totals]


def reference(lines, total: int, settings: TextSettings) -> bytes:
    """The model of one SentencePiece training, of fewer ids where the text holds no
    more, in the layout.
    """
    try:
        data = train(lines, total - 1, threads=1, ids=IDS, input_sentences=0, settings=settings)
    except Unreachable as error:
        return reference(lines, error.most + 1, settings)
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    contents = read_contents(proto, "reference")
    return serialize(build_model(contents, proto.normalizer_spec, trained=proto.trainer_spec))


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--byte-fallback"],
        [f"--user-defined-symbols={symbol}" for symbol in ("ta", "<url>", "tas")],
    ],
)
def test_one_descent_gives_every_total_byte_for_byte(stages, tmp_path, flags):
    """Text with the names of rows in it; the largest two totals are out of reach."""
    lines = (stages.root / "mix.txt").read_text(encoding="utf-8").split("\n")
    lines[3] += "<pad> <mask>x<unk> <0x41>tasta <url>"
    lines[5] = "<0x41><0x42> tastas </s><pad>"
    mix = tmp_path / "mix.txt"
    mix.write_text("\n".join(lines), encoding="utf-8")
    totals = [400, 420, 600, 1500, 30_000, 40_000]
    asked = [part for total in totals for part in ("--total", total)]
    said = ended("joint", "--mix", mix, *asked, *flags, "-o", tmp_path / "{total}").stderr
    lines = mix.read_text(encoding="utf-8").split("\n")
    settings = TextSettings(
        byte_fallback="--byte-fallback" in flags,
        user_defined_symbols=tuple(flag.partition("=")[2] for flag in flags if "=" in flag),
    )
    assert models(tmp_path, totals) == [reference(lines, total, settings) for total in totals]
    description = json.loads((tmp_path / "40000/description.json").read_text(encoding="utf-8"))
    model = tmp_path / "40000/sentencepiece.model"
    reached = SentencePieceProcessor(model_file=str(model)).get_piece_size()
    assert (description["total"], description["short"]) == (reached, 40_000 - reached)
    assert f"mix.txt: too little text for T = 40000: the tokenizer has {reached} ids" in said


def test_dead_pieces_are_counted_and_left_as_they_are(stages, tmp_path):
    processor, account, description = joint(stages, tmp_path / "t", "--total", 420)
    assert description["pieces"] == len(account) == 415
    # the pieces that begin a word can be asked of the model as it is
    words = [
        row["piece"] for row in account if row["piece"][0] == "\u2581" and len(row["piece"]) > 1
    ]
    dead = {word for word in words if processor.encode(word[1:], out_type=str) != [word]}
    assert {
        row["piece"] for row in account if row["status"] == "dead" and row["piece"][0] == "\u2581"
    } == dead
    assert description["dead"] == sum(row["status"] == "dead" for row in account)


def test_a_total_below_the_required_characters_names_the_smallest(stages, tmp_path):
    mix = ["--mix", stages.root / "mix.txt"]
    message = ended("joint", *mix, "--total", 20, "-o", tmp_path / "t", status=2).stderr
    assert "T = 20" in message and "mix.txt" in message
    assert not (tmp_path / "t").exists()
    limit = int(re.search(r"smallest possible T is (\d+)", message)[1])
    ended("joint", *mix, "--total", limit - 1, "-o", tmp_path / "t", status=2)
    processor, *_ = joint(stages, tmp_path / "reached", "--total", limit)
    assert processor.get_piece_size() == limit


def test_all_lines_are_trained_on(tmp_path):
    """400 characters that stand in one line each of 1.4 million: a sample of a million
    would lose a third.
    """
    rare = [chr(0x4E00 + number) for number in range(400)]
    mix = tmp_path / "mix.txt"
    mix.write_text("".join(f"{character}\n" + "a\n" * 3499 for character in rare), encoding="utf-8")
    ended("joint", "--mix", mix, "--total", 407, "--coverage", 1, "-o", tmp_path / "t")
    processor = SentencePieceProcessor(model_file=str(tmp_path / "t" / "sentencepiece.model"))
    assert not [
        character for character in rare if processor.is_unknown(processor.piece_to_id(character))
    ]


def whole(stages) -> list:
    """The options for every training line, weighted, and the characters of VOCAP."""
    corpora = stages.root / "corpora"
    weights = stages.root / "weights.tsv"
    return ["--corpora", corpora, "--weights", weights, "--characters", corpora]


def rare_characters(root) -> None:
    """Characters too rare for the text of all languages, not for that of their own; one
    of no language's.
    """
    for language, rare in {"ka": "\u10e7\u10e6", "en": "z"}.items():
        train = root / "corpora" / language / "train.txt"
        lines = train.read_text(encoding="utf-8").split("\n")[:-1]
        lines[:60] = [f"{line} {one}" for line, one in zip(lines[:60], 60 * rare, strict=False)]
        lines[61] += "\u2603"
        write_lines(train, lines)
        table = root / "vocabularies" / language / "characters.tsv"
        write_characters(table, character_counts([lines]), len(lines))


def test_every_line_counts_by_the_share_of_its_language(tmp_path):
    """Against SentencePiece on a text with each line written out as often as it
    counts.
    """
    stages = make_stages(tmp_path)
    rare_characters(stages.root)
    alpha = 0.4
    totals = [400, 600]
    asked = [part for total in totals for part in ("--total", total)]
    ended("joint", *whole(stages), "--alpha", alpha, *asked, "-o", tmp_path / "{total}")
    # All languages have 1500 lines: a weight is n^alpha over the least, in steps of a
    # quarter.
    least = min(NUMBERS.values())
    weights = {code: round(STEP * (n / least) ** alpha) for code, n in NUMBERS.items()}
    assert len(set(weights.values())) == 3
    written = []
    for code, weight in weights.items():
        text = (stages.root / "corpora" / code / "train.txt").read_text(encoding="utf-8")
        written += text.split("\n")[:-1] * weight
    held = {piece for piece in pieces_of(tmp_path / "400") if len(piece) == 1}
    counts = character_counts([written])
    coverage = sum(counts[character] for character in held) / counts.total()
    options = {"character_coverage": coverage, "required_chars": "".join(sorted(held))}
    stock = SentencePieceProcessor(model_proto=train_model(written, 599, **IDS, **options))
    scores = {stock.id_to_piece(i): round(stock.get_score(i) * 1024) / 1024 for i in range(4, 599)}
    assert {
        row["piece"]: float(row["score"]) for row in read_tsv(tmp_path / "600/pieces.tsv")
    } == scores


def test_shares_of_characters(tmp_path):
    """Lines of 4 characters count ten times as often as those of 40, where q is
    equal.
    """
    for code, length in (("aa", 4), ("bb", 40)):
        write_lines(tmp_path / code / "train.txt", ["x" * length] * 20)
    given = (tmp_path, {"aa": 3, "bb": 3}, 1.0)
    assert [part.weight for part in whole_text(*given).parts.values()] == [STEP, STEP]
    assert [part.weight for part in whole_text(*given, per="character").parts.values()] == [
        10 * STEP,
        STEP,
    ]


def pieces_of(folder) -> set[str]:
    return {row["piece"] for row in read_tsv(folder / "pieces.tsv")}


def test_joint_and_vocap_hold_the_same_characters(tmp_path):
    """Those of each language's own models and of the expected sample; from a sample
    that lacks some, too.
    """
    stages = make_stages(tmp_path)
    rare_characters(stages.root)
    for code in NUMBERS:
        text = stages.root / "corpora" / code / "train.txt"
        stages.model(code).write_bytes(train(text, SIZES[code], threads=1))
    allocate = ["allocate", *stages.options[2:], "--total", 500]
    ended(*allocate, "-o", stages.root / "allocation")
    ended("fit", *stages.options, "-o", tmp_path / "vocap")
    ended("joint", *whole(stages), "--total", 500, "-o", tmp_path / "joint")
    sampled = ["--mix", stages.root / "mix.txt", *whole(stages)[2:]]
    ended("joint", *sampled, "--total", 500, "-o", tmp_path / "sampled")
    characters = {
        name: {piece for piece in pieces_of(tmp_path / name) if len(piece) == 1}
        for name in ("vocap", "joint", "sampled")
    }
    assert {"\u10e7", "\u10e6", "z"} <= characters["vocap"] and "\u2603" not in characters["vocap"]
    assert "\u10e7" not in (stages.root / "mix.txt").read_text(encoding="utf-8")
    assert characters["vocap"] == characters["joint"] == characters["sampled"]
    ended("joint", *sampled[:2], "--total", 500, "-o", tmp_path / "alone")
    assert not {"\u10e7", "z"} & pieces_of(tmp_path / "alone")


def test_languages_in_any_order_threads_and_memory_change_no_byte(stages, tmp_path, monkeypatch):
    monkeypatch.setattr(lattice, "EDGE_BYTES", 10**6)  # above a limit of 1 MB
    made = []
    for name, codes, threads in (("a", NUMBERS, 1), ("b", reversed(NUMBERS), 2)):
        weights = tmp_path / f"{name}.tsv"
        write_tsv(weights, ("language", "n"), [(code, NUMBERS[code]) for code in codes])
        words = [*whole(stages), "--weights", weights, "--threads", threads, "--total", 500]
        words += ["--memory", 1] if name == "b" else []
        ended("joint", *words, "-o", tmp_path / name)
        made += [[(tmp_path / name / file).read_bytes() for file in FILES]]
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "more",
    [
        "--total 5",
        "--total 100 --threads 0",
        "--total 100 --user-defined-symbols <s>",
        "--total 300 --total 400",
        "--total 300 --corpora corpora",
        "--total 300 --characters corpora",
        "--total 300 --engine ladder",
    ],
)
def test_a_wrong_call_exits_with_2(stages, tmp_path, more):
    ended("joint", "--mix", stages.root / "mix.txt", *more.split(), "-o", tmp_path / "t", status=2)
    assert not (tmp_path / "t").exists()
