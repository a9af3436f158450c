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

    from vocap.config import load
    from vocap.files.atomic import write_text
    from vocap.init import configuration
    from vocap.languages import default_table, read_languages

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
    for name in list(left_out)[:SHOWN]:
        click.echo(f"left out: {name}: {left_out[name]}", err=True)
    if len(left_out) > SHOWN:
        click.echo(f"left out: {len(left_out) - SHOWN} files more", err=True)
    codes = {code for source in sources for code in source.codes}
    if not codes:
        raise VocapError(f"{folder}: no text of a known language; name files by language, as de.txt or german.txt")
    names = {code: language.name for code, language in table.items() if code in codes}
    table_path = str(languages_table.resolve() if languages_table else default_table())
    # measure them, and write a configuration that can be used
    reaches, characters, megabytes = _measure(sources, list(names), table_path)
    sizes = configuration.choose_sizes(max(reaches.values()))
    total = configuration.choose_total(list(reaches.values()), characters)
    own_table = table_path if languages_table else None
    text = configuration.write_configuration(folder, sources, names, megabytes, sizes, total, own_table)
    written = yaml.safe_load(text)
    load({**written, "corpora": {**written["corpora"], "table": table_path}})  # it can be used
    write_text(path, text)
    for code, name in names.items():
        click.echo(f"{code}  {name}: text for {min(reaches[code], configuration.LARGEST):,.0f} pieces", err=True)
    click.echo(f"{path}: {len(names)} languages, {megabytes:,.1f} MB, T {total:,}", err=True)
    click.echo(f"snakemake --cores all --configfile {shlex.quote(str(path))}")


def _measure(sources, languages, table) -> tuple[dict[str, float], int, float]:
    """The largest vocabulary that each language's text can reach; distinct characters; MB of text in all."""
    from vocap.config import Settings
    from vocap.corpora.settings import PROBE_BYTES, resolve_all
    from vocap.plan.forecast import reach_of, read_costs
    from vocap.plan.texts import estimate_texts
    from vocap.text_files import Layout
    from vocap.text_files.records import TextFile

    entries, owners = {}, {}
    for number, source in enumerate(sources):
        codes = {code: said for code, said in source.codes.items() if said}
        layout = {"format": source.format, "split_sentences": source.split_sentences}
        entries[f"source-{number}"] = {"path": list(source.paths), "codes": codes, **layout}
        owners |= dict.fromkeys(source.codes, f"source-{number}")
    corpora = {"table": table, "languages": owners, "sources": entries}
    settings = Settings.model_validate({"languages": languages, "corpora": corpora})
    characters: set[str] = set()
    for found in resolve_all(settings.corpora, settings.selected()).values():
        layout = Layout.parse(found.source.format, found.source.split_sentences, False)
        for block in TextFile(found.files()[0], layout, PROBE_BYTES):
            characters.update(block.decode(errors="replace"))
    texts = estimate_texts(settings)
    return reach_of(texts, read_costs()), len(characters), sum(text.read_mb for text in texts.values())
