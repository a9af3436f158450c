"""The plan of a run: its languages, texts, tokenizers and models, by the configuration
and the files that are there.

Rules ask a `RunPlan`; nothing here needs Snakemake.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from vocap.config import Settings
from vocap.corpora.parallel_text import ParallelText, development_text, evaluation_text
from vocap.corpora.settings import client_variables, resolve_all
from vocap.corpora.sources import Resolved, StarterSource
from vocap.correlation.study import Study, plan_study
from vocap.errors import UsageError, VocapError
from vocap.finetuning.published import ARCHIVES, collection_of
from vocap.finetuning.settings import Grid, Supply, make_grid
from vocap.pretraining.settings import ModelSettings
from vocap.text_files.named_texts import find_aligned, read_aligned
from vocap.tokenizers.settings import File, Kind, ParityBpe
from vocap.workflow.names import tokenizer_folder

WORKERS = 8  # processes of a job that serves several languages
REMEDY = "put it there, correct corpora.sources, or leave the language out of `languages`"


@dataclass(frozen=True)
class LanguageBatch:
    """Languages that one rule serves: each in a job of its own, or all in one job.

    The languages of the starter corpus share a job, as their texts are small: to start
    one takes longer than its work.
    """

    languages: list[str]
    together: bool = False

    @property
    def suffix(self) -> str:
        """The end of the rule's name."""
        return "_starter" if self.together else ""

    @property
    def places(self) -> list[str]:
        """What stands for {lang} in the outputs of a job: its languages, or the wildcard."""
        return self.languages if self.together else ["{lang}"]

    @property
    def branch(self) -> str:
        """What follows the name of the rule in the paths of logs."""
        return "" if self.together else "/{lang}"

    @property
    def threads(self) -> int:
        """Threads of a job."""
        return min(WORKERS, len(self.languages)) if self.together else 1


@dataclass(frozen=True)
class RunPlan:
    """What a run reads and makes.

    Attributes
    ----------
    settings : the checked configuration
    sources : of each language with text, the source that vocabularies are learnt from
    pretraining_sources : those of models, where they have sources of their own
    dry_run : files that a user may bring later are taken as there
    notices : lines for the terminal
    """

    settings: Settings
    sources: Mapping[str, Resolved]
    pretraining_sources: Mapping[str, Resolved] = field(default_factory=dict)
    dry_run: bool = False
    notices: list[str] = field(default_factory=list)

    @property
    def languages(self) -> list[str]:
        """The languages that have text."""
        return list(self.sources)

    @property
    def listed(self) -> dict[str, dict[str, list[str]]]:
        """By stage: the paths of the languages whose text is on other machines."""
        stages = {"corpora": self.sources, "pretraining": self.pretraining_sources}
        return {
            stage: {
                lang: sources[lang].paths
                for lang in self.sources
                if lang in sources and sources[lang].remote
            }
            for stage, sources in stages.items()
        }

    @property
    def client_variables(self) -> dict[str, str]:
        """Variables of the environment that remote text is read with."""
        return client_variables([*self.sources.values(), *self.pretraining_sources.values()])

    @property
    def starter_text(self) -> str:
        """The folder of the starter corpus's text."""
        return f"{self.settings.results}/{StarterSource.folder}"

    @cached_property
    def batches(self) -> list[LanguageBatch]:
        """The languages with files of their own, and those of the starter corpus."""
        together = [
            lang
            for lang, source in self.sources.items()
            if source.inputs(self.settings.results) == [self.starter_text]
        ]
        single = LanguageBatch([lang for lang in self.sources if lang not in together])
        return [single, LanguageBatch(together, together=True)] if together else [single]

    def downloaded(self, name: str) -> str:
        """Where an entry of `downloads` is fetched to; the name of the file tells its
        format.
        """
        file = self.settings.downloads[name].name
        return f"{self.settings.results}/corpora/files/{name}/{file}"

    # Tokenizers

    @cached_property
    def tokenizers(self) -> dict[str, Kind]:
        """Those that can be made, or whose file is there."""
        return {
            name: entry
            for name, entry in self.settings.tokenizers.items()
            if self.dry_run or entry.made or self.source_file(name)
        }

    def source_file(self, name: str) -> str | None:
        """The file of a tokenizer from elsewhere: a download, or its user's; None for
        one that its user may bring.
        """
        entry = self.settings.tokenizers[name]
        if entry.path is None:
            return self.downloaded(entry.download)
        return entry.path if Path(entry.path).exists() else None

    def tokenizer_file(self, name: str) -> str:
        """The file that models are trained with: a SentencePiece model, or tokenizer.json."""
        return f"{tokenizer_folder(self.settings, name)}/{self.settings.tokenizers[name].file}"

    @property
    def followers(self) -> dict[str, ParityBpe]:
        """The tokenizers of byte-pair encoding whose merges follow parallel text."""
        entries = self.tokenizers.items()
        return {name: entry for name, entry in entries if isinstance(entry, ParityBpe)}

    # Parallel text

    @cached_property
    def starter_alone(self) -> str | None:
        """The folder of the starter corpus, where all text of the run comes from it."""
        from_files = self.batches[0].languages or not self.languages
        return None if from_files else self.starter_text

    @cached_property
    def parallel(self) -> ParallelText | None:
        """The text that tokenizers are evaluated on; an environment variable may name it."""
        corpora = self.settings.corpora
        return evaluation_text(corpora, self.languages, self.starter_alone, os.environ)

    @cached_property
    def development(self) -> ParallelText | None:
        """The text that weights may follow."""
        return development_text(self.settings.corpora, self.starter_alone)

    # Models

    @cached_property
    def models(self) -> dict[str, ModelSettings]:
        """Those of pre-training whose tokenizer there is."""
        models = self.settings.pretraining.models
        return {name: one for name, one in models.items() if one.tokenizer in self.tokenizers}

    @cached_property
    def grid(self) -> Grid:
        """The trainings and tasks of fine-tuning that can run."""
        masked = [name for name, model in self.models.items() if not model.causal]
        return make_grid(self.settings.finetuning, masked, assume=self.dry_run)

    @cached_property
    def study(self) -> Study:
        """The part of the correlation study that can run."""
        study, finetuning = self.settings.correlation, self.settings.finetuning
        return plan_study(study, finetuning, self.languages, assume=self.dry_run)

    @property
    def supplies(self) -> list[Supply]:
        """The files of XTREME that are read."""
        return [part.supply for part in (self.grid, self.study) if part.supply]

    @cached_property
    def fetched(self) -> dict[str, list[str]]:
        """Collection to its free files that are not there, as paths below the XTREME
        folder.
        """
        paths = sorted({path for supply in self.supplies for path in supply.fetched})
        found = {name: [path for path in paths if collection_of(path) == name] for name in ARCHIVES}
        return {name: files for name, files in found.items() if files}


def plan_run(settings: Settings, *, dry_run: bool = False, first: bool = True) -> RunPlan:
    """The plan of a run, checked.

    Parameters
    ----------
    settings : the checked configuration
    dry_run : nothing will run: text that is absent is left out with a notice, files that
        a user may bring later are taken as there
    first : False for a job of a run that was planned before: nothing is read or
        announced again

    Raises
    ------
    VocapError
        Where text is missing, or a file cannot be read.
    """
    sources = resolve_all(settings.corpora, settings.selected())
    own = settings.pretraining_sources()
    absent = {
        lang: dict.fromkeys([*source.absent, *(own[lang].absent if own else ())])
        for lang, source in sources.items()
    }
    missing = [f"{lang}: no file {path}" for lang, paths in absent.items() for path in paths]
    if missing and not dry_run:
        raise UsageError("\n  ".join([f"corpus files are missing; {REMEDY}:", *missing]))
    present = {lang: source for lang, source in sources.items() if not absent[lang]}
    plan = RunPlan(settings, present, own, dry_run)
    _leave_out(plan, ((f"language {line}", f"a real run stops here; {REMEDY}") for line in missing))
    _plan_tokenizers(plan, first)
    _plan_parallel_text(plan, first)
    _check_starter_text(plan)
    _leave_out(
        plan,
        (
            (f"model {name}", f"its tokenizer {model.tokenizer} is left out")
            for name, model in settings.pretraining.models.items()
            if name not in plan.models
        ),
    )
    _leave_out(plan, [*plan.study.left_out, *plan.grid.left_out])
    if first:
        plan.notices.extend(_supplies(plan))
    return plan


def _leave_out(plan: RunPlan, parts: Iterable[tuple[str, str]]) -> None:
    """Name parts of the configuration that do not run, and why."""
    plan.notices.extend(f"left out: {what}: {why}" for what, why in parts)


def _plan_tokenizers(plan: RunPlan, first: bool) -> None:
    """Name the tokenizers from elsewhere that are left out; read the others, for their
    mistakes.
    """
    for name, entry in plan.settings.tokenizers.items():
        if not isinstance(entry, File):
            continue
        path = plan.source_file(name)
        if name not in plan.tokenizers:
            reason = f"no file {entry.path}; bring it, or change tokenizers.{name}.path"
            _leave_out(plan, [(f"tokenizer {name}", reason)])
        elif first and path and Path(path).exists():
            from vocap.tokenizer_files.loading import open_encoders  # of several libraries

            try:
                open_encoders({name: path}, entry.split or ())
            except VocapError as error:
                raise VocapError(f"tokenizers.{name}: {error}") from error


def _plan_parallel_text(plan: RunPlan, first: bool) -> None:
    """Read the user's parallel text, for its mistakes; say which one evaluation takes."""
    for key, text in (("parallel", plan.parallel), ("development", plan.development)):
        if first and text and not text.folder:
            read = find_aligned if plan.dry_run else read_aligned
            try:
                read(text.pattern, plan.languages)
            except VocapError as error:
                raise VocapError(f"corpora.{key}: {error}") from error
    # it also depends on the environment
    if plan.parallel and plan.starter_alone:
        plan.notices.append(f"parallel text for evaluation: {plan.parallel.name}")
    followers = [
        f"allocation.{name}.token_fairness"
        for name, entry in plan.settings.allocation.items()
        if entry.token_fairness
    ] + [f"tokenizers.{name}" for name in plan.followers]
    if followers and not plan.development:
        raise UsageError(
            f"{followers[0]}: follows parallel text, and this run has none; name some under "
            "corpora.development"
        )
    text, lacking = plan.development, list[str]()
    if plan.followers and text and not text.folder:
        _, lacking = find_aligned(text.pattern, plan.languages)
    for name, entry in plan.followers.items():
        if left := [language for language in lacking if language not in (entry.without or ())]:
            raise UsageError(
                f"tokenizers.{name}: parity needs parallel text of every language, and "
                f"corpora.development has none of {', '.join(left)}; bring it, or leave these "
                f"languages out of this tokenizer: without: [{', '.join(left)}]"
            )


def _check_starter_text(plan: RunPlan) -> None:
    """Raise UsageError for languages of the starter corpus that came after its text.

    Its packages are searched once, for the languages of the table. A watched table would
    extract all of them and train every language again, so Snakemake knows of no job for
    a new row.
    """
    folder = Path(plan.starter_text)
    together = plan.batches[-1]
    late = [
        lang
        for lang in together.languages
        if together.together and not (folder / f"{lang}.txt").exists()
    ]
    if late and folder.exists():
        raise UsageError(
            f"the starter corpus was made before {plan.settings.corpora.table} had "
            f"{', '.join(late)}; give them a source of their own under corpora.languages, or "
            f"delete {folder} and {folder.parent}/messages to make it again"
        )


def _supplies(plan: RunPlan) -> Iterator[str]:
    """Lines for the files that a run fetches, and those that its plan takes as there."""
    settings = plan.settings
    entries = [entry for entry in settings.tokenizers.values() if isinstance(entry, File)]
    fetched = {
        "text": _sources_to_fetch(plan, "corpora", plan.sources),
        "text for pre-training": _sources_to_fetch(plan, "pretraining", plan.pretraining_sources),
        "tokenizers": [
            entry.download
            for entry in entries
            if entry.download and not Path(plan.downloaded(entry.download)).exists()
        ],
        f"XTREME, to {settings.finetuning.xtreme}": plan.fetched,
    }
    for what, names in fetched.items():
        if names:
            yield f"fetched: {what}: {', '.join(names)}"
    brought = [
        entry.path
        for entry in entries
        if plan.dry_run and entry.path and not Path(entry.path).exists()
    ]
    folders = sorted({folder for supply in plan.supplies for folder in supply.to_bring()})
    brought += [f"{settings.finetuning.xtreme}/{folder} (docs/finetuning.md)" for folder in folders]
    if brought:
        yield f"to bring, planned as if there: {', '.join(brought)}"


def _sources_to_fetch(plan: RunPlan, stage: str, sources: Mapping[str, Resolved]) -> list[str]:
    """How many languages have text elsewhere in each source, none of it read, in words."""
    results = plan.settings.results
    listings = {lang: Path(sources[lang].listing(results, stage)) for lang in plan.listed[stage]}
    names = Counter(sources[lang].name for lang, path in listings.items() if not path.exists())
    return [f"{name} ({count} languages)" for name, count in names.items()]
