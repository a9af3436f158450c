"""`vocap init`; its imports are inside, as `vocap --help` imports this file."""

import shlex
from pathlib import Path

import click

from vocap.errors import UsageError, VocapError

SHOWN = 20  # files left out that are named


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--languages-table",
    type=click.Path(path_type=Path),
    help="Table of languages  [default: the one that ships with vocap]",
)
def init(folder, languages_table):
    """Write DIR/config.yaml for the text files in DIR and its folders.

    Languages come from the names of files or folders (de.txt, german.txt, deu_Latn.jsonl.gz, de/part-1.txt),
    formats from their endings, the sizes of vocabularies and of the tokenizer from the amount of text. A
    config.yaml that is there stays. Run it with: snakemake --cores all --configfile DIR/config.yaml
    """
    import yaml

    from vocap.config import Settings, load
    from vocap.corpora.settings import PROBE_BYTES, resolve_all
    from vocap.files.atomic import write_text
    from vocap.init import configuration
    from vocap.languages import default_table, read_languages
    from vocap.plan.forecast import reach_of, read_costs
    from vocap.plan.texts import estimate_texts
    from vocap.text_files.records import TextFile

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that holds your text")
    folder = folder.resolve()
    path = folder / "config.yaml"
    if path.exists():
        raise UsageError(f"{path}: there is a configuration already; edit it, or move it away")
    # find the texts
    table = read_languages(languages_table)
    files, left_out = configuration.find_files(folder, table)
    sources, more = configuration.group(files)
    left_out |= more
    for name, reason in list(left_out.items())[:SHOWN]:
        click.echo(f"left out: {name}: {reason}", err=True)
    if len(left_out) > SHOWN:
        click.echo(f"left out: {len(left_out) - SHOWN} files more", err=True)
    codes = {code for source in sources for code in source.codes}
    if not codes:
        raise VocapError(f"{folder}: no text of a known language; name files by language, as de.txt or german.txt")
    names = {code: language.name for code, language in table.items() if code in codes}
    table_path = str(languages_table.resolve() if languages_table else default_table())
    # measure them, and write a configuration that can be used
    corpora = configuration.corpora_section(sources, str(languages_table.resolve()) if languages_table else None)
    settings = Settings.model_validate({"languages": list(names), "corpora": {"table": table_path, **corpora}})
    texts = estimate_texts(settings)
    reaches = reach_of(texts, read_costs())
    characters: set[str] = set()
    for found in resolve_all(settings.corpora, settings.selected()).values():
        for block in TextFile(found.files()[0], found.source.layout, PROBE_BYTES):
            characters.update(block.decode(errors="replace"))
    megabytes = sum(text.read_mb for text in texts.values())
    sizes = configuration.choose_sizes(max(reaches.values()))
    total = configuration.choose_total(list(reaches.values()), len(characters))
    text = configuration.write_configuration(folder, names, corpora, megabytes, sizes, total)
    written = yaml.safe_load(text)
    load({**written, "corpora": {"table": table_path, **written["corpora"]}})  # it can be used
    write_text(path, text)
    for code, name in names.items():
        click.echo(f"{code}  {name}: text for {min(reaches[code], configuration.LARGEST):,.0f} pieces", err=True)
    click.echo(f"{path}: {len(names)} languages, {megabytes:,.1f} MB, T {total:,}", err=True)
    click.echo(f"snakemake --cores all --configfile {shlex.quote(str(path))}")
