"""The parallel text of a run: that of the configuration, else the one held out of the starter corpus."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from vocap.corpora.settings import Corpora
from vocap.errors import UsageError
from vocap.files import file_sha256
from vocap.files.paths import check_path

VARIABLE = "VOCAP_DATA"  # of the environment: a folder with NTREX-128 (Federmann et al. 2022), among other data
NTREX = "text/ntrex/{lang}.txt.xz"


@dataclass(frozen=True)
class ParallelText:
    """Line-aligned files, one a language: their `pattern`, which holds {lang}, and their `name` in messages.

    `folder`: the starter corpus's, where they are its own; Snakemake makes them with it.
    """

    pattern: str
    name: str
    folder: str | None = None

    def fingerprint(self, languages: Collection[str]) -> str:
        """The hash of the files' contents; empty where Snakemake makes them."""
        if self.folder:
            return ""
        contents = "".join(file_sha256(path) for path in self.inputs(languages))
        return hashlib.sha256(contents.encode()).hexdigest()

    def inputs(self, languages: Collection[str]) -> list[str]:
        """The files that are there, or the folder that is to be made."""
        paths = [self.pattern.replace("{lang}", language) for language in languages]
        return [self.folder] if self.folder else [path for path in paths if Path(path).exists()]


def evaluation_text(
    corpora: Corpora, languages: Collection[str], starter: str | None, environment: Mapping[str, str]
) -> ParallelText | None:
    """The text that tokenizers are evaluated on; None for none.

    Without `corpora.parallel` NTREX-128 in the folder of `VARIABLE`, if that has any of the languages, else the
    starter corpus's test text; both only where `starter` names its folder, as all text of the run comes from it.
    Raises UsageError for a folder whose name a workflow cannot take.
    """
    if corpora.parallel or not starter:
        return _configured(corpora.parallel)
    if folder := environment.get(VARIABLE):
        pattern = f"{folder}/{NTREX}"
        if any(Path(pattern.replace("{lang}", language)).exists() for language in languages):
            try:
                check_path(folder)
            except ValueError as error:
                raise UsageError(f"{VARIABLE}={folder}: {error}") from None
            return ParallelText(pattern, f"${VARIABLE}/{NTREX}")
    return _starter(starter, "test")


def development_text(corpora: Corpora, starter: str | None) -> ParallelText | None:
    """The text that trainers may look at: `corpora.development`, else the starter corpus's own as above.

    It depends on no environment variable, so neither do tokenizers.
    """
    if corpora.development or not starter:
        return _configured(corpora.development)
    return _starter(starter, "development")


def _configured(pattern: str | None) -> ParallelText | None:
    return ParallelText(pattern, pattern) if pattern else None


def _starter(folder: str, name: str) -> ParallelText:
    return ParallelText(f"{folder}/parallel/{name}/{{lang}}.txt", f"the starter corpus, parallel/{name}", folder)
