"""The readers of models and tokenizers against damaged and hostile files.

    python benchmarks/fuzzing/files.py [--seed 1] [--minutes 10] [--first 0] [--keep
        FOLDER]

Case number n is drawn from the seed and n alone: a verb, one of the valid files that it
reads (a SentencePiece model, a tokenizer.json, a model's config.json or weights), and
one to three changes of that file: of its bytes, its JSON values or its protobuf fields.
The verb runs in a process of its own. It must end by itself within 90 s of processor
time and 6 GiB, with status 0, or with status 1 or 2, one line `vocap: error: ...`, and
nothing at the path of its output. What does not is printed with the case's number, and
its file kept in FOLDER. The counts come last, by verb and status. Exit status 1 where a
case failed.
"""

import argparse
import contextlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

MEMORY, SECONDS = 6 << 30, 90
VALUES = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        255,
        2**31,
        2**63,
        10**30,
        1.5,
        -0.0,
        1e308,
        "",
        "a",
        "<s>",
        "\0",
        "▁",
        "\ud800",
    ),
    *(
        [],
        {},
        [[]],
        ["a", -1.0],
        ["a", "b"],
        {"type": "NFC"},
        {"String": "a"},
        {"Regex": "(a+)+$"},
        {"Regex": "("},
    ),
    *(
        {"type": "Replace", "pattern": {"Regex": ""}, "content": "aaaa"},
        {"type": "Strip", "strip_left": 1},
    ),
    *("a" * 100_000, [0] * 10_000),
]
NUMBERS = [0, 1, -1, 2, 5, 127, 128, 255, 2**15, 2**31 - 1, -(2**31)]
REALS = [0.0, -0.0, 1.0, -1e30, 3.4e38, float("nan"), float("inf"), -float("inf"), 1e-45]


# imported before the processes are forked, so that each need not do so
MODULES = (
    *("vocap.cli", "vocap.adapt.commands", "vocap.diff.commands"),
    *("vocap.adapt.unigram_tokenizer", "vocap.adapt.bpe_tokenizer"),
    "vocap.text_files.named_texts",
    *("vocap.vocabularies.commands", "vocap.unigram.alp", "vocap.unigram.alp"),
    *("vocap.tokenizers.commands", "vocap.tokenizers.evaluate", "vocap.tokenizers.parity"),
    *(
        "transformers",
        "transformers.models.xlm_roberta.modeling_xlm_roberta",
        "transformers.models.auto",
    ),
)


def make_files(folder: Path) -> None:
    """A text, a stock model, a tokenizer in both forms and with a model, and tokenizers
    of other kinds.
    """
    import transformers
    from sentencepiece import SentencePieceTrainer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    from vocap.tokenizer_files.export import export_unigram
    from vocap.tokenizer_files.layout import relayout, serialize
    from vocap.tokenizer_files.model_file import read_model

    transformers.logging.disable_progress_bar()
    rng = random.Random(0)
    words = ["".join(rng.choices("aeioutnsr", k=rng.randint(1, 6))) for _ in range(200)]
    lines = [" ".join(rng.choices(words, k=8)) for _ in range(400)]
    (folder / "text.txt").write_text(
        "".join(f"{line}\n" for line in [*lines[:60], "a" * 200 + "é <s> \u0301"])
    )
    for name, options in {
        "stock": {},
        "bytes": {"byte_fallback": True},
        "symbols": {"user_defined_symbols": "a,aa"},
    }.items():
        with open(folder / f"{name}.model", "wb") as out:
            SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=out,
                vocab_size=400,
                hard_vocab_limit=False,
                num_threads=1,
                minloglevel=2,
                **options,
            )
    whole = folder / "whole"
    whole.mkdir()
    (whole / "sentencepiece.model").write_bytes(
        serialize(relayout(read_model(folder / "stock.model"), "stock"))
    )
    export_unigram(whole / "sentencepiece.model", whole / "huggingface")
    for file in (whole / "huggingface").iterdir():
        shutil.copy(file, whole)
    ids = json.loads((whole / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    size = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
    }
    config = transformers.XLMRobertaConfig(vocab_size=len(ids), max_position_embeddings=20, **size)
    transformers.XLMRobertaForMaskedLM(config).save_pretrained(whole / "model")
    vocabulary = {
        word: number for number, word in enumerate(dict.fromkeys([*"aeioutnsr ", *words, "[UNK]"]))
    }
    words_only = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    words_only.normalizer, words_only.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    words_only.save(str(folder / "words.json"))
    pairs = Tokenizer(models.BPE({"a": 0, "e": 1, "ae": 2, "Ġ": 3}, [("a", "e")]))
    pairs.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("b", "c")])
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel()
    pairs.save(str(folder / "pairs.json"))


def cases(folder: Path) -> list[tuple[str, list[str]]]:
    """The file that is damaged, and the call that reads it; FILE, WHOLE and OUT are
    replaced.
    """
    text = f"{folder}/text.txt"
    models = [f"{name}.model" for name in ("stock", "bytes", "symbols")]
    tokenizers = ["words.json", "pairs.json", "whole/tokenizer.json"]
    trim = ["trim", "WHOLE", f"--text=en={text}", "-o", "OUT"]
    return [
        *((name, ["alp", "WHOLE/FILE", text]) for name in [*models, *tokenizers]),
        *((name, ["trim", "WHOLE/FILE", f"--text=en={text}", "-o", "OUT"]) for name in models),
        *(
            (name, ["mono", "--model", "WHOLE/FILE", "--language=en", "-o", "OUT"])
            for name in models
        ),
        *(
            (
                name,
                ["diff", "WHOLE/FILE", f"{folder}/stock.model", f"--text=en={text}", "-o", "OUT"],
            )
            for name in tokenizers
        ),
        ("whole/sentencepiece.model", ["export", "WHOLE/FILE", "-o", "OUT"]),
        ("whole/sentencepiece.model", trim),
        ("whole/tokenizer.json", trim),
        *(
            (f"whole/model/{name}", [*trim, "--model=WHOLE/model"])
            for name in 2 * ["config.json", "model.safetensors"]
        ),
    ]


def damage_bytes(rng: random.Random, data: bytes) -> bytes:
    if not data:
        return rng.randbytes(20)
    place, count = rng.randrange(len(data)), rng.choice((1, 1, 2, 8, 100, 5000))
    kind = rng.randrange(6)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + data[place + count :]
    if kind == 2:
        return data[:place] + rng.randbytes(count) + data[place:]
    if kind == 3:
        return (
            data[:place]
            + data[place : place + count] * rng.choice((2, 3, 1000))
            + data[place + count :]
        )
    if kind == 4:
        return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
    small = min(place, 40) if rng.random() < 0.5 else place  # where lengths and headers are
    return (
        data[:small]
        + rng.choice((b"\0", b"\xff", b"\x7f")) * min(count, 8)
        + data[small + min(count, 8) :]
    )


def damage_json(rng: random.Random, data: bytes) -> bytes:
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(data)
        node, steps = value, rng.choice((1, 1, 2, 3, 4, 6))
        if not isinstance(value, dict | list) or not value:
            return data
        for _ in range(steps):
            key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
            if not isinstance(node[key], dict | list) or not node[key]:
                break
            parent, node = node, node[key]
        else:
            node = parent
            key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        kind = rng.randrange(8)
        if kind == 0:
            del node[key]
        elif kind == 1 and isinstance(node, list):
            node.append(node[key])
        elif kind == 2 and isinstance(node[key], int | float):
            node[key] = rng.choice([-node[key], node[key] * 1000, node[key] + 1, str(node[key])])
        elif kind == 3:
            node[key] = [node[key]] * rng.choice((1, 3))
        elif kind == 4 and isinstance(node, dict):
            node[rng.choice(["type", "content", "normalizers", "unk_id", "id", "x"])] = rng.choice(
                VALUES
            )
        else:
            node[key] = rng.choice(VALUES)
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        return text.encode("utf-8", "surrogatepass")
    return damage_bytes(rng, data)


def damage_fields(rng: random.Random, data: bytes) -> bytes:
    from sentencepiece import sentencepiece_model_pb2

    try:
        proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    except Exception:
        return damage_bytes(rng, data)
    kind = rng.randrange(4)
    if kind == 0 and proto.pieces:
        entry = proto.pieces[rng.randrange(len(proto.pieces))]
        other = rng.choice(proto.pieces).piece
        texts = [
            "",
            "a",
            "▁",
            "▁▁",
            "<unk>",
            "<0x41>",
            "a▁b",
            "\0",
            "x" * 5000,
            "y" * 600,
            other,
            other * 50,
        ]
        choose(rng, entry, {"piece": texts, "score": REALS, "type": range(1, 7)})
    elif kind == 1:
        entry = (
            proto.self_test_data.samples.add(input="a", expected="b")
            if rng.random() < 0.2
            else None
        )
        if entry is None:
            blob = proto.normalizer_spec.precompiled_charsmap
            spec = rng.choice((proto.normalizer_spec, proto.denormalizer_spec))
            options = {
                "precompiled_charsmap": [damage_bytes(rng, blob), b"", b"x"],
                "name": ["", "x"],
            }
            choose(
                rng,
                spec,
                options
                | dict.fromkeys(
                    ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"),
                    (True, False),
                ),
            )
    elif kind == 2:
        numbers = dict.fromkeys(("unk_id", "bos_id", "eos_id", "pad_id", "vocab_size"), NUMBERS)
        flags = dict.fromkeys(
            ("byte_fallback", "treat_whitespace_as_suffix", "hard_vocab_limit"), (True, False)
        )
        choose(
            rng,
            proto.trainer_spec,
            {
                **numbers,
                **flags,
                "model_type": range(1, 5),
                "unk_surface": ["", "x" * 9999],
                "unk_piece": ["", "a"],
            },
        )
    else:
        for _ in range(rng.choice((1, 5, 300))):
            proto.pieces.add(
                piece=rng.choice("ab▁") * rng.choice((1, 2, 40, 500)) + str(rng.random()),
                score=rng.choice(REALS),
                type=rng.choice((1, 4, 5)),
            )
    return proto.SerializeToString()


def choose(rng: random.Random, message, options: dict) -> None:
    name = rng.choice(list(options))
    setattr(message, name, rng.choice(list(options[name])))


def damage(rng: random.Random, name: str, data: bytes) -> bytes:
    """One to three changes."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.3:
            data = damage_bytes(rng, data)
        elif name.endswith(".json"):
            data = damage_json(rng, data)
        elif name.endswith(".model"):
            data = damage_fields(rng, data)
        elif len(data) > 8 and (size := int.from_bytes(data[:8], "little")) < len(data):
            # safetensors
            header = damage_json(rng, data[8 : 8 + size])
            data = len(header).to_bytes(8, "little") + header + data[8 + size :]
    return data


def run(call: list[str], errors: Path) -> tuple[int, int]:
    """The status of `vocap` with these arguments (negative: a signal) and its peak
    memory in MB.
    """
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for number, path in ((1, os.devnull), (2, errors)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            from vocap.command import main

            sys.argv = ["vocap", *call]
            try:
                main()
            except SystemExit as end:
                os._exit(end.code or 0)
            except BaseException:
                traceback.print_exc()
                os._exit(99)
        os._exit(98)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss >> 10


def fault(status: int, said: str, out: Path) -> str:
    """Why a run is a failure; empty where it is none."""
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    if status not in (0, 1, 2) or "Traceback" in said or "panicked" in said:
        return f"status {status}, a traceback"
    if status and (
        said.count("vocap: error: ") != 1 or not said.splitlines()[-1].startswith("vocap: error: ")
    ):
        return f"status {status}, and not one line that says why"
    if status and out.exists():
        return f"status {status}, and an output"
    if any(".part" in path.name for path in out.parent.iterdir()):
        return "a temporary file stays"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--keep", type=Path, help="folder for the files of failed cases")
    arguments = parser.parse_args()
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    import torch

    torch.set_num_threads(1)
    for module in MODULES:
        importlib.import_module(module)
    counts, faults, number, peak, end = (
        Counter(),
        0,
        arguments.first,
        0,
        time.monotonic() + 60 * arguments.minutes,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder)
        known = cases(folder)
        data = {path: (folder / path).read_bytes() for path, _ in known}
        while time.monotonic() < end:
            rng = random.Random(f"{arguments.seed} {number}")
            path, call = known[rng.randrange(len(known))]
            place = folder / "case"
            shutil.rmtree(place, ignore_errors=True)
            inside = path.startswith("whole/")
            shutil.copytree(folder / "whole", place / "whole") if inside else (
                place / "whole"
            ).mkdir(parents=True)
            file = place / "whole" / path.removeprefix("whole/")
            file.write_bytes(damage(rng, path, data[path]))
            words = {"FILE": file.name, "WHOLE": str(place / "whole"), "OUT": str(place / "out")}
            for word, value in words.items():
                call = [part.replace(word, value) for part in call]
            status, memory = run(call, folder / "errors")
            said = (folder / "errors").read_text("utf-8", "replace")
            peak = max(peak, memory)
            counts[call[0], path, status] += 1
            if why := fault(status, said, place / "out"):
                faults += 1
                print(f"case {number}: {call[0]} of {path}: {why}", flush=True)
                print(
                    "".join(f"  {line[:300]}\n" for line in said.splitlines()[-6:]),
                    end="",
                    flush=True,
                )
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, arguments.keep / f"{number}-{call[0]}-{file.name}")
            number += 1
    for (verb, path, status), count in sorted(counts.items()):
        print(f"{verb}\t{path}\tstatus {status}\t{count}")
    print(f"{number - arguments.first} cases, {faults} failures, peak memory {peak} MB")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
