"""Ctrl-C and SIGTERM at any moment: one line and 130 or 143, and nothing
half-written.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from vocap.command import LINE

VOCAP = "from vocap.command import main; main()"
BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def start(*arguments, program=VOCAP, **options):
    """The command, once it has handlers of its own: while Python itself starts, it has
    Python's.
    """
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
    """A signal to the whole group, as Ctrl-C sends it; the status and what the command
    said on standard error.
    """
    time.sleep(moment)
    with contextlib.suppress(ProcessLookupError):  # it has ended
        os.killpg(process.pid, number)
    return process.wait(600), process.communicate()[1]


def write_text(path, words, lines):
    """Lines of nine words each, drawn from so many random words."""
    rng = random.Random(0)
    words = [
        "".join(rng.choices("abcdefghiklmnoprstuwz", k=rng.randint(2, 9))) for _ in range(words)
    ]
    path.write_text(
        "".join(" ".join(rng.choices(words, k=9)) + "\n" for _ in range(lines)), "utf-8"
    )
    return path


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "train.txt", words=5000, lines=20_000)


@BOTH
def test_the_ladder_ends_with_one_line_at_many_moments(text, tmp_path, number):
    """Its reading process too, which gets the signal as well. A run takes some 0.8
    s.
    """
    for moment in [0.07 * k for k in range(10)]:
        out = tmp_path / str(moment)
        process = start("ladder", text, "-o", out, "--sizes", "200:2000:100", "--threads", "2")
        status, said = interrupt(process, number, moment)
        if status == 0 and moment > 0.2:  # a fast machine is done
            continue
        assert status == 128 + number, (moment, said)
        assert said.splitlines().count(LINE) == 1 and "Traceback" not in said, (moment, said)
        assert not list(tmp_path.rglob("*.part"))
        curve = out / "curve.tsv"  # whole, if the signal came after it
        assert not curve.exists() or len(curve.read_text("utf-8").splitlines()) == 20


PROGRAM = """
import os, sys, time
import vocap.cli
from vocap.command import main

def careful(*arguments, **options):
    try:
        print("begun", flush=True)
        time.sleep(20)
    finally:
        open(sys.argv[2], "w").close()

def swallowed(*arguments, **options):
    try:
        print("begun", flush=True)
        time.sleep(20)
    except:  # as of libraries
        pass
    print("again", flush=True)
    time.sleep(20)

def importing(*arguments, **options):
    import swallowing
    time.sleep(20)

def unpickling(*arguments, **options):
    def _numba_unpickle():  # whose exceptions numba's C code loses
        try:
            print("begun", flush=True)
            time.sleep(0.5)
        except KeyboardInterrupt:
            pass
    _numba_unpickle()
    time.sleep(20)

class Ending:
    def __del__(self, write=os.write, sleep=time.sleep):
        write(1, b"ending\\n")
        sleep(0.3)

def ending(*arguments, **options):
    time.sleep(0.1)  # until the test has seen the handlers
    sys.ending = Ending()  # deleted with the modules, after Python has reset its handlers

vocap.cli.vocap.main = globals()[sys.argv[1]]
main()
"""


@BOTH
def test_an_interrupt_cleans_up(number, tmp_path):
    process = start("careful", tmp_path / "cleaned", program=PROGRAM)
    assert process.stdout.readline() == "begun\n"
    assert interrupt(process, number, 0) == (128 + number, f"{LINE}\n")
    assert (tmp_path / "cleaned").exists()


@BOTH
def test_an_interrupt_waits_for_the_end_of_an_import(number, tmp_path):
    """Where `except:` of the module would swallow it."""
    module = (
        "import time\ntry:\n    print('begun', flush=True)\n    time.sleep(1)\nexcept:\n    pass\n"
    )
    (tmp_path / "swallowing.py").write_text(module, "utf-8")
    process = start("importing", program=PROGRAM, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert process.stdout.readline() == "begun\n"
    assert interrupt(process, number, 0) == (128 + number, f"{LINE}\n")


@BOTH
def test_an_interrupt_waits_for_an_object_of_compiled_loops(number):
    process = start("unpickling", program=PROGRAM)
    assert process.stdout.readline() == "begun\n"
    assert interrupt(process, number, 0) == (128 + number, f"{LINE}\n")


@BOTH
def test_a_signal_at_the_end_of_python_leaves_the_status(number):
    process = start("ending", program=PROGRAM)
    assert process.stdout.readline() == "ending\n"
    assert interrupt(process, number, 0) == (0, "")


def test_an_interrupt_that_a_library_swallows_needs_another():
    process = start("swallowed", program=PROGRAM)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "again\n"
    assert interrupt(process, signal.SIGINT, 0) == (130, f"{LINE}\n")


@BOTH
def test_sentencepiece_keeps_no_signal_waiting(tmp_path_factory, tmp_path, number):
    """Its training holds Python's lock, so the signal itself ends the process. A whole
    run takes some 10 s.
    """
    text = write_text(tmp_path_factory.mktemp("long") / "train.txt", words=60_000, lines=40_000)
    arguments = [
        "--size",
        3000,
        "--train",
        text,
        "--heldout",
        text,
        "--models",
        tmp_path / "models",
    ]
    process = start("train", *arguments, "--point", tmp_path / "point.tsv")
    status, said = interrupt(process, number, 1.5)
    assert status in (-number, 128 + number)
    assert "Traceback" not in said
    assert not list(tmp_path.rglob("*.*"))


def test_an_ignored_signal_stays_ignored():
    """As of a job that a shell started in the background."""
    process = start("--help", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert interrupt(process, signal.SIGINT, 0.05)[0] == 0
