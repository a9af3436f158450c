"""Ctrl-C and SIGTERM at any moment: one line and 130 or 143, and nothing half-written."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.pretraining.factories import pretrain_arguments
from vocap.interruption import LINE

VOCAP = "from vocap.command import main; main()"
BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def start(*arguments, program=VOCAP, **options):
    """The command, once it has handlers of its own: while Python itself starts, it has Python's."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, start_new_session=True, **pipes, **options)
    while process.poll() is None and not caught(process.pid):
        time.sleep(0.002)
    return process


def caught(pid):
    """Whether a process handles SIGTERM, which Python alone does not."""
    with open(f"/proc/{pid}/status") as file:
        masks = dict(line.split(":", 1) for line in file)
    return bool(int(masks["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1)


def interrupt(process, number, moment):
    """A signal to the whole group, as Ctrl-C sends it; the status and what the command said on standard error."""
    time.sleep(moment)
    with contextlib.suppress(ProcessLookupError):  # it has ended
        os.killpg(process.pid, number)
    return process.wait(60), process.communicate()[1]


def write_text(path, words, lines):
    """Lines of nine words each, drawn from so many random words."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghiklmnoprstuwz", k=rng.randint(2, 9))) for _ in range(words)]
    path.write_text("".join(" ".join(rng.choices(words, k=9)) + "\n" for _ in range(lines)), "utf-8")
    return path


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "train.txt", words=5000, lines=20_000)


@BOTH
def test_the_ladder_ends_with_one_line_at_many_moments(text, tmp_path, number):
    """Its reading process too, which gets the signal as well. A run takes some 0.8 s."""
    for moment in [0.07 * k for k in range(10)]:
        process = start("ladder", text, "-o", tmp_path / "out", "--sizes", "200:2000:100", "--threads", "2")
        status, said = interrupt(process, number, moment)
        if status == 0 and moment > 0.2:  # a fast machine is done
            continue
        assert status == 128 + number, (moment, said)
        assert said.splitlines().count(LINE) == 1 and "Traceback" not in said, (moment, said)
        assert not list(tmp_path.rglob("*.part"))
        assert not (tmp_path / "out" / "curve.tsv").exists()


@BOTH
def test_pretraining_ends_with_one_line_until_it_trains(tmp_path, number):
    arguments = pretrain_arguments(tmp_path / "made", steps=5000)
    for moment in [0, 0.3, 0.7, 1.4, 3]:
        process = start("pretrain", *arguments, "-o", tmp_path / "out")
        status, said = interrupt(process, number, moment)
        assert "Traceback" not in said, (moment, said)
        if status == 75:
            assert "stopped on request" in said
        else:
            assert status == 128 + number and said.splitlines()[-1] == LINE, (moment, status, said)
            assert said.count(LINE) == 1, (moment, said)
        assert not list(tmp_path.rglob("*.part"))


SWALLOWED = """
import sys, time
import vocap.cli
from vocap.command import main

def deaf(*arguments, **options):
    print("begun", flush=True)
    for _ in range(2):
        try:
            time.sleep(20)
        except:  # as of libraries
            pass
    time.sleep(20)
    return 0

class Last:
    def __del__(self):  # as of regex, of which importing transformers runs thousands
        print("begun", flush=True)
        time.sleep(20)

def destructor(*arguments, **options):
    last = Last()
    del last
    time.sleep(20)
    return 0

class Half:
    def __init__(self):
        print("begun", flush=True)
        time.sleep(20)
        self.handle = 1

    def __del__(self):  # as of llvmlite, of whose objects numba makes thousands
        del self.handle

def half(*arguments, **options):
    Half()

def wrong(*arguments, **options):
    try:
        print("begun", flush=True)
        time.sleep(20)
    except BaseException:
        raise RuntimeError("a library's own error")

def careful(*arguments, **options):
    try:
        print("begun", flush=True)
        time.sleep(20)
    finally:
        time.sleep(1.2)  # cleaning up is not interrupted
        open(sys.argv[2], "w").close()

def importing(*arguments, **options):
    import slowly  # the module of the test, on sys.path

def late(*arguments, **options):
    import atexit
    atexit.register(time.sleep, 20)
    print("begun", flush=True)
    return 0

vocap.cli.vocap.main = globals()[sys.argv[1]]
main()
"""


@BOTH
@pytest.mark.parametrize("kind", ["deaf", "destructor", "half", "wrong", "careful", "late"])
def test_an_interrupt_arrives_though_it_is_swallowed(kind, number, tmp_path):
    process = start(kind, tmp_path / "cleaned", program=SWALLOWED)
    assert process.stdout.readline() == "begun\n"
    began = time.monotonic()
    status, said = interrupt(process, number, 0.2)
    assert (status, said) == (128 + number, f"{LINE}\n")
    assert time.monotonic() - began < 10
    assert kind != "careful" or (tmp_path / "cleaned").exists()


@BOTH
def test_an_import_is_not_cut_short(tmp_path, number, monkeypatch):
    """C++ code that runs while torch is imported aborts the process at an exception of Python's."""
    code = "import sys, time\nprint('begun', flush=True)\ntime.sleep(1.2)\nopen(sys.argv[2], 'w').close()\n"
    (tmp_path / "slowly.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    process = start("importing", tmp_path / "imported", program=SWALLOWED)
    assert process.stdout.readline() == "begun\n"
    assert interrupt(process, number, 0.2) == (128 + number, f"{LINE}\n")
    assert (tmp_path / "imported").exists()


def test_a_second_ctrl_c_does_not_wait_for_what_hangs(tmp_path):
    hangs = SWALLOWED.replace("time.sleep(1.2)", "time.sleep(60)")
    process = start("careful", tmp_path / "cleaned", program=hangs)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    status, said = interrupt(process, signal.SIGINT, 2.5)
    assert (status, said) == (130, f"{LINE.split(';')[0]}\n")


@BOTH
def test_sentencepiece_keeps_no_signal_waiting(tmp_path_factory, tmp_path, number):
    """Its training holds Python's lock, so the signal itself ends the process. A whole run takes some 10 s."""
    text = write_text(tmp_path_factory.mktemp("long") / "train.txt", words=60_000, lines=40_000)
    arguments = ["--size", 3000, "--train", text, "--heldout", text, "--models", tmp_path / "models"]
    process = start("train", *arguments, "--point", tmp_path / "point.tsv")
    status, said = interrupt(process, number, 1.5)
    assert status in (-number, 128 + number)
    assert "Traceback" not in said
    assert not list(tmp_path.rglob("*.*"))


def test_an_ignored_signal_stays_ignored():
    """As of a job that a shell started in the background."""
    process = start("--help", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert interrupt(process, signal.SIGINT, 0.05)[0] == 0
