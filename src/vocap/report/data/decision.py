"""Which tokenizer to take: a row for each of one run or of several, with what it costs in tokens
and in parameters, and the programs that load it.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas

from vocap.errors import VocapError
from vocap.files.written import written_by
from vocap.report.data.comparison import Size, parallel_means, sizes
from vocap.report.data.results import Results, look_up
from vocap.size.forecast import ModelCosts
from vocap.tables.line_bits import mean_interval
from vocap.tokenizer_files.programs import loaded_by
from vocap.tokenizers.settings import BytePair, File

BASE = ModelCosts(86e6, 768)  # XLM-R base
SPREAD = ["parallel_tokens", "parallel_bits"]  # columns with a spread over runs


def programs(results: Results, name: str) -> list[str]:
    """The programs that load a tokenizer with equal ids, by its kind in docs/clients.md; none
    where that does not say.
    """
    one = results.tokenizers.get(name)
    if one is None or one.kind_class is File:
        return []
    lossless = all(row["share"] == 1 for row in one.round_trips)
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
        jobs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        said = [look_up(job, "parameters", "settings") for job in jobs]
        return json.loads(next((text for text in reversed(said) if text), "{}"))


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
        `parallel_bits` (per byte) with the ends `bits_low` and `bits_high` of its interval over
        lines; `embedding_mparameters` (10^6) and `embedding_share` of the model;
        `programs`, joined by commas. Of joined runs numbers are means, the worst language is that
        of any of them, T that of its run, and `parallel_tokens_spread` and
        `parallel_bits_spread` are largest minus smallest, NaN for one run.

    Raises
    ------
    VocapError
        For fewer than two tokenizers, or no parallel text that all were measured on.
    """
    compared = {name: sizes(results) for name, results in runs.items()}
    every = [one for found in compared.values() for one in found]
    where = ", ".join(runs)
    if sum(len(one.summary) for one in every) < 2:
        raise VocapError(
            f"{where}: fewer than two measured tokenizers of several languages; a decision needs "
            "two (vocap evaluate --tables)"
        )
    shared = set.intersection(*(set(one.parallel) for one in every))
    if not shared:
        raise VocapError(
            f"{where}: no language has parallel text that every T was measured on; give "
            "vocap evaluate --parallel"
        )
    codes = [code for code in every[0].parallel if code in shared]
    parts = [_of_run(runs[name], found, codes, costs) for name, found in compared.items()]
    rows = pandas.concat(parts, keys=runs, names=["run"]).reset_index("run")
    return _joined(rows.assign(group=rows.run.map(_alike(runs))))


def _of_run(
    results: Results, compared: Sequence[Size], codes: list[str], costs: ModelCosts
) -> pandas.DataFrame:
    """The rows of one run, before runs are joined."""
    facts = pandas.concat([one.summary[["kind", "total", "regime"]] for one in compared])
    facts = facts[~facts.index.duplicated()]  # those from elsewhere stand beside every T
    rows = pandas.concat([one.counted for one in compared])
    rows = rows[rows.language.isin(codes)].drop_duplicates(["tokenizer", "language"])
    totals = facts.total.astype(float)
    embeddings = totals.map(costs.embedding_parameters)
    bits = [results.tokenizers[name].bits.get("parallel", {}) for name in facts.index]
    ends = [mean_interval(lines, codes) for lines in bits]
    return (
        facts.join(parallel_means(rows))
        .assign(
            bits_low=[low for low, _ in ends],
            bits_high=[high for _, high in ends],
            embedding_mparameters=embeddings / 1e6,
            embedding_share=embeddings / totals.map(costs.parameters),
            programs=[", ".join(programs(results, name)) for name in facts.index],
        )
        .reset_index(names="tokenizer")
    )


def _alike(runs: Mapping[str, Results]) -> dict[str, str]:
    """A text for each run, the same of those whose configuration differs in `seed` alone."""
    times: Counter[str] = Counter()
    found = {}
    for name, results in runs.items():
        settings = results.settings or {"run": name}
        whole = json.dumps(settings, sort_keys=True)
        times[whole] += 1  # a copy of a run, with the same seed, is no further sample
        found[name] = json.dumps([times[whole], settings | {"seed": None}], sort_keys=True)
    return found


def _joined(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of runs of one group as one row for each tokenizer."""
    keys = ["group", "tokenizer"]
    groups = rows.groupby(keys, sort=False)
    numbers = list(rows.select_dtypes("float"))
    # T, texts, and the worst language with its ratio, are of the row of the highest ratio
    worst = rows.sort_values("worst_ratio", ascending=False, kind="stable").groupby(keys).first()
    found = groups[numbers].mean().join(worst.drop(columns=numbers))
    spread = groups[SPREAD].max() - groups[SPREAD].min()
    found = found.assign(
        worst_ratio=worst.worst_ratio, runs=groups.size(), run=groups.run.agg(", ".join)
    )
    found = found.join(spread.where(found.runs > 1).add_suffix("_spread"))
    return found.reset_index("tokenizer").reset_index(drop=True)


def compare_totals(rows: pandas.DataFrame) -> list[str]:
    """In sentences, what each next T of one kind and cut saves in tokens, and its price in
    parameters; of several tokenizers of one T that of the fewest tokens.
    """
    said = []
    priced = rows.dropna(subset=["parallel_tokens", "total"])
    for _, group in priced.groupby(["run", "kind", "regime"], sort=False):
        best = group.sort_values(["total", "parallel_tokens"]).drop_duplicates("total")
        for small, large in pairwise(best.itertuples()):
            percent = 100 * (1 - large.parallel_tokens / small.parallel_tokens)
            verb = f"saves {percent:.1f} %" if percent >= 0 else f"adds {-percent:.1f} %"
            more = large.embedding_mparameters - small.embedding_mparameters
            said.append(
                f"{large.kind}: {large.total:,.0f} ({large.tokenizer}) {verb} of the tokens of "
                f"{small.total:,.0f} ({small.tokenizer}) for {more:,.3g} M parameters."
            )
    return said
