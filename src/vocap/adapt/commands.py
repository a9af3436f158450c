"""`vocap trim`: a tokenizer, and its model, for some languages; `vocap extend`: a
language added to both.

Every line of the texts is segmented before and after, and compared.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np

from vocap import options
from vocap.adapt.adaptable import Adaptable, Reason
from vocap.adapt.bpe_tokenizer import BpeTokenizer
from vocap.adapt.unigram_tokenizer import load_unigram
from vocap.bpe.model_file import is_bpe, read_bpe
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object, replacing_directory, write_tsv
from vocap.languages import CODE
from vocap.model_folder import WEIGHTS
from vocap.text_files import named_texts
from vocap.tokenizer_files import CARD
from vocap.unigram.alp import CorpusAlp, corpus_alp, count_tokens
from vocap.unigram.text_settings import COVERAGE

PATH = click.Path(path_type=Path)
SHARE = (
    0.01  # of the tokens, which the scores of new pieces assume; docs/adapting.md compares others
)
EXAMPLES = 3
_LINE = 80  # characters of an example
ID_COLUMNS = ("old", "new", "piece", "reason")
CHECK_COLUMNS = (
    "language",
    "part",
    "lines",
    "identical",
    "share",
    "tokens_before",
    "tokens_after",
    "unforeseen",
    "example",
)


@dataclass
class Check:
    """The lines of one text: `identical` have the same pieces; `unforeseen` use one
    that training text did not.

    `unforeseen` of held-out text: the lines that would have changed if it had not been
    read, an estimate for unseen text; None where it is not measured.
    """

    lines: int = 0
    identical: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    unforeseen: int | None = None
    examples: list[str] = field(default_factory=list)

    def cells(self) -> tuple:
        """The cells of comparison.tsv behind language and part; no share where there is
        no line.
        """
        share = self.identical / self.lines if self.lines else None
        tokens = self.tokens_before, self.tokens_after
        return self.lines, self.identical, share, *tokens, self.unforeseen, "; ".join(self.examples)


Checks = Mapping[tuple[str, str], Check]  # by language and part


def load(path: Path, model_folder: Path | None, out: Path) -> tuple[Adaptable, Any, Path | None]:
    """The tokenizer of a file or folder, its model (None without a folder of one), and
    its run's corpora, if any.

    Raises VocapError for a tokenizer that leaves out merges at random, and for a model
    whose tokens lack ids; UsageError where `out` is there already, with anything in it.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UsageError(
            f"-o {out}: it is there already, and nothing in it is replaced; name a folder that is "
            "not there yet, or remove this one first"
        )
    if is_bpe(path):
        read = read_bpe(path)
        if read.definition["model"].get("dropout"):
            raise VocapError(
                f"{read.path}: dropout leaves out merges at random; set model.dropout to null"
            )
        source: Adaptable = BpeTokenizer(read)
    else:
        source = load_unigram(path)
    corpora = source.path.parent.parent.parent / "corpora"
    beside = corpora if corpora.is_dir() else None
    if model_folder is None:
        return source, None, beside
    from vocap.adapt.model_rows import load_model  # torch: only where it is needed

    if source.lacking:
        raise VocapError(
            f"{source.path}: no id for {', '.join(source.lacking)}, which a model needs; name the "
            "folder of the tokenizer, with its tokenizer.json"
        )
    return source, load_model(model_folder, source.ids), beside


def size_of(model, folder: Path) -> tuple[int, int, float]:
    """The parameters of a model, those of its tables of ids among them, and the MB of
    the files of its weights in `folder`.
    """
    layers = filter(None, (model.get_input_embeddings(), model.get_output_embeddings()))
    tables = {id(layer.weight): layer.weight.numel() for layer in layers}  # tied ones once
    whole = folder / WEIGHTS[0]
    files = [whole] if whole.is_file() else folder.glob("*.safetensors")
    size = sum(file.stat().st_size for file in files) / 1e6
    return sum(one.numel() for one in model.parameters()), sum(tables.values()), size


def show_sizes(before: tuple[int, int, float], after: tuple[int, int, float]) -> str:
    """The line about a model, of what `size_of` gives before and after."""
    (parameters, embeddings, size), (fewer, rows, smaller) = before, after
    return (
        f"model: {parameters:,} to {fewer:,} parameters, of them embeddings {embeddings:,} to "
        f"{rows:,}; weights {size:,.2f} to {smaller:,.2f} MB"
    )


def find_own_and_others(
    language: str,
    named: Mapping[str, dict[str, Path]],
    corpora: Path | None,
    chosen: Sequence[str] | None,
    served: Sequence[str] | None,
) -> tuple[dict[str, Path], named_texts.Texts]:
    """The texts of the new `language` by part, and those of the others: `named` ones,
    by option and language, and those of `corpora`.

    `chosen`: the other languages, of --languages; where it is None, `served` are those
    to be found in `corpora`, and None stands for all.
    """
    own = {}
    for option, part in (("text", "train"), ("heldout", "heldout")):
        path = named[option].get(language)
        if path is None and corpora is not None and (corpora / language / f"{part}.txt").is_file():
            path = corpora / language / f"{part}.txt"
        if path is not None:
            own[part] = path
    if "train" not in own:
        raise UsageError(
            f"no text of {language}: give --text FILE, or --corpora with {language}/train.txt"
        )
    others: named_texts.Texts = {}
    for option, files in named.items():
        for code, path in files.items():
            if chosen is not None and code not in (language, *chosen):
                raise UsageError(f"--{option} {code}={path}: {code} is not among --languages")
            if code != language:
                others.setdefault(code, {})[option] = path
    if chosen is None and corpora is not None and served is not None:
        chosen = [code for code in served if (corpora / code / "heldout.txt").is_file()]
    if chosen is not None:
        chosen = [code for code in chosen if code not in (language, *others)]
    if chosen or (chosen is None and corpora is not None):
        others = named_texts.find_texts((), corpora, chosen, ["heldout"]) | others
        others.pop(language, None)
    return own, others


def write_trimmed(
    source: Adaptable,
    files: named_texts.Texts,
    owners: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    model,
    out: Path,
) -> tuple[list[str], int]:
    """Write the tokenizer of what the languages of `files` need. Returns the lines to
    print, and T.

    `owners`: token to the languages whose it is; `settings`: `min_count`,
    `all_characters`, and others to record.
    """
    # uses of each id in the texts and in the held-out texts
    uses = np.zeros((2, source.encoder.size), np.int64)
    for parts in files.values():
        for part, path in parts.items():
            blocks = named_texts.read_sentences(path)
            uses[int(part == "heldout")] += count_tokens(
                source.encoder.encode_batch, uses.shape[1], blocks
            )[0]
    if not uses.any():
        raise VocapError("no line in any text; give text with a sentence a line")
    # choose, with and without held-out text
    owned = {piece for piece, codes in owners.items() if not files.keys().isdisjoint(codes)}
    limits = (owned, settings["min_count"], settings["all_characters"])
    choice = source.choose(uses[0], uses[1], *limits)
    foreseen = source.choose(uses[0], np.zeros_like(uses[1]), *limits).reasons
    # cut and compare
    after = source.cut_to(choice, owners)
    checks = compare_texts(source, after, files, foreseen)
    pieces = [piece or "" for piece in after.encoder.pieces]
    ids = [
        (source.ids.get(piece), new, name, choice.reasons.get(piece, Reason.SPECIAL))
        for new, (piece, name) in enumerate(zip(pieces, after.names, strict=True))
    ]
    # write
    kept_for = {
        reason: sum(why == reason for why in choice.reasons.values()) for reason in source.reasons
    }
    facts = {
        "total_before": source.total,
        **choice.facts,
        "kept_for": kept_for,
        "lines_compared": sum(found.lines for found in checks.values()),
        "lines_identical": sum(found.identical for found in checks.values()),
    }
    origins = [[old] for old, *_ in ids if old is not None]  # all, where there is a model
    write_adapted(out, after, "trimmed", settings, ids, checks, facts, model, origins)
    return _trimmed(checks, facts), len(ids)


def _trimmed(checks: Checks, facts: Mapping[str, Any]) -> list[str]:
    """The summary: pieces kept by reason, and lines that changed."""
    lines, identical = facts["lines_compared"], facts["lines_identical"]
    reasons = (f"{count:,} {reason}" for reason, count in facts["kept_for"].items() if count)
    shown = [f"kept: {', '.join(reasons)}"]
    for (code, part), found in checks.items():
        if found.lines:
            note = f"{code} {part}: {found.identical:,} of {found.lines:,} lines as before"
            if found.unforeseen is not None:
                share = 100 * found.unforeseen / found.lines
                note += (
                    f"; {found.unforeseen:,} ({share:.2f} %) use pieces that only this text kept"
                )
            shown += [note, *(f"  {example}" for example in found.examples)]
    verdict = "all the same" if lines == identical else f"{lines - identical:,} differ"
    return [*shown, f"{lines:,} lines compared, {verdict}"]


def write_extended(
    source: Adaptable,
    own: dict[str, Path],
    others: named_texts.Texts,
    settings: Mapping[str, Any],
    model,
    out: Path,
) -> list[str]:
    """Write the tokenizer with a language more. Returns the lines to print.

    `own` and `others`: the texts of the new language, by part, and of the others;
    `settings`: `language`, `pieces`, and others to record.
    """
    # append, and compare: every text, and the new language's ALP
    language = settings["language"]
    made = source.extended(own["train"], settings)
    after = made.after
    texts = {language: own, **others}
    checks = compare_texts(source, after, texts)
    alps, shown = {}, []
    for part, path in own.items():
        old, new = (
            corpus_alp(side.encoder, named_texts.read_sentences(path)) for side in (source, after)
        )
        if old is not None and new is not None:
            alps[part] = {"before": old.alp, "after": new.alp}
            shown.append(f"{language} {part}: {_effect(old, new, source.encoder.unk_id)}")
    facts = {"total_before": source.total, **made.facts, "language_alp": alps}
    if model is not None:
        facts["rows"] = "mean"
    # write
    ids = [
        (number, number, name, "old") if number < source.total else (None, number, name, "new")
        for number, name in enumerate(after.names)
    ]
    origins = [*([number] for number in range(source.total)), *made.origins]
    write_adapted(out, after, "extended", settings, ids, checks, facts, model, origins, made.rows)
    head = f"{out}: {source.total:,} + {len(made.rows):,} = {after.total:,} ids, from {made.origin}"
    return [head, *shown, *_changes_of_others(language, checks)]


def _effect(before: CorpusAlp, after: CorpusAlp, unknown: int | None) -> str:
    """The effect of the new pieces on a text of their language; `unknown`: the id of
    the unknown token.
    """
    tokens, alp = (
        [getattr(side, key) for side in (before, after)] for key in ("tokens_per_sentence", "alp")
    )
    shown = f"{tokens[0]:.2f} to {tokens[1]:.2f} tokens a line, ALP {alp[0]:.2f} to {alp[1]:.2f}"
    if unknown is None or not before.tokens:
        return shown
    shares = (100 * side.counts[unknown] / side.tokens for side in (before, after))
    return "{}, unknown {:.2f} % to {:.2f} % of the tokens".format(shown, *shares)


def _changes_of_others(language: str, checks: Checks) -> list[str]:
    """The effect of the new pieces of `language` on the other languages."""
    others = {
        code: found for (code, _), found in checks.items() if code != language and found.lines
    }
    if not others:
        return ["no text of other languages was given: changes for them are not measured"]
    lines, identical, before, after = (
        sum(getattr(found, name) for found in others.values())
        for name in ("lines", "identical", "tokens_before", "tokens_after")
    )
    moved = 100 * (after - before) / before if before else 0.0
    shown = [
        f"{len(others)} other languages: {lines - identical:,} of {lines:,} lines segmented "
        f"differently ({100 * (lines - identical) / lines:.2f} %), tokens {moved:+.3f} %"
        + ("; the most:" if identical < lines else "")
    ]
    worst = sorted(others.items(), key=lambda pair: (pair[1].identical / pair[1].lines, pair[0]))
    for code, found in worst[:5]:
        if found.identical < found.lines:
            share = 100 * (found.lines - found.identical) / found.lines
            shown += [
                f"  {code}: {share:.2f} % of its lines",
                *(f"    {one}" for one in found.examples[:1]),
            ]
    return shown


def compare_texts(
    before: Adaptable,
    after: Adaptable,
    texts: named_texts.Texts,
    foreseen: Collection[str] | None = None,
) -> dict[tuple[str, str], Check]:
    """Segment every line of every text with both; one block of lines is held at a time.

    `foreseen`: the pieces that were chosen without held-out text, for its check.
    """
    pieces, number = (
        before.encoder.pieces,
        {piece: new for new, piece in enumerate(after.encoder.pieces)},
    )
    renamed = [number.get(piece, -1) for piece in pieces]
    surprising = {
        old for old, piece in enumerate(pieces) if foreseen is not None and piece not in foreseen
    }
    checks = {}
    for code, part, path in (
        (code, *entry) for code, parts in texts.items() for entry in parts.items()
    ):
        check = checks[code, part] = Check()
        if foreseen is not None and part == "heldout":
            check.unforeseen = 0
        for lines in named_texts.read_sentences(path):
            check.lines += len(lines)
            both = (side.encoder.encode_batch(lines) for side in (before, after))
            for line, old, new in zip(lines, *both, strict=True):
                check.tokens_before += len(old)
                check.tokens_after += len(new)
                if check.unforeseen is not None and not surprising.isdisjoint(old):
                    check.unforeseen += 1
                if list(map(renamed.__getitem__, old)) == new:
                    check.identical += 1
                elif len(check.examples) < EXAMPLES:
                    check.examples.append(_show(before.tokens(line), after.tokens(line), line))
    return checks


def _show(one: list[str], other: list[str], line: str) -> str:
    """The line, shortened, and the part of both splits that differs, with a piece on
    either side.
    """
    shortest = min(len(one), len(other))
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shortest)
    end = 0
    while end < shortest - start and one[-1 - end] == other[-1 - end]:
        end += 1
    first, last = max(start - 1, 0), max(end - 1, 0)
    parts = (" ".join(side[first : len(side) - last]) for side in (one, other))
    shown = [text if len(text) <= _LINE else text[:_LINE] + "…" for text in (line, *parts)]
    return "“{}”: {} → {}".format(*shown)


def write_adapted(
    out: Path,
    after: Adaptable,
    kind: str,
    settings: Mapping[str, Any],
    ids: Sequence[tuple],
    checks: Checks,
    facts: Mapping[str, Any],
    model,
    origins: Sequence[Sequence[int]],
    additions: Sequence[tuple] = (),
) -> None:
    """Write the new folder `out`, whole or not at all: `model/` with a model,
    additions.tsv with additions.

    `ids` are rows of `ID_COLUMNS`, `additions` of `after.columns`; `facts` are entries
    of description.json; `origins`: the old rows of the model behind each new one.
    """
    with replacing_directory(out, owned=()) as folder:
        known = {key: value for key, value in settings.items() if key not in after.unused}
        card = after.write(folder, out, kind, known, facts)
        write_tsv(folder / "ids.tsv", ID_COLUMNS, ids)
        write_tsv(
            folder / "comparison.tsv",
            CHECK_COLUMNS,
            [(*key, *one.cells()) for key, one in checks.items()],
        )
        if additions:
            write_tsv(folder / "additions.tsv", after.columns, additions)
        (folder / "huggingface" / CARD).write_text(card, "utf-8")
        if model is not None:
            # torch, as above
            from vocap.adapt.model_rows import (
                check_padding,
                replace_rows,
                save_model,
            )

            number = {old: new for old, new, *_ in ids if old is not None}
            check_padding(model, number)
            replace_rows(model, origins)
            save_model(model, number, folder / "huggingface", folder / "model")


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option(
    "--languages", metavar="CODES", help="Comma-separated; all that have text unless given."
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="LANG=FILE",
    help="Text of a language; may be repeated.",
)
@click.option(
    "--heldout",
    "heldouts",
    multiple=True,
    metavar="LANG=FILE",
    help="Its held-out text; may be repeated.",
)
@click.option(
    "--corpora",
    type=PATH,
    help="Folder with {language}/train.txt and heldout.txt [default: the corpora of the run that "
    "made TOKENIZER]",
)
@click.option(
    "--only-used",
    is_flag=True,
    help="Drop the languages' own pieces, too, where the text lacks them.",
)
@click.option("--min-count", default=1, type=click.IntRange(1), help="Uses of a kept piece.")
@click.option(
    "--all-characters", is_flag=True, help="Keep every single character, of any language."
)
@click.option(
    "--model", "model_folder", type=PATH, help="Its Hugging Face model, to be reduced too."
)
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def trim(tokenizer, languages, texts, heldouts, corpora, model_folder, out, **settings) -> None:
    """Reduce a tokenizer to the pieces that some languages need.

    TOKENIZER is results/tokenizers/NAME, a SentencePiece unigram .model, or a
    tokenizer.json of byte-pair encoding. Kept are the pieces that the text uses, those
    of the languages, and the characters of both; of merges those applied in the text,
    and their parts. Then every line is segmented again and compared. Writes a
    tokenizer's folder, ids.tsv (old and new ids), comparison.tsv and, with --model,
    model/.
    """
    source, model, beside = load(tokenizer, model_folder, out)
    if corpora is None and not texts:
        corpora = beside
    files = named_texts.find_texts(
        texts, corpora, named_texts.parse_languages(languages), ["train", "heldout"]
    )
    for code, path in named_texts.parse_files(heldouts, "--heldout").items():
        if code not in files:
            raise UsageError(
                f"--heldout {code}={path}: {code} is not among the languages; give it text too"
            )
        files[code]["heldout"] = path
    owners = {} if settings["only_used"] else source.owners()
    order = ("min_count", "only_used", "all_characters")
    settings = {"languages": list(files), **{key: settings[key] for key in order}}
    before = None if model is None else size_of(model, model_folder)
    lines, total = write_trimmed(source, files, owners, settings, model, out)
    if before is not None:
        lines.append(show_sizes(before, size_of(model, out / "model")))
    click.echo("\n".join(lines))
    click.echo(f"{out}: {total} of {source.total} ids", err=True)


def _with_code(named: str, language: str) -> str:
    """LANG=FILE as it is; FILE, which may have = in its path, with the code of `language`.

    >>> _with_code("de=german.txt", "th"), _with_code("runs/n=5.txt", "th")
    ('de=german.txt', 'th=runs/n=5.txt')
    """
    code, equals, _ = named.partition("=")
    return named if equals and CODE.fullmatch(code) else f"{language}={named}"


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option(
    "--language", required=True, type=options.Code(), metavar="CODE", help="The language to add."
)
@click.option(
    "--text",
    "--train",
    "texts",
    multiple=True,
    metavar="[LANG=]FILE",
    help="The training text of --language [default: train.txt of --corpora]; with the code of "
    "another language, text to measure changes for it. May be repeated.",
)
@click.option(
    "--heldout",
    "heldouts",
    multiple=True,
    metavar="[LANG=]FILE",
    help="Held-out text of --language [default: heldout.txt of --corpora], or of another language, "
    "to measure. May be repeated.",
)
@click.option(
    "--pieces", required=True, type=click.IntRange(1), metavar="N", help="Number of new pieces."
)
@click.option(
    "--multiple-of",
    "multiple",
    default=1,
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
    help="Languages to measure, comma-separated [default: those of --text and --heldout, and those "
    "TOKENIZER was trimmed to, or all of --corpora]",
)
@click.option(
    "--share",
    type=options.Real(0, 1, min_open=True),
    default=SHARE,
    help="Assumed share of the tokens, for the scores.",
)
@options.coverage(COVERAGE, "Share of its characters that are pieces.")
@click.option(
    "--model", "model_folder", type=PATH, help="Its Hugging Face model, to be extended too."
)
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def extend(
    tokenizer,
    language,
    texts,
    heldouts,
    pieces,
    multiple,
    corpora,
    languages,
    share,
    coverage,
    model_folder,
    out,
) -> None:
    """Add a language to a finished tokenizer; all old ids stay.

    TOKENIZER is results/tokenizers/NAME, XLM-R's folder, or a tokenizer.json of
    byte-pair encoding, whose merges are followed by those of the new language. Only
    this one is trained; its new pieces get the ids after all others. Writes a
    tokenizer's folder, ids.tsv, additions.tsv, comparison.tsv (changes for every
    language measured) and, with --model, model/.
    """
    source, model, beside = load(tokenizer, model_folder, out)
    source = source.in_order()
    if share != SHARE and "share" in source.unused:
        raise UsageError(f"--share {share}: byte-pair encoding has no scores; leave it out")
    pieces += -(source.total + pieces) % multiple
    # which names the languages after trim and extend
    description = source.path.with_name("description.json")
    served = (
        read_object(description).get("settings", {}).get("languages")
        if description.is_file()
        else None
    )
    named = {
        option: named_texts.parse_files([_with_code(one, language) for one in given], f"--{option}")
        for option, given in (("text", texts), ("heldout", heldouts))
    }
    chosen = named_texts.parse_languages(languages)
    own, others = find_own_and_others(language, named, corpora or beside, chosen, served)
    settings = {"language": language, "pieces": pieces, "share": share, "coverage": coverage}
    if multiple > 1:
        settings["multiple_of"] = multiple
    if served is not None:
        settings["languages"] = list(dict.fromkeys([*served, language]))
    before = None if model is None else size_of(model, model_folder)
    lines = write_extended(source, own, others, settings, model, out)
    if before is not None:
        lines.append(show_sizes(before, size_of(model, out / "model")))
    click.echo("\n".join(lines))
