"""Write docs/configuration.md from the settings' own descriptions: python
dev/make_configuration.py

A test compares the page with the settings.
"""

import json
from inspect import cleandoc
from pathlib import Path

from pydantic import BaseModel

from vocap.allocation.settings import Allocation
from vocap.config import TextSection
from vocap.corpora.settings import Corpora, Download, Mix, Starter
from vocap.corpora.sources import SOURCE_KINDS, Source
from vocap.correlation.study import Correlation
from vocap.finetuning.settings import Finetuning, Tuned, TuningRecipe
from vocap.finetuning.tasks import TASKS
from vocap.pretraining.loss_kinds import LOSSES
from vocap.pretraining.settings import ModelSettings, Pretraining, Shape
from vocap.report import Report
from vocap.text_files.filters import Filters
from vocap.tokenizer_files.id_layout import IdLayout, Special
from vocap.tokenizers.settings import KINDS
from vocap.unigram.text_settings import PRESETS
from vocap.vocabularies.settings import Vocabularies

# of TuningRecipe: each training has its own default
VARYING = {key for task in TASKS.values() for key in task.recipe}


def paper_recipes() -> str:
    """The defaults that differ between trainings, as a table."""
    keys = [key for key in TuningRecipe.model_fields if key in VARYING]
    rows = [
        "| training | " + " | ".join(f"`{key}`" for key in keys) + " |",
        "|---" * (len(keys) + 1) + "|",
    ]
    for training, recipe in Finetuning().recipes.items():
        rows.append(
            f"| `{training}` | "
            + " | ".join(str(getattr(recipe, key)).replace("None", "epoch") for key in keys)
            + " |"
        )
    return "\n".join(rows)


SECTIONS = (
    (
        "`text`",
        "Normalisation and cuts of all languages and stages (`docs/tokenizers.md`). Defaults are "
        "those of the preset: `xlm-r`, and of others what differs.",
        TextSection,
    ),
    (
        "`layout`",
        "The ids that are no pieces of text (`docs/tokenizers.md`); by default `layout: xlm-r`.",
        IdLayout,
    ),
    ("`corpora`", "Source of the text, size of the sample, weights of the languages.", Corpora),
    *(
        (f"`corpora: sources: NAME`, by `{kind.key}`", kind.__doc__, kind)
        for kind in SOURCE_KINDS.values()
    ),
    (
        "`corpora: sources: NAME`, by `path` or `url`",
        "Further settings. `config/sources.yaml` has examples.",
        Source,
    ),
    (
        "`corpora: sources: NAME: filters`",
        "Records that are left out (`docs/corpora.md`).",
        Filters,
    ),
    (
        "`downloads: NAME`",
        "Files besides text that can be fetched. `config/sources.yaml` has XTREME's.",
        Download,
    ),
    ("`corpora: mix`", "The text that JOINT is trained on.", Mix),
    ("`corpora: starter`", "The starter corpus.", Starter),
    ("`vocabularies`", "One unigram model for every language and size.", Vocabularies),
    ("`allocation: NAME`", "Any number of them, each a merged vocabulary.", Allocation),
    *((f"`tokenizers: NAME`, `kind: {name}`", kind.__doc__, kind) for name, kind in KINDS.items()),
    ("`pretraining`", "Text of the models.", Pretraining),
    (
        "`pretraining: models: NAME`",
        "Any number of them. The defaults are the paper's recipe.",
        ModelSettings,
    ),
    ("`pretraining: models: NAME: shape`", "The defaults are XLM-R base.", Shape),
    *(
        (
            f"`pretraining: models: NAME: loss`, `kind: {loss.model_fields['kind'].default}`",
            loss.__doc__,
            loss,
        )
        for loss in LOSSES.values()
    ),
    ("`finetuning`", "Models and tasks of XTREME.", Finetuning),
    ("`finetuning: models: NAME`", "`{}` is the model of `pretraining` of that name.", Tuned),
    (
        "`finetuning: recipes: TRAINING`",
        "The defaults are the paper's:\n\n" + paper_recipes(),
        TuningRecipe,
    ),
    (
        "`correlation`",
        "The study of section 2.1: a model for each of a language's vocabularies.",
        Correlation,
    ),
    ("`report`", "The page.", Report),
)

OWN_TABLES = {
    (Corpora, "sources"),
    (Corpora, "mix"),
    (Corpora, "starter"),
    (Source, "filters"),
    (Pretraining, "models"),
    (ModelSettings, "shape"),
    (Correlation, "model"),
    (Finetuning, "models"),
    (Finetuning, "recipes"),
}

HEAD = """# Every key of the configuration

Made from the settings' own descriptions by `python dev/make_configuration.py`.

A run has one configuration: the file given with `--configfile` or, without one,
`config/config.yaml`. A missing key has the default below. Of several files given with
`--configfile`, later ones are merged over earlier ones, key by key. `--config key=value`
overrides them all. The sources of `config/sources.yaml` are always known. Errors are reported
before anything runs. Four keys stand above the sections: `results` is the folder that the run
writes (default `results`), `seed` that of all random choices (default 1), `memory` the megabytes
that a ladder, JOINT and byte-pair encoding may take, as far as they can (default: no limit), and
`languages` is `all` or a list of codes, in which "no" needs quotes. Another `memory` trains
nothing again.

## Runs side by side

All outputs of a run are in its folder, the starter text included. So `results: results/mine` at
the top of a configuration separates it from the default run, and neither reruns jobs of the
other.
Paths begin in the folder from which Snakemake is called. Logs and benchmark files are in
`FOLDER/logs`, and those of the default folder in `logs`. A run records its configuration files
in `FOLDER/configfiles.txt`. After an edit of a file, only what differs is made again. Another
file, such as a second one without `results`, is refused unless the recorded file is gone. A file
after the recorded one (`--configfile my.yaml more.yaml`) and `--config key=value` change the
same run.

## Moving a run

Each stage records what its results were made with in `FOLDER/STAGE/parameters.jsonl`. Snakemake
keeps its own records in `.snakemake` of the folder it is called from, by the paths of the files.
Where it has none, the stage's file counts.

1. Move or copy the folder of the results with the times of its files (`mv`, `cp -a`, `rsync -a`).
2. Give the new place in the configuration (`results`, and the paths of text that moved with it).
3. `snakemake -n` reports nothing to be done.

Paths of the folder itself, and of what lies beside it, are not compared. Text that lies elsewhere
and has another path is read again. An edit is made again and named, as in
`made again: allocate, 1 job: settings: --total=500 -> --total=500 --beta=0.3`. Results of unknown
parameters are named and taken as they are. `--forcerun RULE` makes them again, and with `--touch`
records them as those of the configuration.

## Updating

`git pull && pip install -e '.[all]'`, then `snakemake -n`. The same command as before continues the
run. Of results of another version it says which stages are made again and why, such as
`revision 3 -> 4`: a stage has a revision, which a change of its results raises. What is taken as it
is, the new version would give equally. Snakemake also makes a job again whose command has another
text (`code has changed`); `--rerun-triggers mtime params input` leaves it.
[Changes](../CHANGELOG.md) lists the versions. To keep results of an old version beside new ones,
give the new run a folder of its own.

## In another workflow

The workflow is a module of others, in the folder that they are called from. Install the package in
the environment of Snakemake first. Names of its rules may get a prefix:

```text
module vocap:
    snakefile: "path/to/vocap/Snakefile"
    config: config["vocap"]

use rule * from vocap as vocap_*
```

The dictionary of `config` is the whole configuration, without the files of `--configfile`, and an
empty one stands for `config/config.yaml`. The module prints nothing by itself. Its functions
`onstart` and `onsuccess`, which a workflow calls in its own `onstart` and `onsuccess`, do, and its
list `NOTICES` has what is left out. It takes no `prefix`: its folder is the key `results`.
`vocap_all`, `vocap_tokenizers` and the other stages are targets.

## Refused input

`--configfile` takes every word up to the next option. A target is therefore written before it,
as in `snakemake --cores all corpora --configfile my.yaml`, or after `--` at the end
(`--configfile my.yaml -- corpora`).

A message about a mistake names file, line and key, and both lines of a duplicate key.
Snakemake reads the files of `--configfile` before any code of this project runs. Where it
fails, it prints a traceback. Then `vocap plan --configfile FILE` names the line.
"""


def _shown(value: object) -> str:
    """A default as written in a configuration; of a loss, its kind."""
    if isinstance(value, list) and len(value) > 10:
        value = f"{value[0]}:{value[-1]}:{value[1] - value[0]}"
    if isinstance(value, list) and value and isinstance(value[0], Special):
        return f"[{', '.join(entry.token for entry in value)}]"
    return json.dumps(value.kind if isinstance(value, BaseModel) else value)


def of_presets(key: str) -> str:
    """The value of a text's key: that of the first preset, and others by their name."""
    first, *others = PRESETS
    value = getattr(PRESETS[first], key)
    said = f"`{_shown(value)}`"
    for name in others:
        if getattr(PRESETS[name], key) != value:
            said += f"; `{name}`: `{_shown(getattr(PRESETS[name], key))}`"
    return said


def table(settings: type[BaseModel]) -> str:
    """The keys of one section; those that are sections themselves have tables of their
    own.
    """
    rows = ["| key | means | default |", "|---|---|---|"]
    for name, field in settings.model_fields.items():
        if (settings, name) in OWN_TABLES or (
            settings in SOURCE_KINDS.values() and name in Source.model_fields
        ):
            continue
        tagged = name == "kind" and settings in KINDS.values()
        required = field.is_required() or tagged
        default = "required" if required else f"`{_shown(field.default)}`"
        if settings is TuningRecipe and name in VARYING:
            default = "by training"
        if settings is TextSection and name != "preset":
            default = of_presets(name)
        meaning = field.description or "the kind"
        rows.append(
            f"| `{field.alias or name}` | {meaning} | "
            f"{'none' if default == '`null`' else default} |"
        )
    return "\n".join(rows)


def render() -> str:
    """The whole page."""
    parts = [
        f"\n## {title}\n{cleandoc(text)}\n\n{table(settings)}\n"
        for title, text, settings in SECTIONS
    ]
    return HEAD + "".join(parts)


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "configuration.md").write_text(render(), "utf-8")
