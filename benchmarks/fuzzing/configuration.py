"""Configurations at random: each is used, or refused with one clear message.

    python benchmarks/fuzzing/configuration.py [--seed 1] [--minutes 10] [--first 0]
        [--plans 0.01]

Call it in the project's root. Input number n is drawn from the seed and n alone: one of
the configurations that ship with the project, changed in its text (lines lost, doubled,
moved, indented; characters of YAML put in), or after it was merged in its values (keys
lost, doubled, renamed; values of other types, sizes and signs, deep, long, holding
themselves). It is read as `vocap plan --configfile` reads it, over
`config/sources.yaml`, and checked. A share of `--plans` of the texts goes through the
command itself, whose status must be 0, or 2 with one message.

An input that ends in anything but settings or a UsageError, whose message has a line of
more than 2,000 characters, that takes more than 30 seconds, or by which the process
grows by more than 300 MB is printed with its number; `--first N --inputs 1` repeats it.
Exit status 1 where there was one.
"""

import argparse
import copy
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from vocap.config import load, read_files
from vocap.errors import UsageError

SHIPPED = [
    "config/config.yaml",
    "config/smoke.yaml",
    "config/demo.yaml",
    "config/sanity.yaml",
    "config/paper.yaml",
]
BASE = ["config/sources.yaml"]
MESSAGE = 2000  # characters of its longest line
SECONDS, GROWTH_MB = 30, 300

WORDS = [
    "", " ", "\t", "a", "no", "{name}", "{0}", "{lang}", "<results>", "\0", "\n", "\ud800", "é",
    "-", "--help", "../x", "/", "/dev/zero", "/proc/self/mem", "~", "$HOME", "`id`", "'", '"', "\\",
    "all", "starter", "lines", "1e5", "1:1", "1000:50000:1000", "5:99999999:1", "jsonl:", "tsv:0",
    "x"*5000, "de", "xx", "file", "joint", "vocap", "mono", "http://", "https://example.org/{lang}",
    "config/languages.tsv", "config", "config/config.yaml",
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 2, 5, 6, 100, 260, 2**31, 2**63, -(2**63), 10**40, 10**99,
    0.0, -0.0, 0.5, 1e-320, 1e308, float("inf"), float("-inf"), float("nan"), True, False, None,
]  # fmt: skip
SNIPPETS = [
    "{", "}", "[", "]", ":", "-", "- ", "? ", "&a ", "*a", "<<: *a", "!!int ", "!!float ",
    "!!binary ", "!!set ", "%", "!!python/object/apply:os.system [true]", "|", ">", "#", "'", '"',
    ",", "\t", "---\n", "...\n", "\u2028", "\ufeff", "\x01", "~", "@", "`", "1_000", "0x10", "0o7",
    "1:60", ".inf", ".nan", "2026-13-01", "=", "null", "["*200, "9"*4400, "{a: "*100,
]  # fmt: skip


def changed_text(rng: random.Random, text: str) -> str:
    """One to six changes of lines or characters."""
    lines = text.splitlines()
    for _ in range(rng.choice([1, 1, 2, 6])):
        at = rng.randrange(len(lines))
        match rng.randrange(7):
            case 0:
                del lines[at]
            case 1:
                lines.insert(rng.randrange(len(lines) + 1), lines[at])
            case 2:
                lines[at] = " " * rng.randint(1, 9) + lines[at]
            case 3:
                lines[at] = lines[at].strip()
            case 4 | 5:
                place = rng.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + rng.choice(SNIPPETS) + lines[at][place:]
            case _:
                lines[at] = (
                    f"{lines[at].split(':')[0]}: {rng.choice(SNIPPETS)}{rng.choice(SNIPPETS)}"
                )
        lines = lines or [""]
    return "\n".join(lines) + "\n"


def random_value(rng: random.Random, depth: int = 3) -> object:
    match rng.randrange(11):
        case 0 | 1 | 2 | 3:
            return rng.choice(WORDS)
        case 4 | 5 | 6 | 7:
            return rng.choice(NUMBERS)
        case 8:
            return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))] if depth else []
        case 9 if depth:
            return {key(rng): random_value(rng, depth - 1) for _ in range(rng.randrange(4))}
        case _:
            return [rng.choice(NUMBERS)] * rng.choice([1, 3, 1000])


def deep_value(rng: random.Random) -> object:
    value: object = rng.choice(WORDS)
    for _ in range(rng.choice([3, 30, 70, 3000])):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def key(rng: random.Random) -> object:
    return rng.choice(WORDS) if rng.random() < 0.8 else rng.choice(NUMBERS)


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The paths of all values within lists and maps."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path] * bool(path) + [
        place for name, entry in inner for place in places(entry, (*path, name))
    ]


def changed_values(rng: random.Random, config: dict) -> dict:
    """One to four values replaced, lost, renamed, moved or made to hold themselves."""
    config = copy.deepcopy(config)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        every = places(config)[:5000]
        *parents, name = rng.choice(every)
        section = config
        for part in parents:
            section = section[part]
        match rng.randrange(8):
            case 0:
                del section[name]
            case 1 if isinstance(section, dict):
                section[key(rng)] = section.pop(name)
            case 2:
                section[name] = (
                    copy.deepcopy(config.get(rng.choice(list(config)))) if config else None
                )
            case 3:
                section[name] = section if rng.random() < 0.5 else deep_value(rng)
                return config
            case 4 if isinstance(section, dict):
                section[key(rng)] = random_value(rng)
            case _:
                section[name] = random_value(rng)
        if not config:
            break
    return config


def check(
    number: int, seed: int, shipped: list[tuple[str, dict]], folder: Path, plans: float
) -> str:
    """The kind of its end: settings, or the kind of its message. Raises AssertionError
    with the fault.
    """
    rng = random.Random(f"{seed} {number}")
    text, config = rng.choice(shipped)
    file = folder / "fuzzed.yaml"
    as_text = rng.random() < 0.5
    if as_text:
        file.write_text(changed_text(rng, text), "utf-8", errors="surrogatepass")
    else:
        config = changed_values(rng, config)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        if as_text:
            load(read_files([*BASE, file]))
        else:
            load(config)
        end = "used"
    except UsageError as error:
        lines = str(error).splitlines()
        assert lines and max(map(len, lines)) <= MESSAGE, (
            f"a message of {max(map(len, lines), default=0)} characters"
        )
        str(error).encode("utf-8")
        end = "refused"
    took, grown = (
        time.monotonic() - began,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before,
    )
    assert took < SECONDS, f"{took:.0f} s"
    assert grown < GROWTH_MB * 1000, f"{grown / 1000:.0f} MB more"
    if as_text and rng.random() < plans:
        command = [
            sys.executable,
            "-c",
            "from vocap.command import main; main()",
            "plan",
            "--configfile",
            str(file),
        ]
        run = subprocess.run(command, capture_output=True, check=False, timeout=300)
        assert run.returncode in (0, 2) and b"Traceback" not in run.stderr, run.stderr[
            -1500:
        ].decode()
        assert run.returncode == 0 or run.stderr.startswith(b"vocap: error: "), run.stderr[:300]
        end += f", plan: {run.returncode}"
    return f"{'text' if as_text else 'values'} {end}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=10**9)
    parser.add_argument("--plans", type=float, default=0.01)
    options = parser.parse_args()
    shipped = [(Path(name).read_text("utf-8"), read_files([*BASE, name])) for name in SHIPPED]
    counts: Counter[str] = Counter()
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.first, options.first + options.inputs):
            if time.monotonic() > until:
                break
            try:
                counts[check(number, options.seed, shipped, Path(folder), options.plans)] += 1
            except Exception as error:
                counts["FAULT"] += 1
                last = "".join(traceback.format_tb(error.__traceback__)[-2:])
                print(
                    f"--seed {options.seed} --first {number} --inputs 1: "
                    f"{error!r:.600}\n{last[-900:]}",
                    flush=True,
                )
    print(
        f"{sum(counts.values())} inputs:",
        ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())),
    )
    return counts["FAULT"] > 0


if __name__ == "__main__":
    sys.exit(main())
