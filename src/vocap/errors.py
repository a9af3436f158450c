"""The errors that a person is meant to read."""

import errno

REMEDIES = {
    errno.ENOSPC: "; free some space on that device and run again, finished files are kept",
    errno.EACCES: "; make it readable and writable for this user, or choose another folder",
    errno.EROFS: "; choose a folder that can be written",
    errno.ENOENT: "; check the path",
    errno.EEXIST: ", and is no folder; name another path, or move it away",
    errno.ENOTDIR: ": a file stands where a folder is needed; name another path, or move it away",
    errno.EISDIR: "; name the file itself",
}


class VocapError(Exception):
    """Bad input or a job that cannot go on.

    The message names the file, the line or key, and the remedy; the command line prints it alone,
    without a traceback, and exits with `exit_code`.
    """

    exit_code = 1


class UsageError(VocapError):
    """A wrong call or a wrong configuration."""

    exit_code = 2


def explain(error: OSError) -> str:
    """What the system refused, of which file, and the remedy, in one line."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}{REMEDIES.get(error.errno, '')}"
