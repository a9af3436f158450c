"""Write docs/configuration.md from the settings' own descriptions: python docs/make_configuration.py

A test fails when the page and the settings differ.
"""

import json
from pathlib import Path

from pydantic import BaseModel

from vocap.allocation.settings import Allocation
from vocap.corpora.settings import Corpora, Download, Mix, Source, Starter
from vocap.correlation.settings import Correlation
from vocap.finetuning.settings import PAPER, Finetuning, Recipe, Recipes, Tuned
from vocap.pretraining.loss_settings import Full, Knn, Nce, Neg, Sampled, Target, Uniform
from vocap.pretraining.settings import Model, Pretraining
from vocap.pretraining.shapes import Shape
from vocap.report.settings import Report
from vocap.tokenizers.settings import File, Joint, Mono, Vocap
from vocap.vocabularies.settings import Vocabularies

VARYING = {key for values in PAPER.values() for key in values}  # of Recipe: each training has its own default


def paper_recipes() -> str:
    """What differs from training to training, as a table."""
    keys = [key for key in Recipe.model_fields if key in VARYING]
    rows = ["| training | " + " | ".join(f"`{key}`" for key in keys) + " |", "|---" * (len(keys) + 1) + "|"]
    for training in PAPER:
        recipe = getattr(Recipes(), training)
        rows.append(
            f"| `{training}` | "
            + " | ".join(str(getattr(recipe, key)).replace("None", "epoch") for key in keys)
            + " |"
        )
    return "\n".join(rows)


SECTIONS = (
    ("`corpora`", "Where text comes from, how much of it is kept, what each language weighs.", Corpora),
    (
        "`corpora: sources: NAME`",
        "Exactly one of `url`, `path` and `starter`; `config/sources.yaml` has examples.",
        Source,
    ),
    ("`downloads: NAME`", "Files besides text that can be fetched; `config/sources.yaml` has XTREME's.", Download),
    ("`corpora: mix`", "The text that JOINT is trained on.", Mix),
    ("`corpora: starter`", "The starter corpus.", Starter),
    ("`vocabularies`", "One unigram model for every language and size.", Vocabularies),
    ("`allocation: NAME`", "Any number of them, each a merged vocabulary.", Allocation),
    ("`tokenizers: NAME`, `kind: vocap`", "The pieces of an allocation, scored.", Vocap),
    (
        "`tokenizers: NAME`, `kind: joint`",
        "A unigram model of the text of all languages, by `vocabularies.engine`; one descent gives every `total`.",
        Joint,
    ),
    ("`tokenizers: NAME`, `kind: mono`", "One language's model, two ids larger.", Mono),
    ("`tokenizers: NAME`, `kind: file`", "Any tokenizer, as a baseline.", File),
    ("`pretraining`", "What models are trained on.", Pretraining),
    ("`pretraining: models: NAME`", "Any number of them; the defaults are the paper's recipe.", Model),
    ("`pretraining: models: NAME: shape`", "The defaults are XLM-R base.", Shape),
    *(
        (f"`pretraining: models: NAME: loss`, `kind: {loss.model_fields['kind'].default}`", loss.__doc__, loss)
        for loss in (Full, Knn, Target, Uniform, Sampled, Nce, Neg)
    ),
    ("`finetuning`", "Which models are fine-tuned on XTREME's tasks.", Finetuning),
    ("`finetuning: models: NAME`", "`{}` is the model of `pretraining` of that name.", Tuned),
    (
        "`finetuning: recipes: TRAINING`",
        "A training that is not named has the paper's:\n\n" + paper_recipes(),
        Recipe,
    ),
    ("`correlation`", "The study of section 2.1: a model for each of a language's vocabularies.", Correlation),
    ("`report`", "The page.", Report),
)

OWN_TABLES = {
    (Corpora, "sources"),
    (Corpora, "mix"),
    (Corpora, "starter"),
    (Pretraining, "models"),
    (Model, "shape"),
    (Correlation, "model"),
    (Finetuning, "models"),
    (Finetuning, "recipes"),
}

HEAD = """# Every key of the configuration

Made from the settings' own descriptions by `python docs/make_configuration.py`.

A run has one configuration: the file given with `--configfile` or, without one, `config/config.yaml`. A key that
it leaves out has the default below. Of several files given with `--configfile`, later ones are merged over earlier
ones, key by key; `--config key=value` overrides them all. The sources of `config/sources.yaml` are always known.
Mistakes are named before anything runs. Above the sections are `results` (the folder that the run writes,
`results`), `seed` (of every random choice, 1) and `languages` (`all`, or a list of codes, "no" in quotes).

## Runs side by side

Everything that a run makes is in its folder, the starter text included: `results: results/mine` at the top of a
configuration keeps it apart from the default run, and neither reruns anything of the other. Paths begin in the
folder from which Snakemake is called. Logs and benchmark files are in `FOLDER/logs`, of the default folder in
`logs`.
Two runs in one folder are one run whose configuration has changed: what differs is made again.

Results of an earlier version are all in `results`. A configuration of your own without `results` goes on there.
To go on with those of `config/paper.yaml`, whose folder is now `results/paper`, move what is in `results` to
`results/paper`, and `logs` to `results/paper/logs`. Files keep their times, and `snakemake -n` says that there is
nothing to be done.

## What is refused

`--configfile` takes every word up to the next option: a target after it needs `--` before it, as in
`snakemake --cores all --configfile my.yaml -- corpora`, or Snakemake looks for a file of its name.

A key that is given twice, an alias inside its own anchor, more than 64 levels, 100,000 values or 1 MiB are refused
with file and line. Snakemake reads the files of `--configfile` before any code of this project runs. Where it
fails (a number of 4,300 digits, thousands of levels, a billion laughs made of maps), it prints a traceback or
takes more and more memory; `vocap plan --configfile FILE` names the line.
"""


def _shown(value: object) -> str:
    """A default as it would be written in a configuration; of a loss, its kind."""
    if isinstance(value, list) and len(value) > 10:
        value = f"{value[0]}:{value[-1]}:{value[1] - value[0]}"
    return json.dumps(value.kind if isinstance(value, BaseModel) else value)


def table(settings: type[BaseModel]) -> str:
    """The keys of one section; those that are sections themselves have tables of their own."""
    rows = ["| key | means | default |", "|---|---|---|"]
    for name, field in settings.model_fields.items():
        if (settings, name) in OWN_TABLES:
            continue
        default = "required" if field.is_required() else f"`{_shown(field.default)}`"
        if settings is Recipe and name in VARYING:
            default = "by training"
        meaning = field.description or "which of them it is"
        rows.append(f"| `{name}` | {meaning} | {'none' if default == '`null`' else default} |")
    return "\n".join(rows)


def render() -> str:
    """The whole page."""
    parts = [f"\n## {title}\n{text}\n\n{table(settings)}\n" for title, text, settings in SECTIONS]
    return HEAD + "".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("configuration.md").write_text(render(), "utf-8")
