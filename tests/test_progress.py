"""What is said on standard error while a long file is read."""

import logging
import os
import pty
import subprocess
import sys
import termios

import pytest

from vocap import progress
from vocap.text_files import lines
from vocap.text_files.records import read_blocks


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_nothing_is_said_of_five_seconds(tmp_path, clock, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(lines, "BLOCK", 512)
    (tmp_path / "text.txt").write_text("a line\n" * 1000, "utf-8")
    for _ in read_blocks(tmp_path / "text.txt"):
        clock[0] += 0.3
    assert not caplog.messages


def test_a_line_after_five_seconds_and_ever_fewer(clock, caplog):
    caplog.set_level(logging.INFO)
    said = progress.Progress("text.txt")
    for second in range(1, 401):
        clock[0] = 100.0 + second
        said.tell(second * 1000, second * 10, 4000)
    assert len(caplog.messages) == 9  # after 5, 15, 35, 75, 135, 195, 255, 315 and 375 s
    assert caplog.messages[1] == "text.txt: 15,000 lines in 15 s, 4% of the file, about 385 s left"
    said = progress.Progress("pipe")
    clock[0] += 6
    said.tell(7, 70, 0)  # of unknown size
    assert caplog.messages[-1] == "pipe: 7 lines in 6 s"


def test_steps_say_the_time_that_is_left(clock, caplog):
    caplog.set_level(logging.INFO)
    with progress.Steps("training", 40) as steps:
        for _ in range(50):  # ten more than foreseen
            clock[0] += 1
            steps.advance()
    assert caplog.messages == [
        "training: 12 % in 5 s, about 35 s left",
        "training: 38 % in 15 s, about 25 s left",
        "training: 88 % in 35 s, about 5 s left",
    ]


def test_steps_are_a_bar_on_a_terminal_and_nothing_stays():
    """In a pseudo-terminal of 80 columns, after the second in which nothing is
    shown.
    """
    program = (
        "import time\nfrom vocap.progress import Steps\n"
        "with Steps('training', 4) as steps:\n    for _ in range(3):\n"
        "        time.sleep(0.6)\n        steps.advance()\n"
    )
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 80))
    subprocess.run([sys.executable, "-c", program], stderr=follower, check=True)
    shown = os.read(leader, 100_000).decode()
    os.close(follower)
    os.close(leader)
    assert "training:  75 % |" in shown and "left" in shown
    assert not shown.rsplit("\r", 2)[-2].strip()
