"""Line-aligned text of a run: what tokenizers are evaluated on, and what trainers may
look at.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from vocap.corpora.settings import Corpora
from vocap.files.io import file_sha256

# of the environment: a folder with NTREX-128 (Federmann et al. 2022), among other data
VARIABLE = "VOCAP_DATA"
NTREX = "text/ntrex/{lang}.txt.xz"


@dataclass(frozen=True)
class ParallelText:
    """Line-aligned files, one a language: their `pattern`, which holds {lang}, and
    their `name` in messages.

    `folder`: the starter corpus's, where they are its own; Snakemake makes them with
    it.
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
    corpora: Corpora,
    languages: Collection[str],
    starter: str | None,
    environment: Mapping[str, str],
) -> ParallelText | None:
    """The text that tokenizers are evaluated on; None for none.

    Without `corpora.parallel` NTREX-128 in the folder of `VARIABLE`, if that has any of
    the languages, else the starter corpus's test text; both only where `starter` names
    its folder, as all text of the run comes from it.
    """
    if starter and not corpora.parallel and (folder := environment.get(VARIABLE)):
        pattern = f"{folder}/{NTREX}"
        if any(Path(pattern.replace("{lang}", language)).exists() for language in languages):
            return ParallelText(pattern, f"${VARIABLE}/{NTREX}")
    return _parallel_text(corpora.parallel, starter, "test")


def development_text(corpora: Corpora, starter: str | None) -> ParallelText | None:
    """The text that trainers may look at: `corpora.development`, else the starter
    corpus's own as above.

    It depends on no environment variable, so neither do tokenizers.
    """
    return _parallel_text(corpora.development, starter, "development")


def _parallel_text(own: str | None, starter: str | None, name: str) -> ParallelText | None:
    """The user's `own`, else the set `name` that the starter corpus holds out, else
    none.
    """
    if own or not starter:
        return ParallelText(own, own) if own else None
    return ParallelText(
        f"{starter}/parallel/{name}/{{lang}}.txt", f"the starter corpus, parallel/{name}", starter
    )
