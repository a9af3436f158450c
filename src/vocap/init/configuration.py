"""The text of a first configuration: sizes and T by the amount of text."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.init.sources import Source

LARGEST = 50_000  # the largest vocabulary of a language, as in the paper
SHARE = 0.5  # of the vocabulary that a language's text can reach, which T counts at most
EACH = 16_000  # ids that T counts at most for a language
LEAST = 2.5  # least T, as a multiple of the distinct characters
TOTALS = (300, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 100_000, 128_000, 250_000, 500_000)
STEPS = ((10_000, 1000), (4000, 500), (1500, 200))  # from so many pieces, sizes in such steps; below, of 100


def choose_sizes(reach: float) -> str:
    """Sizes of the languages' vocabularies, up to the largest that the language with most text can reach.

    >>> choose_sizes(800), choose_sizes(12_700), choose_sizes(90_000)
    ('100:800:100', '1000:12000:1000', '1000:50000:1000')
    """
    step = next((step for least, step in STEPS if reach >= least), 100)
    top = max(4 * step, int(min(reach, LARGEST)) // step * step)
    return f"{step}:{top}:{step}"


def choose_total(reaches: Sequence[float], characters: int) -> int:
    """T: half of the pieces that the languages can reach, at most 16,000 of each, and enough for their characters.

    >>> choose_total([5000], 80), choose_total([90_000] * 3, 400), choose_total([3000], 3000)
    (2000, 32000, 8000)
    """
    wanted = max(sum(min(SHARE * reach, EACH) for reach in reaches), TOTALS[0])
    total = max(total for total in TOTALS if total <= wanted)
    return max(total, next((total for total in TOTALS if total >= LEAST * characters), TOTALS[-1]))


def short(total: int) -> str:
    """T as part of a name.

    >>> short(500), short(32_000)
    ('500', '32k')
    """
    return f"{total // 1000}k" if total % 1000 == 0 else str(total)


def quoted(text: str) -> str:
    """A YAML string: JSON's, which is YAML too."""
    return json.dumps(text, ensure_ascii=False)


def write_configuration(
    folder: Path,
    sources: Sequence[Source],
    names: Mapping[str, str],
    megabytes: float,
    sizes: str,
    total: int,
    table: str | None,
) -> str:
    """The text of `folder/config.yaml`; `names`: code to name of every language, in the order of the table."""
    labels = ["mine"] + [f"mine-{number}" for number in range(2, len(sources) + 1)]
    largest = max(sources, key=lambda source: len(source.codes))
    entries, others = [], {}
    for label, source in zip(labels, sources, strict=True):
        entries.append(_entry(label, source))
        if source is not largest:
            others |= dict.fromkeys(source.codes, label)
    codes = ", ".join(map(quoted, names))
    name, joint = f"mine-{short(total)}", f"joint-{short(total)}"
    languages = f"  languages: {_flow(others)}\n" if others else ""
    own_table = f"  table: {quoted(table)}\n" if table else ""
    title = ", ".join(names.values()) if len(names) <= 4 else f"{len(names)} languages"
    return f"""# Made by `vocap init` from {megabytes:,.1f} MB of text in {len(names)} languages.
# In the project's root: snakemake --cores all --configfile {folder / "config.yaml"}
# An edit reruns the jobs that depend on it. docs/configuration.md has every key.
results: {quoted(str(folder / "results"))}  # everything that the run makes
languages: [{codes}]

corpora:
{own_table}  source: {labels[sources.index(largest)]}
{languages}  sources:  # with the key licence, the tokenizers' model cards say it: `licence: CC BY-SA 4.0`
{"".join(entries)}
vocabularies:
  sizes: {quoted(sizes)}  # of a language's models; larger ones need more text

allocation:
  {name}: {{total: {total}, rule: pieces}}  # total: the ids of the tokenizer; alpha and beta: how languages weigh

tokenizers:
  {name}: {{kind: vocap, allocation: {name}}}
  {joint}: {{kind: joint, total: {total}}}  # one training on the text of all languages, to compare with

report:
  title: {quoted(f"Tokenizers for {title}")}
"""


def _entry(label: str, source: Source) -> str:
    """A source as lines of YAML."""
    paths = list(map(quoted, source.paths))
    lines = [f"    {label}:"]
    if len(paths) == 1:
        lines.append(f"      path: {paths[0]}")
    else:
        lines += ["      path:", *(f"        - {path}" for path in paths)]
    if differing := {code: said for code, said in source.codes.items() if said and said != code}:
        lines.append(f"      codes: {_flow(differing)}")
    if source.format != "text":
        lines.append(f"      format: {quoted(source.format)}")
    if source.split_sentences:
        lines.append("      split_sentences: true  # lines are whole documents")
    return "\n".join(lines) + "\n"


def _flow(entries: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{quoted(key)}: {quoted(value)}" for key, value in entries.items()) + "}"
