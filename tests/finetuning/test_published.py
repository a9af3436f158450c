"""XTREME's files from the published archives, against XTREME's own scripts."""

import csv
import json
import lzma
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.archives import write_tar, write_zip
from tests.finetuning.factories import read
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object, write_json
from vocap.finetuning.published import ARCHIVES, unpack
from vocap.finetuning.tasks import TASKS, DataSet

# Multiword tokens, of which words tie by the basic tree and by their tags; an empty
# node; a space and a joiner in a word; a sentence without its words, and one with all
# words but one.
CONLLU = """\
# sent_id = 1
1-2	dal	_	_	_	_	_	_	_	_
1	da	da	ADP	E	_	3	case	3:case	_
2	il	il	DET	RD	_	3	det	3:det	_
3	mare	mare	NOUN	S	_	0	root	0:root	_
4-5	vámonos	_	_	_	_	_	_	_	_
4	vamos	ir	VERB	_	_	3	acl	3:acl	_
5	nos	nosotros	PRON	_	_	4	obj	4:obj	_
6	.	.	PUNCT	_	_	3	punct	3:punct	_

1-2	des	_	_	_	_	_	_	_	_
1	de	de	ADP	_	_	4	case	4:case|3:nmod:de	_
2	les	le	DET	_	_	4	det	4:det	_
3	a b	x	X	_	_	4	dep	4:dep	_
4	mi\u200cravam	x	VERB	_	_	0	root	0:root	_
4.1	left	leave	VERB	_	_	_	_	0:root|4:conj	_
5-7	abc	_	_	_	_	_	_	_	_
5	a	a	PRON	_	_	4	obj	4:obj|4.1:obj	_
6	b	b	AUX	_	_	4	aux	4:aux	_
7	c	c	NOUN	_	_	5	nmod	5:nmod	_

1	_	_	NOUN	_	_	2	nsubj	_	_
2	_	_	VERB	_	_	0	root	_	_
3	_	_	PUNCT	_	_	2	punct	_	_

1	x	_	SYM	_	_	0	root	_	_
2	_	_	SYM	_	_	1	dep	_	_
3	y	_	SYM	_	_	1	dep	_	_

"""

# What XTREME's conllu_to_conll.py and udpos_preprocess (commit 838c13b6, run with
# networkx 3.6) make of it.
TAGGED = (
    "dal\tADP\nmare\tNOUN\nvámonos\tVERB\n.\tPUNCT\n\ndes\tDET\nab\tX\nmiravam\tVERB\nabc\t{tie}\n\n"
    "x\tSYM\n_\tSYM\ny\tSYM\n"
)


GSD = "u/a/de_gsd-ud-train.conllu"


def treebank(word):
    return f"1\t{word}\t_\tX\t_\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(("language", "tie"), [("de", "PRON"), ("it", "AUX"), ("fr", "AUX")])
def test_treebanks_are_converted_as_by_the_scripts_of_xtreme(tmp_path, language, tie):
    folder = f"ud-treebanks-v2.5/UD_X-Made/{language}_made-ud"
    other = {
        f"{folder}-train.conllu": CONLLU,
        f"{folder}-dev.txt": "x",
        "ud-treebanks-v2.5/xx_y-ud-dev.conllu": "x",
    }
    archive = write_tar(tmp_path / "ud.tgz", {f"{folder}-dev.conllu": CONLLU, **other})
    unpack("udpos", [archive], tmp_path, [f"udpos/dev-{language}.tsv"])
    text = (tmp_path / f"udpos/dev-{language}.tsv").read_text("utf-8")
    assert text == TAGGED.format(tie=tie)
    assert [path.name for path in (tmp_path / "udpos").iterdir()] == [f"dev-{language}.tsv"]
    assert len(read(tmp_path, TASKS["udpos"], "dev", language)) == 3


def test_treebanks_of_a_language_are_joined_in_the_order_of_their_names(tmp_path):
    files = {f"u/b/de_hdt-ud-train-{part}.conllu": treebank(part) for part in ("b-1", "a-2", "a-1")}
    archive = write_tar(tmp_path / "ud.tgz", {**files, GSD: treebank("gsd")})
    unpack("udpos", [archive], tmp_path, ["udpos/train-de.tsv"])
    text = (tmp_path / "udpos/train-de.tsv").read_text()
    assert text == "gsd\tX\n\na-1\tX\n\na-2\tX\n\nb-1\tX\n"


@pytest.mark.parametrize(
    "line",
    [
        "1\ttwo columns",
        "1-2\tab" + "\t_" * 8 + "\n2\ta\t_\tX\t_\t_\t_\t_\t_\t_",
        "1-9\ta" + "\t_" * 8,
    ],
)
def test_what_is_no_treebank_is_named(tmp_path, line):
    archive = write_tar(tmp_path / "ud.tgz", {GSD: f"{line}\n" + treebank("x")})
    with pytest.raises(VocapError, match=r"ud\.tgz: damaged.*fetch it anew"):
        unpack("udpos", [archive], tmp_path, ["udpos/train-de.tsv"])


def test_pairs_come_with_their_labels_in_the_form_of_xtreme(tmp_path):
    header = "\t".join(["language", "gold_label", *"cdef", "sentence1", "sentence2", "more"])
    rows = ['de\tneutral\t\t\t\t\tEr sagte "ja".\t Gut \t9', "en\tentailment\t\t\t\t\tYes.\tNo.\t9"]
    train = 'premise\thypo\tlabel\nA "b" c\tD\tcontradictory\nE\tF\tneutral\n'
    table = "\n".join([header, *rows]) + "\n"
    files = {f"XNLI-1.0/xnli.{split}.tsv": table for split in ("dev", "test")}
    files["__MACOSX/XNLI-1.0/xnli.dev.tsv"] = "noise"
    tables = write_zip(tmp_path / "XNLI-1.0.zip", files)
    training = write_zip(
        tmp_path / "XNLI-MT-1.0.zip", {"XNLI-MT-1.0/multinli/multinli.train.en.tsv": train}
    )
    paths = ["xnli/dev-de.tsv", "xnli/test-en.tsv", "xnli/train-en.tsv"]
    unpack("xnli", [tables, training], tmp_path, paths)
    assert (tmp_path / paths[0]).read_bytes() == b'"Er sagte ""ja""."\tGut\tneutral\r\n'
    assert (tmp_path / paths[1]).read_bytes() == b"Yes.\tNo.\tentailment\r\n"
    assert not (tmp_path / "xnli/dev-en.tsv").exists()
    pair = read(tmp_path, TASKS["xnli"], "train", "en")[0]
    assert (pair.first, pair.second, pair.label) == ('A "b" c', "D", "contradiction")
    with open(tmp_path / paths[2], newline="") as file:
        assert next(csv.reader(file, delimiter="\t")) == ['A "b" c', "D", "contradiction"]

    table = "id\tsentence1\tsentence2\tlabel\n1\tEins\tZwei\t0\n"
    names = {"train": "train", "dev_2k": "dev", "test_2k": "test"}
    archive = write_tar(
        tmp_path / "x-final.tar.gz", {f"x-final/de/{name}.tsv": table for name in names}
    )
    unpack("pawsx", [archive], tmp_path, ["pawsx/dev-de.tsv", "pawsx/test-de.tsv"])
    assert (tmp_path / "pawsx/test-de.tsv").read_bytes() == b"Eins\tZwei\t0\r\n"


@pytest.mark.skipif("VOCAP_DATA" not in os.environ, reason="needs XTREME's files: set VOCAP_DATA")
def test_questions_of_tydiqa_are_parted_by_language_as_in_the_file_of_xtreme(tmp_path):
    """The published file has all languages and whole ids; XTREME's, which is at hand,
    English and their ends.
    """
    path = "tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.en.train.json"
    packed = Path(os.environ["VOCAP_DATA"], "xtreme", f"{path}.xz").read_bytes()
    theirs = json.loads(lzma.decompress(packed))
    published = []
    for entry in theirs["data"]:
        for paragraph in entry["paragraphs"]:
            questions = [
                {**question, "id": f"english-123-{question['id']}"} for question in paragraph["qas"]
            ]
            published.append({"paragraphs": [{**paragraph, "qas": questions}]})
    published[1]["paragraphs"].append(
        {"context": "x", "qas": [{"id": "thai-1-2", "answers": [], "question": "?"}]}
    )
    training = tmp_path / "tydiqa-goldp-v1.1-train.json"
    write_json(training, {"data": published, "version": theirs["version"]})
    dev = {
        f"tydiqa-goldp-v1.1-dev/tydiqa-goldp-dev-{name}.json": name
        for name in ("english", "telugu")
    }
    development = write_tar(tmp_path / "dev.tgz", dev)
    further = "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.te.dev.json"
    unpack("tydiqa", [training, development], tmp_path, [path, further])
    assert read_object(tmp_path / path) == theirs
    assert (tmp_path / further).read_text() == "telugu"


def test_questions_that_are_published_in_their_form_are_copied(tmp_path):
    name = "MLQA_V1/dev/dev-context-de-question-de.json"
    archive = write_zip(tmp_path / "MLQA_V1.zip", {name: "{}", "MLQA_V1/README.md": "x"})
    unpack("mlqa", [archive], tmp_path, [f"mlqa/{name}"])
    assert (tmp_path / "mlqa" / name).read_text() == "{}"
    for split in ("train", "dev"):
        (tmp_path / f"{split}-v1.1.json").write_text(split)
    archives = [tmp_path / f"{split}-v1.1.json" for split in ("train", "dev")]
    unpack("squad", archives, tmp_path, ["squad/dev-v1.1.json"])
    assert (tmp_path / "squad/dev-v1.1.json").read_text() == "dev"
    assert not (tmp_path / "squad/train-v1.1.json").exists()


def test_every_file_of_the_free_tasks_has_a_place_and_an_archive():
    for task in TASKS.values():
        for language in task.languages:
            folder = DataSet(task, "test", language).candidates()[0].split("/")[0]
            assert (folder in ARCHIVES) == (task.name != "panx")
    assert DataSet(TASKS["udpos"], "train", "hi").candidates()[0] == "udpos/train-hi.tsv"
    assert DataSet(TASKS["xnli"], "train", "hi").candidates() == []


def test_archives_that_cannot_be_used_are_named(tmp_path):
    archive = write_zip(tmp_path / "MLQA_V1.zip", {"MLQA_V1/dev/a.json": "{}" * 5000})
    path = "mlqa/MLQA_V1/dev/a.json"
    with pytest.raises(VocapError, match=r"MLQA_V1\.zip: no mlqa/b\.json in it.*by hand"):
        unpack("mlqa", [archive], tmp_path, ["mlqa/b.json"])
    damaged = bytearray(archive.read_bytes())
    damaged[60] ^= 255
    archive.write_bytes(damaged)
    with pytest.raises(VocapError, match=r"MLQA_V1\.zip: damaged.*fetch it anew"):
        unpack("mlqa", [archive], tmp_path, [path])
    archive.write_bytes(b"<html>not here</html>")
    with pytest.raises(VocapError, match=r"MLQA_V1\.zip: damaged"):
        unpack("mlqa", [archive], tmp_path, [path])
    (tmp_path / "t.json").write_text("[1]")
    with pytest.raises(VocapError, match=r"t\.json, .*damaged"):
        unpack("tydiqa", [tmp_path / "t.json", archive], tmp_path, ["tydiqa/x"])
    with pytest.raises(UsageError, match="no collection 'panx'"):
        unpack("panx", [archive], tmp_path, ["panx/dev-de.tsv"])
    assert not (tmp_path / path).exists()


@pytest.mark.parametrize("pack", ["tar", "zip"])
@pytest.mark.parametrize("place", ["../x", "a/../../../x", "{absolute}", "link/x", "hard"])
def test_no_archive_writes_outside_of_its_folder(tmp_path, pack, place):
    """By a path or by a link: the member is refused or left out, or lies inside."""
    outside, home = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    (outside / "x").write_text("mine")
    name = place.format(absolute=outside / "x")
    bank = {GSD: treebank("x")}
    if pack == "tar":
        links = [(tarfile.SYMTYPE, "link", outside), (tarfile.LNKTYPE, "hard", outside / "x")]
        archive = write_tar(tmp_path / "ud.tgz", {name: "theirs", **bank}, links)
    else:
        archive = tmp_path / "ud.zip"
        with zipfile.ZipFile(archive, "w") as file:
            link = zipfile.ZipInfo("link")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            if not place.startswith("link"):
                file.writestr(link, str(outside))
            for path, content in {name: "theirs", **bank}.items():
                file.writestr(path, content)
    home.mkdir()
    try:
        unpack("udpos", [archive], home, ["udpos/train-de.tsv"])
    except VocapError as error:
        assert pack == "tar" and ".." in place and "ud.tgz: damaged (" in str(error)
    else:
        assert (home / "udpos/train-de.tsv").read_text() == "x\tX\n"
    assert {path.name for path in tmp_path.iterdir()} == {archive.name, "outside", "run"}
    assert (outside / "x").read_text() == "mine" and list(outside.iterdir()) == [outside / "x"]
    assert {path.name for path in home.rglob("*")} <= {"udpos", "train-de.tsv"}
