"""The answer for one language: figures of a run, and the cause that they name."""

import statistics
from itertools import islice
from typing import Any

import numpy as np

from vocap.allocation.algorithm_1 import fair_values, hull_gains
from vocap.report.data.results import AllocationResults
from vocap.report.data.sentences import READ, choose_line
from vocap.report.why.remedies import (
    FIELDS,
    estimate_extension,
    larger_weights,
    reason_without_weights,
)
from vocap.report.why.run import COSTS, Run, count_shared
from vocap.tables.curve import outline
from vocap.text_files.records import read_lines
from vocap.tokenizers.settings import Mono

OWN_SCRIPT = 0.2  # strength of a script that no other language of the run has
PARTNERS = 5  # languages that share most pieces
LEAST = 0.1  # strength from which a cause is named
TOO_LITTLE = "too little text"  # begins the reason of a size that text does not reach


def answer_for(run: Run, code: str) -> dict[str, Any]:
    """All figures of one language as plain data; None or nothing for what is not known.

    `ends_at`: the size where its curve ends, and the `end` in words; `median_end` that of the
    median language. `curve`: of each size its ALP (nats a line) and tokens of a
    training line. `allocations`, `tokenizers`: of `share_of` and `cost_of`, the one to take
    first. `line`: a held-out line, cut. `weights`, `extend`: by allocation and tokenizer, of
    `vocap.report.why.remedies`. `causes`: of `causes_of`.
    """
    results = run.results
    points, found = results.trained(code), outline(results.curves.get(code, ()))
    taken = results.tokenizers[run.front[0]].allocation if run.front else None
    has = {name for (name, language), row in run.shares.items() if language == code and row["size"]}
    entries = [one for one in results.allocations.values() if one.name in has]
    entries.sort(key=lambda one: (one is not taken, one.text_rule is not None))
    made = [one.name for one in results.configured_tokenizers() if one.kind_class is not Mono]
    without = reason_without_weights(run, code)
    asked: dict[str, str] = {}  # allocations of the same settings have one answer
    for one in entries if not without else ():
        if one.settings:
            asked.setdefault(str(list(map(one.setting, FIELDS))), one.name)
    answer = {
        "language": code,
        "name": results.name(code),
        "lines": results.lines(code),
        "bytes": results.corpora.get(code, {}).get("bytes"),
        "ends_at": points[-1].size if points else None,
        "end": found.end_reason if found else "",
        "median_end": run.median_end,
        "curve": [(point.size, point.alp, point.tokens_per_sentence) for point in points],
        "allocations": [share_of(run, one, code) for one in entries],
        "tokenizers": [cost_of(run, name, code) for name in dict.fromkeys([*run.front[:1], *made])],
        "line": _line(run, code),
        "weights": {name: larger_weights(run, name, code) for name in asked.values()},
        "no_weights": without,
        "extend": {name: estimate_extension(run, name, code) for name in run.front},
    }
    return answer | {"causes": causes_of(run, answer)}


def share_of(run: Run, entry: AllocationResults, code: str) -> dict[str, Any]:
    """What an allocation gives to a language: its row of allocation.tsv, `rule` and settings;
    of the merged vocabulary the number of pieces `held`, those `alone`, its single `characters`,
    and the `partners`, the `PARTNERS` languages that share most of them; and the price.

    For sizes, `next_gain` is what the step to `next_size` on its curve brings (nats a line for
    1,000 pieces, times its weight; None where no step gains) and `last_gain` the smallest gain
    that was taken. For pieces `gain` is the one price of all languages.
    """
    found = dict(run.shares[entry.name, code])
    path = run.folder / "allocation" / entry.name / "vocabulary.tsv"
    if path.exists() and code in count_shared(path)[0]:
        shared, alone, characters = count_shared(path)
        partners = shared[code].drop(code).nlargest(PARTNERS)
        found |= {
            "held": int(shared[code][code]),
            "alone": int(alone[code]),
            "characters": int(characters[code]),
            "partners": partners[partners > 0].to_dict(),
        }
    points = run.results.trained(code)
    sizes = [point.size for point in points]
    if not found["by_pieces"] and found["size"] in sizes[:-1]:
        values = fair_values(np.array([one.alp for one in points]), found.get("fairness", 0))
        rank = sizes.index(found["size"])
        gain = found["weight"] * float(hull_gains(np.array(sizes), values)[rank])
        found |= {"next_size": sizes[rank + 1], "next_gain": gain if gain > 0 else None}
    return found


def cost_of(run: Run, name: str, code: str) -> dict[str, Any]:
    """`Run.costs` of a tokenizer and a language, with the `kind` and `total` of the tokenizer,
    whether it `follows_text` that is parallel, and the ids that a language uses of one without
    an allocation.
    """
    one = run.results.tokenizers[name]
    kind = one.kind_class
    found = dict.fromkeys(COSTS) | run.costs.get((name, code), {})
    used = found.pop("training_ids")
    return found | {
        "name": name,
        "kind": one.kind_label,
        "total": one.total,
        "follows_text": kind.followed_text(one.settings),
        "used_ids": used if kind.made and not kind.allocated else None,
    }


def _line(run: Run, code: str) -> dict[str, list[Any]]:
    """By tokenizer of the front the stretches of a held-out line, and the number of tokens."""
    path = run.heldout(code)
    lines = list(islice(read_lines(path), READ)) if path.exists() and run.cutters else []
    script = run.results.languages[code].script
    found = choose_line(code, script, lines, list(run.cutters.values()))
    cuts = zip(run.cutters, found.cuts, strict=True) if found else ()
    return {name: [[text for text, _ in cut], tokens] for name, (cut, tokens) in cuts}


def causes_of(run: Run, answer: dict[str, Any]) -> dict[str, float]:
    """The causes of what a language gets, each with its strength from 0 to 1, the strongest
    first; those below `LEAST` are left out.

    "too little text": how far its curve, ended by its text, ends below the median language's.
    "a small weight": how far its weight (without an allocation its n) is below the median.
    "many characters": the share of single characters in its ids. "a script of its own":
    `OWN_SCRIPT`, where no other language of the run is written in it.
    """
    code, languages = answer["language"], run.results.languages
    found = {}
    if answer["end"].startswith(TOO_LITTLE):
        found["too little text"] = 1 - answer["ends_at"] / answer["median_end"]
    n = run.results.line_counts
    if code in n:
        found["a small weight"] = 1 - n[code] / statistics.median(n.values())
    for share in answer["allocations"][:1]:
        found["a small weight"] = 1 - share["weight"] / share["median_weight"]
        if share["held"]:
            found["many characters"] = share["characters"] / share["held"]
    script = languages[code].script
    alike = [one for one in languages.values() if one.script == script]
    if script and len(alike) == 1 < len(languages):
        found["a script of its own"] = OWN_SCRIPT
    order = sorted(found.items(), key=lambda cause: -cause[1])
    return {name: strength for name, strength in order if strength >= LEAST}
