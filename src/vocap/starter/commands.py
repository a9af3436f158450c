"""`vocap starter-fetch`, `starter-extract`, `starter-merge`."""

from pathlib import Path

import click

from vocap import options
from vocap.errors import log
from vocap.options import ANY_FOLDER, FILE
from vocap.starter import merging
from vocap.starter.packages import fetch_package, package_named

# Text below this supports at most about 1,500 pieces (measured: my 892 lines 1,530, ky
# 754 1,266, ur 414 633).
FEW_LINES = 1000


@click.command("starter-fetch")
@click.argument("package")
@options.output(FILE, "Archive to write. FILE.json is written beside it.")
def starter_fetch(package: str, output: Path) -> None:
    """Fetch one package of the starter corpus with pip or apt-get.

    Where the package is not available, FILE is empty and FILE.json has the reason. The
    exit status is then 0, so that the run continues without the package. An archive
    with a wrong SHA-256 is an error.
    """
    fetch_package(package_named(package), output)


@click.command("starter-extract")
@click.argument("package")
@click.argument("archive", type=FILE)
@options.output(
    ANY_FOLDER, "Folder to write {lang}.tsv to, with the columns key, message and text."
)
@options.languages_table
def starter_extract(
    package: str, archive: Path, output: Path, languages_table: Path | None
) -> None:
    """Clean the messages of one fetched package."""
    merging.extract(package, archive, output, languages_table)


@click.command("starter-merge")
@click.argument("folders", nargs=-1, required=True, type=ANY_FOLDER, metavar="FOLDER...")
@options.output(ANY_FOLDER, "Folder to write {lang}.txt, parallel/ and report.json to.")
@options.languages_table
def starter_merge(folders: tuple[Path, ...], output: Path, languages_table: Path | None) -> None:
    """Merge the messages of the packages into one text for each language.

    Give the preferred package first. Messages that most languages have are held out, in
    parallel/development/{lang}.txt and parallel/test/{lang}.txt. Each line is one
    message, and it is empty where the language lacks the message.
    """
    known = merging.read_languages(languages_table)
    report = merging.write_texts(folders, output, known)
    languages = report["languages"]
    lines = sum(entry["lines"] for entry in languages.values())
    log.info(
        "%d lines in %d languages from %s", lines, len(languages), ", ".join(report["packages"])
    )
    for name, reason in report["missing_packages"].items():
        log.warning("without %s: %s", name, reason)
    if few := [code for code in merging.natural(known) if languages[code]["lines"] < FEW_LINES]:
        log.warning(
            "too little starter text (under %d lines) for %s: bring your own text for them, or "
            "fetch packages that are missing",
            FEW_LINES, " ".join(few),
        )  # fmt: skip
