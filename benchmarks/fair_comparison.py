"""Which rule makes the better tokenizer? VOCAP by curves, JOINT and PIECES from the
same text, at the same T.

    python benchmarks/fair_comparison.py --corpora results/corpora --vocabularies
        results/vocabularies -o OUT
        [--totals 100000,200000] [--betas 0.7] [--alpha 0.7] [--threads 2]

`corpora` holds weights.tsv and {language}/train.txt and heldout.txt, `vocabularies` the
curves of the same text. All tokenizers learn from every training line and hold the same
required characters. JOINT is trained with the weights alpha, and alpha x beta for each
beta. Writes OUT/comparison.tsv, a row for each T, beta and tokenizer, measured on
held-out lines; languages with more than 1 % <unk> under any tokenizer are left out of
all means. Files that are there already are not made again.

Columns: `low mid high all q_weighted`: ALP minus that of JOINT at alpha, nats a line,
means over languages (`q_weighted` by q); `percent`: the mean over languages of the same
in percent of JOINT's ALP; `better`: languages above JOINT; `objective`: sum of q^beta
ALP over the languages. Columns `ce_*`: the same of minus the held-out cross-entropy
under the unigram of the training text, each token's count there plus 0.1.
`unk_percent`: mean.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import sentencepiece

from vocap.tables.sampling_probabilities import read_weights, sampling_probabilities
from vocap.text_files.records import read_blocks
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram.alp import count_tokens

SMOOTHING = 0.1
GROUPS = ("low", "mid", "high")


def vocap(*words: object) -> None:
    call = [sys.executable, "-c", "from vocap.command import main; main()", *map(str, words)]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)


class Comparison:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.corpora, self.out = options.corpora, options.output
        self.weights = self.corpora / "weights.tsv"
        self.languages = sorted(read_weights(self.weights))

    def joint(self, alpha: float) -> dict[int, Path]:
        """JOINT at every T; the folder of each."""
        folders = {total: self.out / f"joint-{alpha:g}-{total}" for total in self.options.totals}
        missing = [
            total
            for total, folder in folders.items()
            if not (folder / "sentencepiece.model").exists()
        ]
        if missing:
            totals = [word for total in missing for word in ("--total", total)]
            name = self.out / f"joint-{alpha:g}-{{total}}"
            learnt = ("--corpora", self.corpora, "--weights", self.weights, "--alpha", alpha)
            vocap(
                "joint", *learnt, "--vocabularies", self.options.vocabularies, *totals, "-o", name
            )
        return folders

    def vocap(self, rule: str, beta: float) -> dict[int, Path]:
        """A tokenizer of an allocation at every T; the folder of each."""
        alpha = self.options.alpha
        inputs = ("--vocabularies", self.options.vocabularies, "--weights", self.weights)
        setting = ("--alpha", alpha, "--beta", beta)
        text = rule == "pieces"
        trunk = self.out / f"trunk-{beta:g}.npz"
        if text and not trunk.exists():
            threads = ("--threads", self.options.threads)
            vocap("trunk", *inputs, "--corpora", self.corpora, *setting, *threads, "-o", trunk)
        folders = {}
        for total in self.options.totals:
            folder = folders[total] = self.out / f"{rule}-{beta:g}-{total}"
            if (folder / "sentencepiece.model").exists():
                continue
            allocation = self.out / "allocations" / folder.name
            if not (allocation / "summary.json").exists():
                more = ("--corpora", self.corpora, "--trunk", trunk) if text else ()
                vocap(
                    "allocate",
                    *inputs,
                    "--rule",
                    rule,
                    *more,
                    *setting,
                    "--total",
                    total,
                    "-o",
                    allocation,
                )
            models = allocation / "vocabularies" if text else self.options.vocabularies
            learnt = ("--weights", self.weights, "--alpha", alpha)
            vocap(
                "fit", "--allocation", allocation, "--vocabularies", models, *learnt, "-o", folder
            )
        return folders

    def measure(self, folder: Path) -> pd.DataFrame:
        """ALP, <unk> rate and minus the cross-entropy by language, on held-out
        lines.
        """
        table = folder / "measured.tsv"
        if not table.exists():
            codes = (
                "--languages",
                ",".join(self.languages),
                "--languages-table",
                self.options.table,
            )
            named = f"{folder.name}={folder / 'sentencepiece.model'}"
            vocap(
                "evaluate",
                "--tokenizer",
                named,
                "--corpora",
                self.corpora,
                *codes,
                "--tables",
                folder.parent,
            )
            rows = pd.read_csv(
                folder / "evaluation.tsv", sep="\t", keep_default_na=False
            ).set_index("language")
            rows = rows[["resource", "alp", "unk_rate"]].assign(ce=self.cross_entropies(folder))
            rows.to_csv(table, sep="\t")
        return pd.read_csv(table, sep="\t", keep_default_na=False).set_index("language")

    def cross_entropies(self, folder: Path) -> pd.Series:
        path = str(folder / "sentencepiece.model")
        encoder = SentencePieceEncoder(sentencepiece.SentencePieceProcessor(model_file=path))
        found = {}
        for code in self.languages:
            texts = (
                read_blocks(self.corpora / code / f"{name}.txt") for name in ("train", "heldout")
            )
            (train, _), (heldout, lines) = (count_tokens(encoder, text) for text in texts)
            smoothed = train + SMOOTHING
            found[code] = float((heldout * np.log(smoothed / smoothed.sum())).sum() / lines)
        return pd.Series(found)

    def compare(self) -> pd.DataFrame:
        options = self.options
        reference = self.joint(options.alpha)
        rows = []
        for beta in options.betas:
            made = {
                "joint": reference,
                "joint at alpha x beta": self.joint(round(options.alpha * beta, 6)),
            }
            made |= {rule: self.vocap(rule, beta) for rule in ("paper", "pieces")}
            for total in options.totals:
                measured = {name: self.measure(folders[total]) for name, folders in made.items()}
                rows += self.rows(total, beta, measured)
                print(pd.DataFrame(rows).to_string(index=False), flush=True)
        return pd.DataFrame(rows)

    def rows(self, total: int, beta: float, measured: dict[str, pd.DataFrame]) -> list[dict]:
        numbers = read_weights(self.weights)
        q = pd.Series(
            dict(
                zip(
                    numbers,
                    sampling_probabilities(list(numbers.values()), self.options.alpha),
                    strict=True,
                )
            )
        )
        kept = [
            code
            for code in self.languages
            if all(table.unk_rate[code] <= 0.01 for table in measured.values())
        ]
        group, base = measured["joint"].resource[kept], measured["joint"].loc[kept]
        rows = []
        for name, table in measured.items():
            row = {"total": total, "beta": beta, "tokenizer": name, "languages": len(kept)}
            for prefix, column in (("", "alp"), ("ce_", "ce")):
                change = table[column][kept] - base[column]
                row |= {
                    f"{prefix}{one}": round(float(change[group == one].mean()), 3) for one in GROUPS
                }
                row[f"{prefix}all"] = round(float(change.mean()), 3)
                row[f"{prefix}q_weighted"] = round(
                    float((change * q[kept]).sum() / q[kept].sum()), 3
                )
                row[f"{prefix}better"] = int((change > 0).sum())
                row[f"{prefix}percent"] = round(float((100 * change / -base[column]).mean()), 3)
                row[f"{prefix}objective"] = round(
                    float((q[kept] ** beta * table[column][kept]).sum()), 4
                )
            row["unk_percent"] = round(100 * float(table.unk_rate[kept].mean()), 4)
            rows.append(row)
        return rows


def main() -> None:
    numbers = lambda kind: lambda text: [kind(part) for part in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--vocabularies", type=Path, required=True)
    parser.add_argument("--totals", type=numbers(int), default=[100_000, 200_000])
    parser.add_argument("--betas", type=numbers(float), default=[0.7])
    parser.add_argument("--alpha", type=float, default=0.7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--table",
        type=Path,
        default=Path("config/languages.tsv"),
        help="languages and their groups",
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    Comparison(options).compare().to_csv(options.output / "comparison.tsv", sep="\t", index=False)


if __name__ == "__main__":
    main()
