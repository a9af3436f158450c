"""The errors that a person is meant to read."""


class VocapError(Exception):
    """Bad input or a job that cannot go on.

    The message names the file, the line or key, and the remedy; the command line prints it alone,
    without a traceback, and exits with `exit_code`.
    """

    exit_code = 1


class UsageError(VocapError):
    """A wrong call or a wrong configuration."""

    exit_code = 2
