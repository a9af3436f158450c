"""`vocap fit`, `joint`, `mono`, `bpe`: tokenizers; `export`, `card`: a finished one for
Hugging Face.

Imports inside functions are of numba's kernels, which take a second that short jobs
save.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

import click
import numpy as np

from vocap import options
from vocap.bpe import model_file, tiktoken_files
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object, read_tsv, write_text
from vocap.progress import Steps
from vocap.tables.curve import Measured, count_lines, write_sizes
from vocap.tables.sampling_probabilities import read_weights
from vocap.text_files.named_texts import find_texts, read_development
from vocap.text_files.records import read_lines
from vocap.tokenizer_files import DIGITS, REGEX, SPLITS, UNITS
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.tokenizer_files.export import COLUMNS, About, write_card
from vocap.tokenizer_files.export import export as export_sentencepiece
from vocap.tokenizer_files.id_layout import IdLayout, parse_layout
from vocap.tokenizer_files.layout import relayout, write_as_trained, write_tokenizer
from vocap.tokenizer_files.model_file import build_processor, read_model
from vocap.tokenizers import fitting
from vocap.tokenizers.gguf_file import export_gguf
from vocap.tokenizers.joint import descend_joint, sampled_text, warn_if_short, whole_text
from vocap.tokenizers.settings import KINDS, check_symbols
from vocap.tokenizers.sizes import measure_size, points_below
from vocap.unigram.alp import average_log_probability
from vocap.unigram.text_settings import COVERAGE, TextSettings
from vocap.unigram.training_text import Borders, count_shared_characters

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
OUT = click.option("-o", "--output", "out", required=True, type=FOLDER, help="Folder to write.")
WEIGHTS = click.option(
    "--weights", required=True, type=PATH, help="Table with the columns language, n."
)
ALPHA = click.option(
    "--alpha", default=0.7, type=options.Real(0, 10), help="Share of a language (Equation 3)."
)
PER = click.option(
    "--per",
    type=click.Choice(["line", "character"]),
    default="line",
    help="Unit of the languages' shares.",
)
CURVE = click.option(
    "--curve",
    type=FILE,
    help="Table to write, for vocap size: tokens and ALP of held-out text at eight T up to the "
    "largest.",
)


def _check(settings: TextSettings, layout: IdLayout) -> None:
    """Raise UsageError for symbols and a layout that a unigram model cannot have."""
    layout.check_unknown()
    for name in ("user_defined_symbols", "control_symbols"):
        try:
            check_symbols(list(getattr(settings, name)), layout)
        except ValueError as error:
            raise UsageError(f"--{name.replace('_', '-')}: {error}") from None


@click.command()
@click.option(
    "--allocation", required=True, type=PATH, help="Folder with allocation.tsv and vocabulary.tsv."
)
@click.option(
    "--vocabularies",
    required=True,
    type=PATH,
    help="Folder with {language}/curve.tsv and {language}/models/{size}.model.",
)
@WEIGHTS
@ALPHA
@options.text_keys("byte_fallback", "user_defined_symbols", "control_symbols")
@options.id_layout
@OUT
def fit(allocation, vocabularies, weights, alpha, layout, out, **text) -> None:
    """Score the pieces of an allocation: the VOCAP tokenizer. The normaliser is that of
    the languages' models.

    Writes sentencepiece.model (T ids), pieces.tsv (every piece, its languages and its
    status) and description.json.
    """
    settings = TextSettings(**{name: value for name, value in text.items() if value is not None})
    _check(settings, layout)

    chosen = fitting.read_allocation(allocation, layout)
    shares = fitting.sentence_shares(weights, chosen.sizes, alpha)
    shares = fitting.token_shares(vocabularies, chosen.sizes, shares)
    models, normalizer, trained = fitting.read_models(vocabularies, chosen)
    more = (settings, chosen.free_rows, layout, trained)
    proto, rows, facts = fitting.fit(chosen.owners, models, shares, normalizer, *more)
    made = {
        name: chosen.settings[name]
        for name in ("rule", "token_fairness")
        if chosen.settings.get(name)
    }
    facts["settings"] |= {"alpha": alpha} | made
    facts["text"] = fitting.learnt_from(vocabularies, chosen)
    write_tokenizer(out, proto, rows, facts)
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead, "
        f"{facts['raised']} raised"
        f", {facts['dropped']} dropped, {facts['characters_added']} required characters from no "
        "language's model",
        err=True,
    )


@click.command()
@click.option("--mix", type=PATH, help="A multilingual sample, one sentence a line (vocap mix).")
@click.option(
    "--corpora", type=FOLDER, help="Instead of a sample: {language}/train.txt, all lines, weighted."
)
@click.option("--weights", type=PATH, help="Table with the columns language, n; of all languages.")
@ALPHA
@PER
@click.option(
    "--characters",
    type=FOLDER,
    help="Folder with {language}/train.txt: hold the characters that VOCAP holds, and no others.",
)
@options.totals
@options.coverage(COVERAGE, "Share of the text's characters that must be pieces.")
@options.threads("Of one descent; the results do not depend on it.")
@options.text_options
@options.id_layout
@CURVE
@click.option("--heldout", type=FOLDER, help="With --curve: folder with {language}/heldout.txt.")
@OUT
def joint(
    mix, corpora, weights, alpha, per, characters, totals, curve, heldout, out, **training
) -> None:
    """Train a unigram model on the text of all languages: the JOINT tokenizer.

    From every training line (--corpora, --weights), each counted so often that its
    language has its share, or from a sample (--mix). Every T comes from one descent.
    Writes sentencepiece.model (T ids), pieces.tsv and description.json; dead pieces are
    reported, not repaired. Where the text does not hold T pieces the tokenizer stays
    short, with a warning. {total} in -o stands for T.
    """
    settings, coverage = training["settings"], training["coverage"]
    _check(settings, training["layout"])
    folders = options.folders(out, totals)
    if weights is None and (corpora or characters):
        option = "--corpora" if corpora else "--characters"
        raise UsageError(f"--weights is missing: {option} needs n of each language")
    if (curve is None) != (heldout is None):
        raise UsageError("--curve and --heldout go together; give both or none")

    # the text, and its required characters where they are those of the languages
    if (mix is None) == (corpora is None):
        raise UsageError(
            "give either --mix FILE, a sample, or --corpora DIR, for every training line"
        )
    if corpora is None:
        text = sampled_text(mix, None if weights is None else alpha)
    else:
        text = whole_text(corpora, read_weights(weights), alpha, per)
    required = None
    if characters is not None:
        shared = count_shared_characters(
            characters, read_weights(weights), alpha, coverage, settings
        )
        required = sorted({*shared, *settings.required_chars})
    # every total of one descent, and the measures of each, for the curve
    facts = {
        "coverage": coverage,
        "byte_fallback": False,
        "user_defined_symbols": [],
        **settings.changed(),
    }
    found = find_texts((), heldout, None, ["heldout"]) if curve else {}
    texts = {code: files["heldout"] for code, files in found.items()}
    further = points_below(max(totals)) if curve else ()
    measured = {}
    for total, proto, types in descend_joint(
        text, totals, required=required, further=further, **training
    ):
        reached = len(proto.pieces)
        if curve and reached not in measured:
            encoder = SentencePieceEncoder(build_processor(proto, out))
            measured[reached] = measure_size(encoder, reached, texts)
        if total in folders:
            short, seen = total - reached, {**text.facts, "word_types": types}
            own = {"total": total, **facts}
            written = write_as_trained(folders[total], "joint", proto, own, short=short, text=seen)
            _report(folders[total], written)
    if curve:
        write_sizes(curve, chain.from_iterable(measured.values()))


@click.command()
@click.option(
    "--model", required=True, type=PATH, help="A SentencePiece unigram model of one language."
)
@click.option("--language", required=True, type=options.Code(), help="Code of its language.")
@options.id_layout
@OUT
def mono(model, language, layout, out) -> None:
    """Lay one language's model out as a tokenizer: the MONO baseline, in XLM-R's layout
    two ids larger.

    Writes sentencepiece.model, pieces.tsv and description.json; dead pieces are
    reported, not repaired.
    """
    layout.check_unknown()
    if not model.exists():
        raise VocapError(
            f"{model}: no such model file; curve.tsv beside its folder says which sizes are ok"
        )
    proto, table = read_model(model), model.parent.parent / "characters.tsv"
    settings = {"language": language, "size": len(proto.pieces)}
    seen = {"lines": count_lines(table)} if table.exists() else {}
    laid_out = relayout(proto, str(model), layout)
    owners = {entry.piece: [language] for entry in laid_out.pieces}
    _report(out, write_as_trained(out, "mono", laid_out, settings, owners, text=seen))


def _report(out: Path, facts: dict) -> None:
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead", err=True
    )


@click.command()
@click.option("--corpora", required=True, type=FOLDER, help="Folder with {language}/train.txt.")
@WEIGHTS
@options.totals
@ALPHA
@PER
@click.option(
    "--unit", type=click.Choice(UNITS), default=UNITS[0], help="Symbols before any merge."
)
@click.option(
    "--split", type=click.Choice(SPLITS), default=SPLITS[0], help="Where text is cut before."
)
@click.option(
    f"--{REGEX}", metavar="EXPRESSION", help="In place of --split: its matches are the words."
)
@click.option(
    "--digits",
    type=click.Choice(DIGITS),
    help="Single digits, threes from the left or right, or whole numbers. [default: the split's]",
)
@click.option(
    "--contractions/--no-contractions",
    default=None,
    help="English ones ('s, 'll) are words of their own. [default: the split's]",
)
@options.coverage(
    COVERAGE, "Unit characters: share of each language's characters that must be pieces."
)
@click.option(
    "--development",
    metavar="PATTERN",
    help="Parallel text for fairness and parity: files with {lang}.",
)
@click.option(
    "--fairness",
    default=0.0,
    type=options.Real(0, 16),
    help="Multiply weights by (tokens on parallel text / mean) to this power, and train again.",
)
@click.option(
    "--rounds", default=2, type=click.IntRange(1, 20), help="Trainings with such weights."
)
@click.option(
    "--parity", is_flag=True, help="Each merge is for the language with the longest parallel text."
)
@click.option(
    "--from",
    "first",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Weighted merges of all languages before those of --parity.",
)
@click.option(
    "--window",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Of --parity: no language has more than twice its share of the last N merges.",
)
@options.text_options
@options.id_layout
@CURVE
@OUT
def bpe(
    corpora, weights, totals, alpha, coverage, development, parity, first, curve, out, **settings
) -> None:
    """Train byte-pair encoding on the text of all languages, every T at once.

    Pairs are counted over the words of all training lines, each line as often as its
    language weighs: no sample is drawn. Writes tokenizer.json (T ids),
    tokenizer_config.json, pieces.tsv and description.json. Where the text does not hold
    T pieces the tokenizer stays short, with a warning. {total} in -o stands for T.
    """
    fairness = settings["fairness"]
    folders = options.folders(out, totals)
    if first and not parity:
        raise UsageError(
            "--from counts the merges before those of --parity; give both, or leave it out"
        )
    if settings["window"] and not parity:
        raise UsageError("--window is of the merges of --parity; give both, or leave it out")
    if first > min(totals):
        raise UsageError(f"--from {first}: more merges than T = {min(totals)}; take fewer")
    if parity and fairness:
        raise UsageError("--parity and --fairness are two uses of parallel text; give one of them")
    if (parity or fairness) and development is None:
        raise UsageError("--parity and --fairness follow parallel text; give --development PATTERN")
    if fairness and len(set(totals)) > 1:
        raise UsageError("--fairness depends on T: give one --total, and run the command for each")
    from vocap.bpe import tokenizer_json, training
    from vocap.bpe.cutting import Pretokenization
    from vocap.bpe.multilingual import read_languages

    # the words of all languages
    split = settings["split"] if settings[REGEX] is None else REGEX
    own = {
        key: settings[key] for key in ("digits", "contractions", REGEX) if settings[key] is not None
    }
    how = Pretokenization(settings["unit"], split, settings["settings"], **own)
    rows = tokenizer_json.Rows(how, settings["layout"])
    n = {code: count for code, count in read_weights(weights).items() if count}
    text = whole_text(corpora, n, alpha, settings["per"])
    parallel = read_development(development, list(n)) if parity or fairness else {}
    paths = {part.path.parent.name: part.path for part in text.parts}
    languages = read_languages(paths, [part.weight for part in text.parts], how, parallel)
    # one training, and a folder for each T
    facts = {"alpha": alpha, "unit": how.unit, "split": how.split, **own}
    if how.unit == "characters":
        facts["coverage"] = coverage
    if parity:
        facts["from"] = first
    if settings["window"]:
        facts["window"] = settings["window"]
    if fairness:
        facts |= {"fairness": fairness, "rounds": settings["rounds"]}
    facts |= how.settings.changed()
    alphabet, merges, weighed = _train(languages, rows, totals, coverage, parity, first, settings)
    if curve:
        _write_curve(curve, corpora, languages, alphabet, merges, rows, max(totals))
    description = {
        "kind": "parity-bpe" if parity else "bpe",
        "settings": facts,
        "text": text.facts,
        **weighed,
    }
    for total, folder in folders.items():
        kept = training.merges_for(merges, rows.tokens(total, alphabet), len(alphabet.names))
        ids = tokenizer_json.write_tokenizer(folder, alphabet, kept, rows, description, total)
        warn_if_short(folder, total, ids)
        click.echo(f"{folder}: T = {ids}", err=True)


def _train(languages, rows, totals, coverage: float, parity: bool, first: int, settings) -> tuple:
    """The alphabet, the merges of the largest T, and the factors of the weights, for
    the description.
    """
    from vocap.bpe import multilingual, training

    how = rows.how
    alphabet = multilingual.common_alphabet(
        languages, how.unit, coverage, how.settings.required_chars
    )
    sizes = [rows.tokens(total, alphabet) for total in totals]
    base, wanted = len(alphabet.names), max(sizes)
    rounds = 1
    if settings["fairness"]:
        rounds += settings["rounds"]
    if parity and first:
        rounds += 1
    weighed: Mapping = {}
    with Steps("merges", max(1, rounds * wanted // training.MERGES)) as steps:

        def progress(tokens: int) -> None:
            steps.advance()

        if parity:
            given = None
            if first:
                most = min(base + first, wanted)
                given = multilingual.train_weighted(
                    languages, alphabet, most, rows.reserved, progress=progress
                )[:first]
            merges = multilingual.train_parity(
                languages, alphabet, wanted, rows.reserved, given, settings["window"], progress
            )
        else:
            merges, weights = multilingual.train_fair(
                languages,
                alphabet,
                wanted,
                rows.reserved,
                settings["fairness"],
                settings["rounds"],
                progress=progress,
            )
            if settings["fairness"]:
                weighed = {
                    "weights": {
                        one.code: weight for one, weight in zip(languages, weights, strict=True)
                    }
                }
    return alphabet, merges, weighed


def _write_curve(
    curve: Path, corpora: Path, languages, alphabet, merges, rows, largest: int
) -> None:
    """The table of `vocap size`: each language's heldout.txt at the T that the text
    gives.
    """
    from vocap.bpe.training import count_tokens, merges_for, token_names
    from vocap.bpe.words import count_words

    most = len(rows.ids(token_names(alphabet, merges)))
    ranks = {}
    for total in sorted({min(total, most) for total in points_below(largest)}):
        with suppress(UsageError):  # below the alphabet
            ranks[total] = len(
                merges_for(merges, rows.tokens(total, alphabet, exact=False), len(alphabet.names))
            )
    added = Borders([*rows.controls, *rows.symbols, *rows.last]).pattern
    apart, words, texts = [], [], {}
    for one in languages:
        path = corpora / one.code / "heldout.txt"
        lines = list(filter(None, read_lines(path))) if path.is_file() else []
        if lines:
            parts = list(filter(None, chain.from_iterable(map(added.split, lines))))
            # each one a token
            apart.append(Counter(chain.from_iterable(map(added.findall, lines))))
            words.append(count_words([partial(iter, [parts])], rows.how))
            texts[one.code] = len(lines), sum(len(line.encode("utf-8")) for line in lines)
    measured = []
    for total, found in zip(
        ranks, count_tokens(alphabet, words, 0, merges, [*ranks.values()]), strict=True
    ):
        for (code, (number, size)), others, counts in zip(texts.items(), apart, found, strict=True):
            counts = np.append(counts, np.array([*others.values()], np.int64))
            alp = average_log_probability(counts, number)
            measured.append(Measured(total, code, number, size, int(counts.sum()), alp))
    write_sizes(curve, measured)


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=PATH,
    help="Folder to write: results' huggingface/.",
)
@click.option(
    "--layout",
    help="That of vocap fit: tokens around a text, longest input. [default: the model's]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["huggingface", "tiktoken", "gguf"]),
    default="huggingface",
    help="Form to write; tiktoken takes byte-pair encoding of bytes, text as it is; gguf, the "
    "vocabulary file of llama.cpp, also unigram models without bytes (docs/clients.md).",
)
def export(model: Path, out: Path, layout: str | None, form: str) -> None:
    """Write a tokenizer for Hugging Face: the same ids, for AutoTokenizer; or for
    tiktoken or llama.cpp.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of
    vocap bpe. Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json;
    vocap card writes the model card. For tiktoken: ranks.tiktoken, and encoding.json
    with the other arguments of tiktoken.Encoding. For llama.cpp: the file that -o names.
    """
    if form != "huggingface":
        if layout is not None:
            raise UsageError(f"--layout: {form} keeps no tokens around a text; leave it out")
        write_form = {"tiktoken": tiktoken_files.export_tiktoken, "gguf": export_gguf}[form]
        click.echo(f"{out}: {write_form(model, out)} ids", err=True)
        return
    given = None if layout is None else parse_layout(layout)
    write = model_file.export if model_file.is_bpe(model) else export_sentencepiece
    click.echo(f"{out}: {write(model, out, given)} ids", err=True)


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "-o", "--output", required=True, type=FILE, help="File to write: README.md of huggingface/."
)
@click.option(
    "--evaluation", type=PATH, help="Table of vocap evaluate: the languages and their measures."
)
@click.option("--text", help="Where the text comes from, and its licences, in Markdown.")
def card(model: Path, output: Path, evaluation: Path | None, text: str | None) -> None:
    """Write the model card of a tokenizer: method, text and its licences, languages, limits.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of
    vocap bpe; method and settings are those of the description.json beside it.
    """
    description = model.with_name("description.json")
    facts = read_object(description) if description.is_file() else {}
    rows = None if evaluation is None else list(read_tsv(evaluation, COLUMNS))
    found = (
        model_file.about(model_file.read_bpe(model))
        if model_file.is_bpe(model)
        else About.of(read_model(model))
    )
    kind = KINDS.get(facts.get("kind", ""))
    method = kind.method if kind else ""
    write_text(output, write_card(model.resolve().parent.name, found, facts, rows, text, method))
