"""The command as a whole: every verb explains itself, and a mistake is one line with
the right exit status.
"""

import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests import commands
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines
from vocap.cli import VERBS, vocap

VOCAP = Path(sys.executable).parent / "vocap"


def run(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [VOCAP, *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    shown = commands.run(vocap, verb, "--help")
    assert shown.startswith(f"Usage: vocap {verb}") and len(shown.splitlines()) > 4


def test_the_list_of_verbs_is_complete():
    shown = run("--help")
    assert shown.returncode == 0
    assert all(f"\n  {verb} " in shown.stdout for verb in VERBS)
    assert "..." not in shown.stdout.partition("Commands:")[2]  # no summary is cut off
    assert (
        shown.stdout.index("\n  ladder ")
        < shown.stdout.index("\nRules of the workflow")
        < shown.stdout.index("\n  mono ")
    )


def test_python_runs_the_package():
    ran = subprocess.run(
        [sys.executable, "-m", "vocap", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == run("--version").stdout


def test_a_mistyped_verb_is_told_the_nearest():
    assert "'allocate'" in run("alocate", "--help").stderr
    assert "Did you mean" not in run("qqq").stderr


def test_verbs_are_completed():
    environment = os.environ | {
        "_VOCAP_COMPLETE": "bash_complete",
        "COMP_WORDS": "vocap al",
        "COMP_CWORD": "1",
    }
    assert run(env=environment).stdout.split() == ["plain,alp", "plain,allocate"]


@pytest.mark.parametrize(
    "arguments",
    [["no-such-verb"], ["allocate"], ["alp", "--no-such-option"], ["train", "--size", "x"]],
)
def test_a_wrong_call_exits_with_2(arguments):
    shown = run(*arguments)
    assert shown.returncode == 2
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_what_it_is(verb):
    for parameter in vocap.get_command(None, verb).params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            said = parameter.help or ""
            assert said.endswith((".", "]")) and not said[0].islower(), parameter.opts


def test_numbers_are_finite():
    for word in ("nan", "inf", "-inf"):
        shown = run("mix", "--alpha", word, "--weights", "w.tsv", "--corpora", ".", "-o", "mix.txt")
        assert shown.returncode == 2
        assert "--alpha" in shown.stderr and len(shown.stderr.splitlines()) == 1
    for verb in VERBS:
        for parameter in vocap.get_command(None, verb).params:
            if parameter.type.name.startswith("float"):
                with pytest.raises(click.BadParameter):
                    parameter.type_cast_value(None, ["nan"] if parameter.multiple else "nan")


@pytest.mark.parametrize("code", ["", "../x", "a b", "a\nb"])
def test_the_code_of_a_language_is_checked_at_once(code, tmp_path):
    shown = run("mono", "--model", "m.model", "--language", code, "-o", str(tmp_path / "out"))
    assert shown.returncode == 2
    assert "--language" in shown.stderr and "letters, digits" in shown.stderr
    assert not (tmp_path / "out").exists()


def test_a_file_where_a_folder_is_needed_is_named(tmp_path):
    (tmp_path / "text").write_text("a line\n" * 30)
    outputs = [f"--{part}={tmp_path / 'text' / part}" for part in ("train", "heldout", "stats")]
    shown = run("sample", "--language", "de", str(tmp_path / "text"), *outputs)
    assert shown.returncode == 1
    assert shown.stderr.splitlines()[-1].startswith(f"vocap: error: {tmp_path / 'text'}")
    assert "another path" in shown.stderr and "Traceback" not in shown.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "gbk"])
def test_a_terminal_that_is_not_utf8_gets_escapes(encoding, tokenizer):
    text = tokenizer / "text.txt"
    call = ["evaluate", "--tokenizer", f"\u0915={tokenizer}", "--text", f"en={text}"]
    shown = run(*call, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert shown.returncode == 0 and "\\u0915" in shown.stdout


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Path:
    """A tokenizer's folder with both forms, some text, and a model in `model/`."""
    from tests.adapt.made import make_unigram, small_model

    lines = make_lines("en", 300)
    folder = tmp_path_factory.mktemp("tokenizer") / "made"
    make_unigram(folder, lines, 150)
    write_lines(folder / "text.txt", lines)
    small_model("XLMRobertaForMaskedLM", 152).save_pretrained(folder / "model")
    return folder


@pytest.mark.parametrize("verb", ["export", "trim", "tokenize", "mono"])
def test_a_device_without_space_is_one_line_and_leaves_nothing(tokenizer, tmp_path, verb):
    model, text, out = f"{tokenizer}/sentencepiece.model", f"{tokenizer}/text.txt", tmp_path / "out"
    arguments = {
        "export": [model],
        "trim": [str(tokenizer), f"--text=en={text}", f"--model={tokenizer}/model"],
        "tokenize": [
            text,
            f"--tokenizer={model}",
            f"--heldout={text}",
            "--language=en",
            "--length=16",
        ],
        "mono": ["--model", model, "--language=en"],
    }[verb]
    shown = run(verb, *arguments, "-o", str(out), preexec_fn=small_files)
    last = shown.stderr.splitlines()[-1]
    assert shown.returncode == 1 and "Traceback" not in shown.stderr
    assert (
        last.startswith(f"vocap: error: {out}") and "File too large" in last and ".part" not in last
    )
    left = [path.name for path in out.rglob("*") if path.is_file()] if out.is_dir() else []
    assert verb == "tokenize" or not left, left
    assert list(tmp_path.iterdir()) in ([], [out])


def test_freed_memory_is_used_again():
    """Twenty arrays one after the other take new pages once."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("malloc of another C library")
    code = (
        "import resource\nfrom vocap.command import reuse_freed_memory\nreuse_freed_memory()\nfor "
        "_ in range(20):\n    bytearray(3 * "
        "2**24)\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_minflt * resource.getpagesize())"
    )
    pages = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert int(pages.stdout) < 3 * 3 * 2**24
