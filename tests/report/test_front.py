"""The front page: lines that load, sentences that are cut as SentencePiece cuts them,
languages by name.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tests.cases import read_cases
from tests.report.factories import make_results
from tests.report.pages import Page, write
from vocap.files.io import read_tsv, write_tsv
from vocap.languages import read_languages
from vocap.report.data.loading import load_results
from vocap.report.data.results import CutSentence
from vocap.report.data.sentences import choose_line
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.layout import Contents, build_model, serialize
from vocap.tokenizer_files.programs import loaded_by
from vocap.unigram.sentencepiece_trainer import train

CASES = read_cases(__file__)
LINES, SIX = CASES["lines"], CASES["six"]


def make_model(path, size):
    """A small SentencePiece model in the layout of this project, from the lines
    above.
    """
    text = [line for lines in LINES.values() for line in lines] * 8
    trained = sentencepiece_model_pb2.ModelProto.FromString(
        train(text, size, threads=1, coverage=1.0)
    )
    normal = [entry for entry in trained.pieces if entry.type == entry.NORMAL]
    contents = Contents([entry.piece for entry in normal], [entry.score for entry in normal])
    path.write_bytes(serialize(build_model(contents, trained.normalizer_spec)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Made results with two real tokenizers, held-out lines, and the page written from
    the folder above them.
    """
    folder = tmp_path_factory.mktemp("front")
    results = make_results(folder / "results")
    for code, lines in LINES.items():
        (results / "corpora" / code / "heldout.txt").write_text(
            "".join(f"{line}\n" for line in lines), "utf-8"
        )
    for name, size in (("joint100k", 148), ("vocap100k", 170)):
        make_model(results / "tokenizers" / name / "sentencepiece.model", size)
        export_unigram(
            results / "tokenizers" / name / "sentencepiece.model",
            results / "tokenizers" / name / "huggingface",
        )
    shutil.copy(
        results / "tokenizers/joint100k/huggingface/tokenizer.json", results / "tokenizers/xlmr"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, write("results", folder / "out")


def test_the_lines_load_from_the_folder_of_the_command(run, monkeypatch):
    folder, text = run
    found = re.findall(r'aria-label="(\w+k|xlmr)">(.*?)</pre>', text, re.S)
    shown = {name: body.replace("&#34;", '"') for name, body in found}
    assert set(shown) == {"joint100k", "vocap100k", "xlmr"}  # the others have no model here
    monkeypatch.chdir(folder)
    exec(shown.pop("xlmr"), scope := {})
    copied = scope["tokenizer"]
    for name, lines in shown.items():
        exec(lines, scope := {})
        piece, face = scope["processor"], scope["tokenizer"]
        path = folder / f"results/tokenizers/{name}/sentencepiece.model"
        assert piece.serialized_model_proto() == path.read_bytes()
        assert len(face) == piece.get_piece_size()
        for lines in LINES.values():
            assert [
                face(line, add_special_tokens=False)["input_ids"] for line in lines
            ] == piece.encode(lines)
            if name == "joint100k":
                assert [
                    copied.encode(line, add_special_tokens=False).ids for line in lines
                ] == piece.encode(lines)
    assert Page(text).open == []


def test_programs_are_those_that_the_page_on_clients_has_with_equal_ids():
    page = Path(__file__).parents[2].joinpath("docs/clients.md").read_text("utf-8")
    rows = re.findall(r"^\| \[(.*?)\].*\| ([^|]+) \|$", page, re.M)
    differ = {title: set(re.findall(r"`([\w-]+)`", other)) for title, other in rows}
    differ["sentence-transformers"] -= {"bpe-words"}  # with a chat template alone
    for kind, programs in loaded_by().items():
        for program in set(programs) - {"tokenizers"}:  # the others are compared with it
            own = rf"({re.escape(program)}|.* of {re.escape(program)})( \d|,|$)"
            found = [other for title, other in differ.items() if re.match(own, title)]
            assert found and not any(kind in other for other in found), (kind, program)


def test_six_scripts_are_cut_as_sentencepiece_cuts_them(run):
    folder, text = run
    blocks = re.findall(r'<ul class="cuts">(.*?)</ul>', text, re.S)
    sentences = [sentence for block in blocks for sentence in block.split("<li>")[1:]]
    names = [re.search(r'class="language">(.*?)<', sentence)[1] for sentence in sentences]
    assert len(names) == 6
    table = read_languages()
    assert {table[SIX.get(name, "de")].script for name in names} == {
        table[code].script for code in SIX.values()
    }
    for name, sentence in zip(names, sentences, strict=True):
        cuts = re.findall(
            r'class="by">(\w+) <span class="n">(\d+) tokens</span></p>\s*'
            r'<p class="cut" lang="(\w+)" dir="auto">(.*?)</p>',
            sentence,
        )
        assert [cut[0] for cut in cuts] == ["joint100k", "vocap100k"]
        for tokenizer, count, code, spans in cuts:
            assert table[code].name == name
            model = folder / f"results/tokenizers/{tokenizer}/sentencepiece.model"
            processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
            stretches = re.findall(r"<span[^>]*>(.*?)</span>", spans)
            line = LINES[code][0]  # the other has placeholders
            assert "".join(stretches) == line
            pieces = processor.encode(line, out_type=str)
            assert int(count) == len(pieces)
            # a piece's text has a space for U+2581, the first of them was put before
            # the line
            ours = [piece.replace("\u2581", " ") for piece in pieces]
            assert stretches == [text for text in [ours[0][1:], *ours[1:]] if text]


def test_the_line_is_the_first_sentence_that_is_cut_differently():
    lines = [
        "short",
        "a line with {{markup}} that is long enough",
        "words that both cut alike, long",
    ]
    lines += ["words of zeta that one cuts further", "zeta again, and long enough to take"]

    def words(line):
        return [(part, False) for part in re.findall(r" ?[^ ]+", line)], len(line.split())

    def more(line):
        cut = [(part, False) for part in re.findall(r" ?z| ?[^ z]+", line)]
        return cut, len(cut)

    for there, chosen in ((lines, lines[3]), (lines[:3], lines[2])):
        found = choose_line("xx", "Latn", there, [words, more])
        assert found == CutSentence("xx", chosen, [words(chosen), more(chosen)])
    assert choose_line("xx", "Deva", [*lines, LINES["hi"][0]], [words, more]).text == LINES["hi"][0]
    assert choose_line("xx", "Latn", ["too short"], [words]) is None


def test_languages_are_sorted_by_name_everywhere(made):
    folder, _, _ = made
    checked = 0
    for path in (folder / "out/tables").glob("*.tsv"):
        rows = list(read_tsv(path))
        codes = [row.get("language") for row in rows]
        if not rows or None in codes or "name" not in rows[0] or len(set(codes)) < 2:
            continue
        names = [row["name"] for row in rows]
        if path.stem.startswith(("unknown-", "paper-")):
            # characters by frequency; the worst languages of each tokenizer; the
            # paper's own order
            continue
        assert names == sorted(names, key=str.casefold), path
        checked += 1
    assert checked > 12


@pytest.mark.parametrize(("settings", "title"), CASES["titles"])
def test_the_heading_is_the_run_s_own(results, tmp_path, settings, title):
    text = write(results, tmp_path / "out", "--settings-json", json.dumps(settings))
    assert f"<h1>{title}</h1>" in text and f"<title>{title}</title>" in text


def test_colours_are_thirds_of_the_languages_by_their_text(results):
    lines = dict(
        zip(("ru", "de", "en", "fi", "hi", "it", "ja"), (5, 5, 9, 9, 30, 7, 8), strict=True)
    )
    rows = [(code, n, "") for code, n in lines.items()]
    write_tsv(results / "corpora/weights.tsv", ("language", "n", "source"), rows)
    found = load_results(results, None, {})
    for code, n in lines.items():
        end = next(end for end in (5, 8, 30) if n <= end)
        assert found.amounts[code] == f"n up to {end}"
    colours = {"n up to 5": "low", "n up to 8": "mid", "n up to 30": "high", "n unknown": "unknown"}
    assert found.colours() == colours
