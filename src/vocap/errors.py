"""Errors with messages for users."""

import errno
import os
import re

# how Rust's std::io::Error ends, and how Python's begins, of which shutil joins several in one without a number
_SYSTEM = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]")
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # of two files, the one that was written
_SPACE = "; free some space on that device and run again, finished files are kept"

REMEDIES = {
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
    "workflow": ("altair", "jinja2", "markupsafe", "pyarrow", "snakemake", "vl_convert"),
    "train": ("safetensors", "torch", "transformers"),
}


class VocapError(Exception):
    """Bad input or a job that cannot continue.

    The message names the file, the line or key, and the remedy; the command line prints it alone,
    without a traceback, and exits with `exit_code`.
    """

    exit_code = 1


class UsageError(VocapError):
    """A wrong call or a wrong configuration."""

    exit_code = 2


def system_error(error: BaseException) -> OSError | None:
    """The OSError that `error` is or reports as text, as libraries in Rust do (tokenizers, safetensors)."""
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
    """The remedy for a top-level module that is not installed: the extra that holds it; None for one of no extra.

    By the project's folder, never by name: no registry is asked for a package called vocap.
    """
    for extra, modules in EXTRAS.items():
        if module.partition(".")[0] in modules:
            return f"install the extra [{extra}]: pip install '.[{extra}]' in VoCap's folder"
    return None
