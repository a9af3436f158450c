"""`vocap trim`: a tokenizer, and its model, for some languages; `vocap extend`: a language added to both."""

from pathlib import Path

import click

from vocap import options
from vocap.adapt import SHARE
from vocap.errors import UsageError, VocapError
from vocap.unigram import COVERAGE

PATH = click.Path(path_type=Path)
INITS = ("mean", "omp")


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
    from vocap.text_files.named_texts import find_texts, parse_files, parse_languages

    source, model = _load(tokenizer, model_folder)
    if corpora is None and not texts:
        corpora = _corpora_of(source.path)
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


def _corpora_of(tokenizer: Path) -> Path | None:
    """The corpora of the run in whose folder a tokenizer's file lies, if it lies in one."""
    beside = tokenizer.parent.parent.parent / "corpora"
    return beside if beside.is_dir() else None


def _load(path: Path, model_folder: Path | None):
    """The tokenizer of a file or folder, of the kind that it is, and its model, if one is named."""
    from vocap.adapt.pairs import load_pairs  # as above
    from vocap.adapt.pieces import load_unigram
    from vocap.bpe.model_file import is_bpe

    source = load_pairs(path) if is_bpe(path) else load_unigram(path)
    if model_folder is None:
        return source, None
    from vocap.adapt.model_rows import load_model  # torch: only where it is needed

    if source.lacking:
        raise VocapError(
            f"{source.path}: no id for {', '.join(source.lacking)}, which a model needs; name the folder of the "
            "tokenizer, with its tokenizer.json"
        )
    return source, load_model(model_folder, source.ids)


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option("--language", required=True, type=options.Code(), metavar="CODE", help="The language to add.")
@click.option("--text", "--train", "text", type=PATH, help="Its training text [default: train.txt of --corpora]")
@click.option("--heldout", type=PATH, help="Its held-out text [default: heldout.txt of --corpora]")
@click.option(
    "--pieces",
    metavar="N",
    help="Number of new pieces; FIRST:LAST:STEP or a list with commas: a table of their effect, and no tokenizer.",
)
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
    "--languages", metavar="CODES", help="Languages to measure, comma-separated; all of --corpora unless given."
)
@click.option(
    "--check", "checks", multiple=True, metavar="LANG=FILE", help="Other text to measure; may be repeated."
)
@click.option("--share", default=SHARE, show_default=True, help="Assumed share of the tokens, for the scores.")
@options.coverage(COVERAGE, "Share of its characters that are pieces.")
@click.option("--model", "model_folder", type=PATH, help="Its Hugging Face model, to be extended too.")
@click.option(
    "--init",
    type=click.Choice(INITS),
    help="Rows of new pieces: the mean of the rows of their old pieces, or a sparse combination of rows, after "
    f"neighbours in the text.  [default: {INITS[0]}]",
)
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def extend(tokenizer, pieces, total, multiple, share, coverage, model_folder, init, out, **texts) -> None:
    """Add a language to a finished tokenizer; all old ids stay.

    TOKENIZER is results/tokenizers/NAME, XLM-R's folder, or a tokenizer.json of byte-pair encoding, whose merges
    are followed by those of the new language. Only this one is trained; its new pieces get the ids after all
    others. Writes a tokenizer's folder, ids.tsv, additions.tsv, comparison.tsv (changes for every language
    measured) and, with --model, model/. With several numbers in --pieces, it prints and writes sweep.tsv alone, a
    row a number: tokens saved, lines of the other languages that change, pieces never used, rows and memory.
    """
    if (pieces is None) == (total is None):
        raise UsageError("give --pieces or --total, exactly one of them")
    from vocap.adapt import adapting  # numpy, SentencePiece, tokenizers: not for --help
    from vocap.adapt.sweep import round_up, sweep
    from vocap.tables.curve import parse_option

    counts = [] if pieces is None else parse_option("--pieces", pieces, "1500, 500:20000:500 or 500,1000", least=1)
    if init is not None and (model_folder is None or len(counts) > 1):
        raise UsageError(f"--init {init}: rows are made for one number of pieces, with --model FOLDER; give both")
    if not 0 < share <= 1:
        raise UsageError(f"--share {share}: give a share above 0, and at most 1")
    source, model = _load(tokenizer, model_folder)
    source = source.in_order()
    if share != SHARE and "share" in source.unused:
        raise UsageError(f"--share {share}: byte-pair encoding has no scores; leave it out")
    if total is not None:
        counts = [total - source.total]
        if counts[0] < 1:
            raise UsageError(f"--total {total}: {tokenizer} has {source.total} ids already; give a larger total")
    counts = sorted({round_up(source.total, count, multiple) for count in counts})
    own, others = _find_texts(texts.pop("corpora") or _corpora_of(source.path), **texts)
    settings = {"language": texts["language"], "pieces": counts[-1], "share": share, "coverage": coverage}
    if multiple > 1:
        settings["multiple_of"] = multiple
    if len(counts) > 1:
        lines = sweep(source, own, others, settings, counts, model, out)
    else:
        lines = adapting.extend(source, own, others, settings, model, init or INITS[0], out)
    click.echo("\n".join(lines))


def _find_texts(corpora: Path | None, language: str, text, heldout, languages, checks):
    """The texts of the new language by part (None: no held-out text), and those of the others."""
    from vocap.text_files.named_texts import check_file, find_texts, parse_languages  # as above

    own = {"train": text, "heldout": heldout}
    for part, path in own.items():
        named = corpora / language / f"{part}.txt" if corpora is not None else None
        own[part] = path or (named if named is not None and named.is_file() else None)
        if own[part] is not None:
            check_file(own[part])
    if own["train"] is None:
        raise UsageError(f"no text of {language}: give --text FILE, or --corpora with {language}/train.txt")
    if corpora is None and not checks:
        return own, {}
    others = find_texts(checks, corpora, parse_languages(languages), ["heldout"])
    others.pop(language, None)
    return own, others
