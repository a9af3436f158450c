"""The configuration files whose run a folder of results holds."""

import os
from collections.abc import Sequence
from pathlib import Path

from vocap.errors import UsageError
from vocap.files.io import write_text

# in the folder of the results: the configuration files of the run, a line each
RECORD = "configfiles.txt"


def check_owner(results: str | Path, configfiles: Sequence[str | Path]) -> None:
    """Raise UsageError where the results are those of another configuration that is
    still there.

    Files given after the recorded ones extend that run, and so do the first of them. A
    recorded file that is gone, as after a move, does not count.
    """
    record = Path(results, RECORD)
    if not record.is_file():
        return
    recorded = record.read_text("utf-8").splitlines()
    given = _names(configfiles)
    shared = min(len(recorded), len(given))
    if recorded[:shared] == given[:shared] or not all(map(os.path.exists, recorded)):
        return
    theirs, ours = " ".join(recorded), " ".join(given)
    raise UsageError(
        f"{results}: holds the run of {theirs}, which a run of {ours} would undo where they "
        f"differ; give {given[-1]} a folder of its own (`results: FOLDER` at its top), or delete "
        f"{record} to replace that run"
    )


def record_owner(results: str | Path, configfiles: Sequence[str | Path]) -> None:
    """Note the configuration of a run that begins; that of a run which `check_owner`
    lets extend stays.
    """
    record = Path(results, RECORD)
    recorded = record.read_text("utf-8").splitlines() if record.is_file() else []
    names = _names(configfiles)
    if not recorded or recorded != names[: len(recorded)]:
        write_text(record, "".join(f"{name}\n" for name in names))


def _names(configfiles: Sequence[str | Path]) -> list[str]:
    """Absolute paths; of files below the working directory, as results are, the paths
    from there.
    """
    here = Path.cwd()
    paths = [Path(os.path.abspath(path)) for path in configfiles]
    return [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in paths]
