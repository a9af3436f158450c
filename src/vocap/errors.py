"""Errors with messages for users, the log, and words of messages: lists of names,
durations, one line of text.
"""

import errno
import logging
import os
import re
from collections.abc import Collection

# how Rust's std::io::Error ends, and how Python's begins, of which shutil joins several
# in one without a number
_SYSTEM = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]")
# of two files, the one that was written
_WRITING = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
)
_SPACE = "; free some space on that device and run again, finished files are kept"

REMEDIES: dict[int | None, str] = {  # by the number of an error, which need not have one
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EIO: "; the device or the network fails: check it, or choose another folder",
    errno.EACCES: "; make it readable and writable for this user, or choose another folder",
    errno.EROFS: "; choose a folder that can be written",
    errno.ENOENT: "; check the path",
    errno.EEXIST: ", and is no folder; name another path, or move it away",
    errno.ENOTDIR: ": a file is in the place of a folder; name another path, or move it away",
    errno.EISDIR: "; name the file itself",
}

# the optional dependencies: extras of pyproject.toml, with the packages that they bring
EXTRAS = {
    "workflow": ("jinja2", "markupsafe", "pyarrow", "snakemake", "vl_convert"),
    "train": ("safetensors", "torch", "transformers"),
    "hub": ("huggingface_hub",),
    "s3": ("s3fs",),
    "gcs": ("gcsfs",),
    "http": ("aiohttp",),
}
log = logging.getLogger("vocap")  # of every module
LONGEST = 1000  # characters of a line of a message
DAY_S = 86400
YEAR_S = 365.25 * DAY_S
# of durations: seconds, name, digits behind the point, and how many are of the next unit
_UNITS = (
    (1, "s", 1, 10),
    (1, "s", 0, 120),
    (60, "min", 1, 120),
    (3600, "h", 1, 120),
    (DAY_S, "days", 0, 2 * YEAR_S / DAY_S),
)


class VocapError(Exception):
    """Bad input or a job that cannot continue.

    The message names the file, the line or key, and the remedy; the command line prints
    it alone, without a traceback, and exits with `exit_code`.
    """

    exit_code = 1


class UsageError(VocapError):
    """A wrong call or a wrong configuration."""

    exit_code = 2


class SettingError(UsageError):
    """A value that a setting cannot have, by the name of its field, which the command line
    writes as an option.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field


def system_error(error: BaseException) -> OSError | None:
    """The OSError that `error` is or reports as text, as libraries in Rust do
    (tokenizers, safetensors).
    """
    if isinstance(error, VocapError) or (isinstance(error, OSError) and error.errno is not None):
        return error if isinstance(error, OSError) else None
    if found := _SYSTEM.search(str(error)):
        number = int(found[1] or found[2])
        return OSError(number, os.strerror(number))
    return OSError(0, str(error)) if isinstance(error, OSError) else None


def named_file(error: OSError) -> str | None:
    """The file that an error is about, if it names one."""
    name = error.filename2 if error.filename2 and error.errno in _WRITING else error.filename
    return os.fsdecode(name) if isinstance(name, str | bytes) else None


def explain(error: OSError) -> str:
    """One line with the file, the system's error and the remedy."""
    name = named_file(error)
    where = f"{name}: " if name else ""
    return f"{where}{error.strerror or error}{REMEDIES.get(error.errno, '')}"


def missing_extra(module: str) -> str | None:
    """The remedy for a top-level module that is not installed: the extra that holds it;
    None for one of no extra.

    By the project's folder, never by name: no registry is asked for a package called
    vocap.
    """
    for extra, modules in EXTRAS.items():
        if module.partition(".")[0] in modules:
            return f"install the extra [{extra}]: pip install '.[{extra}]' in VoCap's folder"
    return None


def listed(names: Collection[object], most: int = 12, separator: str = ", ") -> str:
    """The first `most` names; a number stands for the others.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = separator.join(str(name) for name in list(names)[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def duration(seconds: float) -> str:
    """Seconds to years, two or three digits.

    >>> duration(0.31), duration(42), duration(600), duration(36000)
    ('0.3 s', '42 s', '10.0 min', '10.0 h')
    >>> duration(30 * 86400), duration(2.2e10)
    ('30 days', '697 years')
    >>> duration(9.96), duration(119.6), duration(7199.99)
    ('10 s', '2.0 min', '2.0 h')
    """
    for size, unit, digits, end in _UNITS:
        shown = round(seconds / size, digits)  # first: 119.6 s are no 120 s
        if shown < end:
            return f"{shown:.{digits}f} {unit}"
    return f"{seconds / YEAR_S:,.0f} years"


def one_line(text: str) -> str:
    r"""The text with unprintable characters escaped, and without its middle where it is
    very long.

    >>> one_line("a\nb\ud800")
    'a\\nb\\ud800'
    """
    text = "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}"
