"""The front page: lines that load, sentences that are cut as SentencePiece cuts them, languages by name."""

import html
import json
import re
import shutil

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tests.report.factories import make_byte_pair, make_results
from tests.report.pages import Page, write
from vocap.bpe.model_file import export as export_byte_pair
from vocap.files.tsv import read_tsv, write_tsv
from vocap.languages import read_languages
from vocap.report.data.results import Sentence
from vocap.report.data.sentences import choose, reads
from vocap.tokenizer_files.export import export
from vocap.tokenizer_files.layout import Contents, build_model, serialize
from vocap.tokenizers.bpe_commands import bpe
from vocap.unigram.sentencepiece_trainer import train

LINES = {
    "en": ["The cat sat on the mat and looked at the moon.", "Press {{key}} to open <b>$1</b> in the editor now."],
    "de": ["Die Katze sitzt auf der Matte und sieht den Mond."],
    "ru": ["Кошка сидела на коврике и смотрела на луну."],
    "hi": ["बिल्ली चटाई पर बैठी थी और चाँद को देख रही थी।"],
    "fa": ["گربه روی فرش نشسته بود و به ماه نگاه کرد."],
    "km": ["ឆ្មាអង្គុយលើកន្ទេលហើយមើលទៅព្រះច័ន្ទនៅលើមេឃ។"],
    "ja": ["猫はマットの上に座って、夜空に浮かぶ大きな月をじっと見ていました。"],
}
SIX = {"English": "en", "Russian": "ru", "Persian": "fa", "Hindi": "hi", "Japanese": "ja", "Khmer": "km"}


def make_model(path, size):
    """A small SentencePiece model in the layout of this project, from the lines above."""
    text = [line for lines in LINES.values() for line in lines] * 8
    trained = sentencepiece_model_pb2.ModelProto.FromString(train(text, size, threads=1, coverage=1.0))
    normal = [entry for entry in trained.pieces if entry.type == entry.NORMAL]
    contents = Contents([entry.piece for entry in normal], [entry.score for entry in normal])
    path.write_bytes(serialize(build_model(contents, trained.normalizer_spec)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Made results with two real tokenizers, held-out lines, and the page written from the folder above them."""
    folder = tmp_path_factory.mktemp("front")
    results = make_results(folder / "results")
    for code, lines in LINES.items():
        (results / "corpora" / code / "heldout.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    for name, size in (("joint100k", 148), ("vocap100k", 170)):
        make_model(results / "tokenizers" / name / "sentencepiece.model", size)
        export(
            results / "tokenizers" / name / "sentencepiece.model", results / "tokenizers" / name / "huggingface"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, write("results", folder / "out")


def test_the_lines_load_from_the_folder_of_the_command(run, monkeypatch):
    folder, text = run
    page = Page(text)
    imports = re.search(r'aria-label="Imports">(.*?)</pre>', text, re.S)[1]
    shown = {
        name: body.replace("&#34;", '"').split("\n")
        for name, body in re.findall(r'aria-label="(\w+k)">(.*?)</pre>', text, re.S)
    }
    assert list(shown) == ["joint100k", "vocap100k"]  # the others have no model here
    monkeypatch.chdir(folder)
    scope = {}
    exec(imports, scope)
    for name, (piece_line, face_line) in shown.items():
        piece, face = eval(piece_line, scope), eval(face_line, scope)
        path = folder / f"results/tokenizers/{name}/sentencepiece.model"
        assert piece.serialized_model_proto() == path.read_bytes()
        assert len(face) == piece.get_piece_size()
        for lines in LINES.values():
            assert [face(line, add_special_tokens=False)["input_ids"] for line in lines] == piece.encode(lines)
    assert page.open == []


def test_six_scripts_are_cut_as_sentencepiece_cuts_them(run):
    folder, text = run
    block = re.search(r'<ul class="cuts">(.*?)</ul>', text, re.S)[1]
    sentences = block.split("<li>")[1:]
    names = [re.search(r'class="language">(.*?)<', sentence)[1] for sentence in sentences]
    assert len(names) == 6
    table = read_languages()
    assert {table[SIX.get(name, "de")].script for name in names} == {table[code].script for code in SIX.values()}
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
            # a piece's text has a space for U+2581, the first of them was put before the line
            ours = [piece.replace("\u2581", " ") for piece in pieces]
            assert stretches == [text for text in [ours[0][1:], *ours[1:]] if text]


def test_byte_pair_encoding_is_loaded_and_cut_beside_unigram(tmp_path, monkeypatch):
    results = make_results(tmp_path / "results")
    codes = ["en", "de", "ru", "hi", "fa", "km", "ja"]
    corpora, weights = tmp_path / "corpora", tmp_path / "weights.tsv"
    for code in codes:
        (corpora / code).mkdir(parents=True)
        (corpora / code / "train.txt").write_text("".join(f"{line}\n" for line in LINES[code]) * 4, "utf-8")
        (results / "corpora" / code / "heldout.txt").write_text(
            "".join(f"{line}\n" for line in LINES[code]), "utf-8"
        )
    write_tsv(weights, ("language", "n"), [(code, 4 * len(LINES[code])) for code in codes])
    for name in ("vocap100k", "vocap200k", "joint200k", "xlmr"):
        shutil.rmtree(results / "tokenizers" / name)
    make_byte_pair(
        results, "pairs", "bpe", ["en", "de", "ru", "hi", "fa", "it", "sw", "km", "ja", "fi"], 100_000, 8
    )
    place = results / "tokenizers/pairs"
    arguments = ["--corpora", corpora, "--weights", weights, "--total", "400", "-o", tmp_path / "trained"]
    bpe(list(map(str, arguments)), standalone_mode=False)
    shutil.copy(tmp_path / "trained/tokenizer.json", place)
    export_byte_pair(place / "tokenizer.json", place / "huggingface")
    make_model(results / "tokenizers/joint100k/sentencepiece.model", 148)
    monkeypatch.chdir(tmp_path)
    text = write("results", tmp_path / "out")
    scope = {}
    exec(re.search(r'aria-label="Imports">(.*?)</pre>', text, re.S)[1], scope)
    body = re.search(r'aria-label="pairs">(.*?)</pre>', text, re.S)[1].replace("&#34;", '"')
    loaded, face = (eval(line, scope) for line in body.split("\n"))
    block = re.search(r'<ul class="cuts">(.*?)</ul>', text, re.S)[1]
    pattern = (
        r'class="by">pairs <span class="n">(\d+) tokens</span></p>\s*<p class="cut" lang="(\w+)".*?>(.*?)</p>'
    )
    cuts = re.findall(pattern, block)
    assert len(cuts) == 6
    for count, code, spans in cuts:
        line = html.unescape("".join(re.findall(r"<span[^>]*>(.*?)</span>", spans)))
        assert line in LINES[code]
        ids = loaded.encode(line, add_special_tokens=False).ids
        assert int(count) == len(ids) and ids == face(line, add_special_tokens=False)["input_ids"]


def test_the_line_is_typical_and_the_first_of_equals():
    """Tokens of A: words; of B: words and a token more for each z. All lines: 12 of A, 15 of B, 1.25."""
    lines = ["aaaa bbbb cccc dddd eeee ffff", "zaaa bbbb cccc zddd", "zaaa bbbb cccc dddd", "bzaa bbbb cccc dddd"]
    lines = [f"{line} {'x' * 14}" for line in lines]

    def words(line):
        return [(part, False) for part in re.findall(r" ?[^ ]+", line)], len(line.split())

    def more(line):
        return [(part, False) for part in re.findall(r" ?z| ?[^ z]+", line)], len(line.split()) + line.count("z")

    found = choose("xx", "Latn", lines, [words, more])
    # ratios 7/7 (cut alike: left out), 7/5, 6/5, 6/5: of the last three 19/15, nearest the first 6/5
    assert found == Sentence("xx", lines[2], [words(lines[2]), more(lines[2])])
    assert choose("xx", "Latn", ["too short"], [words]) is None


def test_markup_and_other_scripts_do_not_read_as_sentences():
    assert reads("Die Katze sitzt auf der Matte.", "Latn") and reads(LINES["hi"][0], "Deva")
    for line, script in (("Save {{page}} now please", "Latn"), ("the moon", "Deva"), ("луна", "Latn")):
        assert not reads(line, script)


def test_languages_are_sorted_by_name_everywhere(made):
    folder, _, _ = made
    checked = 0
    for path in (folder / "out/tables").glob("*.tsv"):
        rows = list(read_tsv(path))
        codes = [row.get("language") for row in rows]
        if not rows or None in codes or "name" not in rows[0] or len(set(codes)) < 2:
            continue
        names = [row["name"] for row in rows]
        if path.stem.startswith(("unknown-", "parity-worst", "paper-")):
            continue  # characters by frequency; the worst languages of each tokenizer; the paper's own order
        assert names == sorted(names, key=str.casefold), path
        checked += 1
    assert checked > 12


def test_warnings_stand_before_anything_else(tmp_path):
    results = make_results(tmp_path / "results")
    path = results / "tokenizers/joint200k/description.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"short": 4567}))
    text = write(results, tmp_path / "out")
    first = text[text.index('<section id="overview"') :]
    assert re.search(r"<h2[^>]*>Your tokenizers</h2>\s*<p class=.note warning.>", first)
    shown = re.sub(r"<[^>]*>", " ", first[: first.index("Largest gains")])
    assert "T was not reached." in shown and "joint200k is 4,567 ids short of 200,000" in shown


@pytest.mark.parametrize(
    ("settings", "title"),
    [
        ({}, "VoCap: tokenizers of 100K and 200K ids for 11 languages"),
        ({"report": {"title": None}}, "VoCap: tokenizers of 100K and 200K ids for 11 languages"),
        ({"report": {"title": "My words"}}, "My words"),
        ({"languages": ["en"], "tokenizers": {}}, "VoCap: 1 language"),
    ],
)
def test_the_heading_is_the_run_s_own(tmp_path, settings, title):
    text = write(make_results(tmp_path / "results"), tmp_path / "out", "--settings-json", json.dumps(settings))
    assert f"<h1>{title}</h1>" in text and f"<title>{title}</title>" in text
