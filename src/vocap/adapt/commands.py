"""`vocap trim`: a tokenizer, and its model, for some languages; `vocap extend`: a language added to both."""

from pathlib import Path

import click

from vocap import options
from vocap.adapt import SHARE
from vocap.errors import UsageError, VocapError
from vocap.text_files.named_texts import find_texts, parse_files, parse_languages
from vocap.unigram import COVERAGE

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option("--languages", metavar="CODES", help="Comma-separated; all that have text unless given.")
@click.option("--text", "texts", multiple=True, metavar="LANG=FILE", help="Text of a language; may be repeated.")
@click.option(
    "--heldout", "heldouts", multiple=True, metavar="LANG=FILE", help="Its held-out text; may be repeated."
)
@click.option(
    "--corpora",
    type=PATH,
    help="Folder with {language}/train.txt and heldout.txt [default: the corpora of the run that made TOKENIZER]",
)
@click.option("--vocabulary", type=PATH, help="Table of pieces and their languages [default: pieces.tsv]")
@click.option("--only-used", is_flag=True, help="Drop the languages' own pieces, too, where the text lacks them.")
@click.option("--min-count", default=1, show_default=True, type=click.IntRange(1), help="Uses of a kept piece.")
@click.option("--all-characters", is_flag=True, help="Keep every single character, of any language.")
@click.option("--model", "model_folder", type=PATH, help="Its Hugging Face model, to be reduced too.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def trim(tokenizer, languages, texts, heldouts, corpora, vocabulary, model_folder, out, **settings) -> None:
    """Reduce a tokenizer to the pieces that some languages need.

    TOKENIZER is results/tokenizers/NAME, a SentencePiece unigram .model, or a tokenizer.json of byte-pair
    encoding. Kept are the pieces that the text uses, those of the languages, and the characters of both; of merges
    those applied in the text, and their parts. Then every line is segmented again and compared.
    Writes a tokenizer's folder, ids.tsv (old and new ids), comparison.tsv and, with --model, model/.
    """
    if vocabulary is not None and settings["only_used"]:
        raise UsageError("--vocabulary keeps the languages' own pieces, --only-used drops them; give one of them")
    from vocap.adapt import adapting  # numpy, SentencePiece, tokenizers: not for --help

    source, model = adapting.load(tokenizer, model_folder)
    if corpora is None and not texts:
        corpora = adapting.corpora_of(source.path)
    files = find_texts(texts, corpora, parse_languages(languages), ["train", "heldout"])
    for code, path in parse_files(heldouts, "--heldout").items():
        if code not in files:
            raise UsageError(f"--heldout {code}={path}: {code} is not among the languages; give it text too")
        files[code]["heldout"] = path
    owners = {} if settings["only_used"] else source.owners(vocabulary)
    if vocabulary is not None and all(files.keys().isdisjoint(codes) for codes in owners.values()):
        raise VocapError(f"{vocabulary}: no piece of {', '.join(files)} there; name another table")
    order = ("min_count", "only_used", "all_characters")
    settings = {"languages": list(files), **{key: settings[key] for key in order}}
    lines, total = adapting.trim(source, files, owners, settings, model, out)
    click.echo("\n".join(lines))
    click.echo(f"{out}: {total} of {source.total} ids", err=True)


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option("--language", required=True, type=options.Code(), metavar="CODE", help="The language to add.")
@click.option("--text", "--train", "text", type=PATH, help="Its training text [default: train.txt of --corpora]")
@click.option("--heldout", type=PATH, help="Its held-out text [default: heldout.txt of --corpora]")
@click.option("--pieces", type=click.IntRange(1), metavar="N", help="Number of new pieces.")
@click.option("--total", type=click.IntRange(1), metavar="T", help="Or: number of ids of the result.")
@click.option(
    "--multiple-of",
    "multiple",
    default=1,
    show_default=True,
    type=click.IntRange(1, 1 << 20),
    metavar="N",
    help="Add pieces until the number of ids is a multiple.",
)
@click.option(
    "--corpora",
    type=PATH,
    help="Folder with {language}/heldout.txt, to measure changes for the languages already served "
    "[default: the corpora of the run that made TOKENIZER]",
)
@click.option(
    "--languages",
    metavar="CODES",
    help="Languages to measure, comma-separated [default: those TOKENIZER was trimmed to, or all of --corpora]",
)
@click.option(
    "--check", "checks", multiple=True, metavar="LANG=FILE", help="Other text to measure; may be repeated."
)
@click.option(
    "--share",
    type=options.Real(0, 1, min_open=True),
    default=SHARE,
    show_default=True,
    help="Assumed share of the tokens, for the scores.",
)
@options.coverage(COVERAGE, "Share of its characters that are pieces.")
@click.option("--model", "model_folder", type=PATH, help="Its Hugging Face model, to be extended too.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def extend(tokenizer, pieces, total, multiple, share, coverage, model_folder, out, **texts) -> None:
    """Add a language to a finished tokenizer; all old ids stay.

    TOKENIZER is results/tokenizers/NAME, XLM-R's folder, or a tokenizer.json of byte-pair encoding, whose merges
    are followed by those of the new language. Only this one is trained; its new pieces get the ids after all
    others. Writes a tokenizer's folder, ids.tsv, additions.tsv, comparison.tsv (changes for every language
    measured) and, with --model, model/.
    """
    if (pieces is None) == (total is None):
        raise UsageError("give --pieces or --total, exactly one of them")
    from vocap.adapt import adapting  # numpy, SentencePiece, tokenizers: not for --help

    source, model = adapting.load(tokenizer, model_folder)
    source = source.in_order()
    if share != SHARE and "share" in source.unused:
        raise UsageError(f"--share {share}: byte-pair encoding has no scores; leave it out")
    if total is not None and total <= source.total:
        raise UsageError(f"--total {total}: {tokenizer} has {source.total} ids already; give a larger total")
    count = pieces or total - source.total
    count += -(source.total + count) % multiple
    served = adapting.served_languages(source.path)
    corpora = texts.pop("corpora") or adapting.corpora_of(source.path)
    own, others = adapting.find_own_and_others(served, corpora, **texts)
    settings = {"language": texts["language"], "pieces": count, "share": share, "coverage": coverage}
    if multiple > 1:
        settings["multiple_of"] = multiple
    if served is not None:
        settings["languages"] = list(dict.fromkeys([*served, texts["language"]]))
    click.echo("\n".join(adapting.extend(source, own, others, settings, model, out)))
