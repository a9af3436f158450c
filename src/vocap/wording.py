"""Words of messages and reports that several packages write: lists of names, durations, one line of any text."""

from collections.abc import Collection

LONGEST = 1000  # characters of a line of a message
DAY_S = 86400
YEAR_S = 365.25 * DAY_S


def listed(names: Collection[object], most: int = 12, separator: str = ", ", of: str = "") -> str:
    """The first `most` names; a number stands for the others, followed by the noun `of`.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    >>> listed(["a", "b", "c", "d"], most=2, separator="; ", of="files")
    'a; b and 2 more files'
    """
    shown = separator.join(str(name) for name in list(names)[:most])
    more = f" and {len(names) - most:,} more {of}".rstrip() if len(names) > most else ""
    return shown + more


def duration(seconds: float) -> str:
    """Seconds to years, two or three digits.

    >>> duration(0.31), duration(42), duration(600), duration(36000)
    ('0.3 s', '42 s', '10.0 min', '10.0 h')
    >>> duration(30 * 86400), duration(2.2e10)
    ('30 days', '697 years')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    if seconds < 5 * DAY_S:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / DAY_S:.0f} days" if seconds < 2 * YEAR_S else f"{seconds / YEAR_S:,.0f} years"


def one_line(text: str) -> str:
    r"""The text with unprintable characters escaped, and without its middle where it is very long.

    >>> one_line("a\nb\ud800")
    'a\\nb\\ud800'
    """
    text = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}"
