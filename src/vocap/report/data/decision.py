"""Which tokenizer to take: a row for each of one run or of several, with what it costs in tokens
and in parameters, and the programs that load it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from vocap.errors import VocapError
from vocap.files.written import written_by
from vocap.report.data.comparison import Size, parallel_means, sizes
from vocap.report.data.results import Results, Tokenizer
from vocap.size.forecast import ModelCosts
from vocap.tables.bootstrap import find_interval, resample_ratios
from vocap.tables.line_bits import LINE_TOKENS, SAMPLES
from vocap.text_files.named_texts import ENGLISH
from vocap.tokenizer_files.programs import loaded_by
from vocap.tokenizers.settings import BytePair, File

BASE = ModelCosts(86e6, 768)  # XLM-R base
# of the intervals, in the order of `_intervals`
ENDS = ["tokens_low", "tokens_high", "worst_low", "worst_high", "bits_low", "bits_high"]
MEANS = ["parallel_tokens", "gini", "parallel_bits", *ENDS]  # over joined runs
SPREAD = ["parallel_tokens", "parallel_bits"]


def programs(results: Results, name: str) -> list[str]:
    """The programs that load a tokenizer with equal ids, by its kind in docs/clients.md; none
    where that does not say.
    """
    one = results.tokenizers.get(name)
    if one is None or one.kind_class is File:
        return []
    lossless = (one.round_trips.share == 1).all()
    if issubclass(one.kind_class, BytePair):
        kind = f"bpe-{one.settings.get('split')}" if lossless else "bpe-nfkc"
    else:
        symbols = "-symbols" if one.settings.get("user_defined_symbols") else ""
        kind = "unigram-bytes" if one.settings.get("byte_fallback") else f"unigram{symbols}"
    return loaded_by().get(kind, [])


def read_configuration(folder: Path) -> dict[str, Any]:
    """The merged configuration of the run that last made the report in the results `folder`;
    empty where no workflow made one.
    """
    path = folder / "report" / "parameters.jsonl"
    if not path.exists():
        return {}
    with written_by("report", path):
        return json.loads(json.loads(path.read_text("utf-8"))["parameters"]["settings"])


def decide(runs: Mapping[str, Results], costs: ModelCosts = BASE) -> pandas.DataFrame:
    """Compare the tokenizers of all runs on the languages that all of them have parallel text of.

    Parameters
    ----------
    runs : the results of each run by its name. Those whose `settings` differ in `seed` alone are
        joined; without settings a run stays alone.
    costs : the model whose embeddings are counted.

    Returns
    -------
    pandas.DataFrame
        A row for each tokenizer, in the order of runs, T and configuration: `run` (names of the
        joined runs), `runs` (their number), `tokenizer`, `kind`, `total` (T), `regime` (model and
        cut); `parallel_tokens` (per sentence, mean over languages), `worst` (code of the language
        of the highest ratio of tokens to English) and `worst_ratio`; `gini` of the tokens;
        `parallel_bits` (per byte); `ENDS`, of the intervals of tokens, ratio and bits over
        sentences; `embedding_mparameters` (10^6) and `embedding_share` of the model; `programs`,
        joined by commas. Of joined runs `MEANS` are means, and all else is of the run with the
        highest ratio; `parallel_tokens_spread` and `parallel_bits_spread` are largest minus
        smallest, NaN for one run.

    Raises
    ------
    VocapError
        For fewer than two tokenizers, or no parallel text that all were measured on.
    """
    compared = {name: sizes(results) for name, results in runs.items()}
    every = list(chain(*compared.values()))
    where = ", ".join(runs)
    if sum(len(one.summary) for one in every) < 2:
        raise VocapError(
            f"{where}: fewer than two measured tokenizers of several languages; a decision needs "
            "two (vocap evaluate --tables)"
        )
    shared = set.intersection(*(set(one.parallel) for one in every))
    if not shared:
        raise VocapError(
            f"{where}: no language has parallel text that every tokenizer was measured on; give "
            "vocap evaluate --parallel"
        )
    codes = [code for code in every[0].parallel if code in shared]
    parts = [_of_run(runs[name], found, codes, costs) for name, found in compared.items()]
    rows = pandas.concat(parts, keys=runs, names=["run"]).reset_index()
    return _joined(rows.assign(group=rows.run.map(_groups(runs))))


def _of_run(
    results: Results, compared: Sequence[Size], codes: list[str], costs: ModelCosts
) -> pandas.DataFrame:
    """The rows of one run by tokenizer, before runs are joined."""
    facts = pandas.concat([one.summary[["kind", "total", "regime"]] for one in compared])
    facts = facts[~facts.index.duplicated()]  # those from elsewhere stand beside every T
    rows = pandas.concat([one.counted for one in compared])
    rows = rows[rows.language.isin(codes)].drop_duplicates(["tokenizer", "language"])
    found = facts.join(parallel_means(rows))
    made = [results.tokenizers[name] for name in found.index]
    ends = [_intervals(*both, codes) for both in zip(made, found.worst, strict=True)]
    totals = found.total.astype(float)
    embeddings = totals.map(costs.embedding_parameters)
    return found.join(pandas.DataFrame(ends, found.index, ENDS)).assign(
        embedding_mparameters=embeddings / 1e6,
        embedding_share=embeddings / totals.map(costs.parameters),
        programs=[", ".join(programs(results, one.name)) for one in made],
    )


def _intervals(one: Tokenizer, worst: Any, codes: list[str]) -> np.ndarray:
    """`ENDS` of a tokenizer, NaN for what its file does not have. Sentences are drawn anew, the
    same ones in all languages.
    """
    found = np.full((3, 2), np.nan)
    tokens, bits = (one.bits.get(part, {}) for part in (LINE_TOKENS, "parallel"))
    if not tokens.keys() >= {*codes}:
        return found.ravel()

    def sampled(over: np.ndarray, under: np.ndarray) -> np.ndarray:
        """Their ratios, [samples, languages]; the samples are always the same."""
        parts = np.stack([over, under], -1).astype(float)
        return resample_ratios(parts, SAMPLES, np.random.default_rng(0))[1:]

    lines = np.stack([tokens[code] for code in codes])
    english = tokens.get(ENGLISH, np.ones(lines.shape[1]))[None]
    known = english >= 0
    there = known & (lines >= 0)
    ratios = sampled(lines * there, english * there)
    found[0] = find_interval((ratios * sampled(english * known, known)).mean(1))
    if worst in codes:
        found[1] = find_interval(ratios[:, codes.index(worst)])
    if bits.keys() >= {*codes}:
        lengths = np.zeros((2, *lines.shape))
        lengths[:, there] = np.hstack([bits[code] for code in codes])
        found[2] = find_interval(sampled(*lengths).mean(1))
    return found.ravel()


def _groups(runs: Mapping[str, Results]) -> dict[str, str]:
    """A text for each run, the same of those whose configuration differs in `seed` alone. A copy,
    with the same seed, is no further sample and has another text.
    """
    settings = [results.settings or {"run": name} for name, results in runs.items()]
    return {
        name: json.dumps([one | {"seed": None}, settings[:place].count(one)], sort_keys=True)
        for place, (name, one) in enumerate(zip(runs, settings, strict=True))
    }


def _joined(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of runs of one group as one row for each tokenizer."""
    keys = ["group", "tokenizer"]
    groups = rows.fillna({"worst_ratio": 0}).groupby(keys, sort=False)
    spread = (groups[SPREAD].max() - groups[SPREAD].min()).where(groups[SPREAD].count() > 1)
    found = rows.loc[groups.worst_ratio.idxmax()].set_index(keys)
    found = found.assign(**groups[MEANS].mean(), run=groups.run.agg(", ".join), runs=groups.size())
    return found.join(spread.add_suffix("_spread")).reset_index("tokenizer").reset_index(drop=True)


def compare_totals(rows: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """Each two neighbouring T of one kind and cut, `small` and `large`, rows of `decide`; of
    several tokenizers of one T that of the fewest tokens.
    """
    priced = rows.dropna(subset=["parallel_tokens", "total"])
    for _, group in priced.groupby(["run", "kind", "regime"], sort=False):
        best = group.sort_values(["total", "parallel_tokens"]).drop_duplicates("total")
        for small, large in pairwise(best.to_dict("records")):
            yield {"small": small, "large": large}
