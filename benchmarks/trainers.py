"""Three trainers of unigram models on one text: SentencePiece, Hugging Face's
tokenizers, and the ladder.

    python benchmarks/trainers.py TEXT [--megabytes 8] [--sizes 8000,16000,32000]
        [--coverage 1]

TEXT is plain, .xz or .gz, a sentence a line; its first megabytes are taken, every 50th
line of them is held out. Every training is a process of its own with one thread, from
start to the file on disk: processor seconds, peak memory. SentencePiece and tokenizers
train each size by itself; the ladder trains the same sizes in one call, and all of
1000:50000:1000 in another, their ALP included. The text of all is normalised by
SentencePiece's own table (nmt_nfkc), and seeds, shrinking factor, EM rounds and longest
piece are 1,000,000, 0.75, 2 and 16 in all three. The Hugging Face trainer knows no
character coverage, hence the default of 1 for the others; nor does it end a piece where
the script changes. So it runs twice: as its class SentencePieceUnigramTokenizer does,
and with words cut at such borders beforehand. This forbids what SentencePiece forbids,
but also takes from its seeds the words that are always cut off there (a seed needs two
different continuations): neither is quite the same.

ALP, tokens per line and <unk> are of the held-out lines, encoded by the library that
trained the model, counted by the same function. Compared with SentencePiece's model of
that size: `pieces`, the share of its pieces that the model has, and `lines`, the share
of held-out lines that are cut alike. Last, every trainer is asked for a size above and
for one below what the text can have, with a limit of time.
"""

import argparse
import gzip
import lzma
import multiprocessing
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

META = ["<unk>", "<s>", "</s>"]
OPENERS = {".xz": lzma.open, ".gz": gzip.open}
HELD_OUT = 50  # one line in so many
ENDS = 1_000_000, 50  # sizes above and below what a text can have
TOKENIZERS, CUT = "tokenizers", "tokenizers, script borders"


def sentencepiece_model(text: Path, size: int, coverage: float, output: Path) -> None:
    """SentencePiece's own trainer, all else stock."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(output.with_suffix("")),
        model_type="unigram",
        vocab_size=size,
        character_coverage=coverage,
        num_threads=1,
        minloglevel=2,
    )


def borders(text: Path) -> str:
    """A pattern for the stretches of one script, by the groups of SentencePiece's
    `IsValidSentencePiece`.
    """
    from fontTools import unicodedata

    together = {"Hira": "Hani", "Kana": "Hani", "Zinh": "Zyyy", "Zzzz": "Zyyy"}
    scripts = {unicodedata.script(character) for character in set(text.read_text("utf-8"))}
    classes = {"Zyyy": r"[\p{Common}&&[^▁]]", "Hani": r"\p{Han}\p{Hiragana}\p{Katakana}ー"}
    for script in sorted({together.get(script, script) for script in scripts} - set(classes)):
        classes[script] = rf"\p{{{unicodedata.script_name(script)}}}"
    return "|".join(rf"▁?[{members}\p{{Inherited}}]+" for members in classes.values())


def hugging_face_model(
    text: Path, size: int, normalizer: Path, output: Path, cut: bool = False
) -> None:
    """tokenizers' UnigramTrainer with the steps of its class
    SentencePieceUnigramTokenizer; with `cut`, `borders`.

    The normaliser is SentencePiece's table, as transformers' conversion of a
    SentencePiece model has it.
    """
    from sentencepiece import sentencepiece_model_pb2
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    proto = sentencepiece_model_pb2.ModelProto.FromString(normalizer.read_bytes())
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    steps = [pre_tokenizers.Metaspace(prepend_scheme="always")]
    if cut:
        steps.append(pre_tokenizers.Split(Regex(borders(text)), "isolated"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    trainer = trainers.UnigramTrainer(
        vocab_size=size,
        special_tokens=META,
        unk_token="<unk>",
        shrinking_factor=0.75,
        max_piece_length=16,
        n_sub_iterations=2,
        show_progress=False,
    )
    tokenizer.train([str(text)], trainer)
    tokenizer.save(str(output))


def ladder_models(text: Path, sizes: str, coverage: float, output: Path) -> None:
    """`vocap ladder` with one thread."""
    from vocap.cli import vocap

    options = ["-o", str(output), "--sizes", sizes, "--coverage", str(coverage)]
    vocap.main(["ladder", str(text), *options], standalone_mode=False)


@dataclass(frozen=True)
class Cost:
    """Of one process: processor and wall seconds, peak resident memory in MB."""

    cpu: float
    wall: float
    memory: float


def _child(queue, function, arguments: tuple) -> None:
    os.environ |= {
        "RAYON_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
    }
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    error = None
    try:
        function(*arguments)
    except Exception as reason:
        error = str(reason).strip().splitlines()[0]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    queue.put((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, error))


def measured(function, *arguments, seconds: float | None = None) -> tuple[Cost | None, str | None]:
    """What a fresh process took for `function`, and its error; no cost where it was
    ended after `seconds`.
    """
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    begin = time.perf_counter()
    child = context.Process(target=_child, args=(queue, function, arguments))
    child.start()
    child.join(seconds)
    if child.is_alive():
        child.kill()
        child.join()
        return None, f"not ended after {seconds:.0f} s"
    if child.exitcode:
        return None, f"ended with status {child.exitcode}"
    cpu, memory, error = queue.get()
    return Cost(cpu, time.perf_counter() - begin, memory), error


def split(path: Path, megabytes: float, folder: Path) -> tuple[Path, Path]:
    """The first megabytes of a text, whole lines, as train.txt and heldout.txt."""
    train, heldout = folder / "train.txt", folder / "heldout.txt"
    left = int(megabytes * 1e6)
    opener = OPENERS.get(path.suffix, open)
    with opener(path, "rb") as lines, open(train, "wb") as most, open(heldout, "wb") as few:
        for number, line in enumerate(lines):
            left -= len(line)
            if left < 0:
                break
            (few if number % HELD_OUT == 0 else most).write(line)
    return train, heldout


@dataclass(frozen=True)
class Quality:
    """Of one model: ids, pieces without the meta ones, held-out lines as pieces, and
    their measures.
    """

    ids: int
    pieces: frozenset[str]
    cuts: list[list[str]]
    alp: float
    tokens: float  # a line
    unknown: float  # share of tokens


def quality(model: Path, heldout: Path) -> Quality:
    """ALP and tokens of the held-out lines, whatever library the model is of."""
    from vocap.text_files.records import read_blocks
    from vocap.tokenizer_files.encoders import load_encoder
    from vocap.unigram.alp import corpus_alp

    encoder = load_encoder(model)
    alp = corpus_alp(encoder, read_blocks(heldout))
    names = encoder.pieces
    cuts = [
        [names[piece] for piece in ids]
        for block in read_blocks(heldout)
        for ids in encoder.encode_batch(block)
    ]
    return Quality(
        encoder.size,
        frozenset(names) - set(META),
        cuts,
        alp.alp,
        alp.tokens_per_sentence,
        float(alp.counts[encoder.unk_id] / alp.tokens),
    )


def compare(train: Path, heldout: Path, folder: Path, sizes: list[int], coverage: float) -> None:
    """Print cost and quality by size, then the costs of all sizes together."""
    print(
        f"{'':>26}{'size':>8}{'CPU s':>8}{'wall s':>8}{'MB':>7}"
        f"{'ids':>8}{'ALP':>10}{'tokens':>8}{'<unk>':>8}{'pieces':>8}{'lines':>8}"
    )

    def row(
        name: str, size: object, cost: Cost | None, model: Quality | None, reference: Quality | None
    ) -> None:
        text = f"{name:<26}{size!s:>8}"
        text += f"{cost.cpu:8.1f}{cost.wall:8.1f}{cost.memory:7.0f}" if cost else " " * 23
        if model:
            text += f"{model.ids:8d}{model.alp:10.3f}{model.tokens:8.3f}{model.unknown:8.3%}"
        if model and reference:
            alike = sum(a == b for a, b in zip(model.cuts, reference.cuts, strict=True)) / len(
                model.cuts
            )
            text += (
                f"{len(model.pieces & reference.pieces) / len(reference.pieces):8.2%}{alike:8.1%}"
            )
        print(text, flush=True)

    totals: dict[str, list[Cost]] = {"SentencePiece": [], TOKENIZERS: [], CUT: []}
    # compiles kernels, if need be
    measured(ladder_models, train, str(sizes[0]), coverage, folder / "warm")
    same, error = measured(
        ladder_models, train, ",".join(map(str, sizes)), coverage, folder / "ladder"
    )
    if error:
        raise SystemExit(f"the ladder: {error}")
    whole, _ = measured(ladder_models, train, "1000:50000:1000", coverage, folder / "all")
    for size in sizes:
        model = folder / f"{size}.model"
        cost, error = measured(sentencepiece_model, train, size, coverage, model)
        if error:
            print(f"{'SentencePiece':<26}{size:>8}  {error}", flush=True)
            continue
        reference = quality(model, heldout)
        row("SentencePiece", size, cost, reference, None)
        totals["SentencePiece"].append(cost)
        for name in (TOKENIZERS, CUT):
            output = folder / f"{size}-{name}.json"
            cost, error = measured(hugging_face_model, train, size, model, output, name == CUT)
            if error:
                print(f"{name:<26}{size:>8}  {error}", flush=True)
                continue
            row(name, size, cost, quality(output, heldout), reference)
            totals[name].append(cost)
        row(
            "ladder",
            size,
            None,
            quality(folder / "ladder" / "models" / f"{size}.model", heldout),
            reference,
        )
    for name, costs in totals.items():
        if costs:
            cpu, wall = sum(cost.cpu for cost in costs), sum(cost.wall for cost in costs)
            row(
                name,
                f"all {len(costs)}",
                Cost(cpu, wall, max(cost.memory for cost in costs)),
                None,
                None,
            )
    row("ladder, with ALP", f"all {len(sizes)}", same, None, None)
    found = len(list((folder / "all" / "models").glob("*.model")))
    row("ladder, with ALP, 1K-50K", f"all {found}", whole, None, None)


def reach(train: Path, folder: Path, coverage: float, seconds: float) -> None:
    """Print what each trainer does with a size above what the text can have, and with
    one below.
    """
    normalizer = next(folder.glob("[0-9]*.model"))
    for size in ENDS:
        _, error = measured(
            sentencepiece_model,
            train,
            size,
            coverage,
            folder / f"end-{size}.model",
            seconds=seconds,
        )
        print(f"SentencePiece, {size}: {error}")
        output = folder / f"end-{size}.json"
        _, error = measured(hugging_face_model, train, size, normalizer, output, seconds=seconds)
        if not error:
            from vocap.tokenizer_files.encoders import load_encoder

            error = f"a tokenizer of {load_encoder(output).size} ids"
        print(f"tokenizers, {size}: {error}")
        measured(ladder_models, train, str(size), coverage, folder / f"end-{size}", seconds=seconds)
        print(
            f"ladder, {size}: "
            f"{(folder / f'end-{size}' / 'curve.tsv').read_text().split(chr(9))[-1].strip()}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--sizes", default="8000,16000,32000")
    parser.add_argument("--coverage", type=float, default=1.0)
    parser.add_argument(
        "--limit", type=float, default=120, help="seconds for sizes that cannot be reached"
    )
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, heldout = split(options.text, options.megabytes, folder)
        lines = [path.read_bytes().count(b"\n") for path in (train, heldout)]
        print(
            f"{options.text.name}: {train.stat().st_size / 1e6:.2f} MB, {lines[0]} lines, "
            f"{lines[1]} held out; coverage {options.coverage}; load {os.getloadavg()[0]:.1f} at "
            "the beginning"
        )
        compare(train, heldout, folder, sizes, options.coverage)
        reach(train, folder, options.coverage, options.limit)
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
