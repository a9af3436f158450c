"""Where the files of an XTREME folder come from: they are there, are fetched, or a plan takes them as there."""

from dataclasses import dataclass, field
from pathlib import Path

from vocap.finetuning.published import collection_of, place
from vocap.finetuning.reading import StandIns, locate
from vocap.finetuning.reading.stand_ins import NONE, StandIn, key_of
from vocap.finetuning.tasks import Split, Task


@dataclass
class Supply:
    """The files of one folder; what is looked for and not there is noted, as paths under the folder.

    `download`: free files are fetched. `fetched`: those that will be; `assumed`: those that a plan takes as there.
    """

    xtreme: Path
    stand_ins: StandIns = field(default_factory=lambda: NONE)
    download: bool = False
    fetched: set[str] = field(default_factory=set)
    assumed: set[str] = field(default_factory=set)

    def find(self, task: Task, split: Split, language: str, assume: bool = False) -> Path | None:
        """The file: where it is, or where it will be; None where nothing brings it.

        With `assume`, a file that the user has to bring is taken as there.
        """
        if path := locate(self.xtreme, task, split, language, self.stand_ins):
            return path
        stand_in = self.stand_ins.get(key_of(task, split), StandIn(task, split))
        path = place(stand_in.task, stand_in.split, language)
        if path is None:
            return None
        for packed in (
            "",
            ".xz",
        ):  # of training files `locate` knows the English ones
            if (found := self.xtreme / f"{path}{packed}").is_file():
                return found
        if self.download and collection_of(path):
            self.fetched.add(path)
        elif assume:
            self.assumed.add(path)
        else:
            return None
        return self.xtreme / path

    def to_bring(self) -> list[str]:
        """The folders under `xtreme` that the user has to fill."""
        return sorted({path.partition("/")[0] for path in self.assumed})

    def is_made(self, path: Path) -> bool:
        """Whether a file is there, or a job brings it."""
        return path.exists() or str(path.relative_to(self.xtreme)) in self.fetched
