"""From an interface message to sentences: without markup, placeholders and code, tested
for language.
"""

import html
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vocap.text_files.letters import MARK, OTHER, count_before, count_letters, kinds_of
from vocap.text_files.lines import split_sentences

_ICU = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\b")

_TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
_CHOICE = re.compile(r"\s*(?:PLURAL|GENDER|GRAMMAR)\s*:[^|]*\|(?:\d+=)?([^|]*)", re.IGNORECASE)
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)*([^\[\]|]*)\]\]")
_URL_LINK = re.compile(r"\[(?:\w*:?//\S*|mailto:\S*|\$\d+)?\s+([^\[\]]*)\]")
_EMPHASIS = re.compile(r"'{2,5}")
_LIST_MARK = re.compile(r"^[*#:;=\s]+|\s*=+\s*$", re.MULTILINE)

_MAY_BE_LIST = re.compile("[*#:;=]")

_BLOCK_TAG = re.compile(
    r"</?(?:p|div|br|hr|li|ul|ol|dl|dt|dd|h[1-6]|table|tr|td|th|pre|blockquote|section|center)"
    r"\b[^<>]*>",
    re.IGNORECASE,
)
_OTHER_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)

_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")

# the first characters of all first: other places are left in a third of the time
_PLACEHOLDER = re.compile(
    r"(?=[$%{hfmw])(?:"
    r"\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{[^{}]*\}"  # ${x} {{x}} {x}
    r"|%\([^()]*\)[-#0+ ]*[\d.]*[a-zA-Z]|%\d+\$[-#0+]*[\d.]*[a-zA-Z]"  # %(x)s %1$s
    r"|%[-#0+]*[\d.]*l{0,2}[sdifgeGxXurc](?![^\W\d_])"  # %s
    r"|\$\d+"
    r"|\b(?:https?|ftp|mailto|file)://?\S*|\bwww\.\S+)"
)
_PLACEHOLDER_OR_MAIL = re.compile(_PLACEHOLDER.pattern + r"|[\w.+-]+@[\w-]+\.[\w.-]+")
# a part of each, which takes a twentieth of the time to find
_MAY_HOLD = re.compile(r"\$|%|\{|@|:/|www\.")
_EMPTIED = re.compile(
    r"""\(\s*\)|\[\s*\]|（\s*）|【\s*】|"\s*"|“\s*”|„\s*[“”]|«\s*»|»\s*«"""
    r"""|‘\s*’|‚\s*‘|「\s*」|『\s*』|'\s*'|`\s*`"""
)
_SPACE_BEFORE = re.compile(r"\s+([.,])(?=\s|$)")

_MNEMONIC = re.compile(r"\s*\(_\w\)|(?<!\w)_(?=\w)")
_CODE = re.compile(
    r"[{}<>|\\\x00-\x1f\x7f-\x9f\ufffd]|==|::"
    r"|\w_\w|\$[A-Za-z]|(?:^|\s)--\w"  # snake_case, $variables, --options
    r"|(?:^|[\s(\"'])[~.]{0,2}/\w|\w/\w+/\w"  # paths
    r"|[A-Za-z]{2,}\w*\.[A-Za-z]{2,}"  # dotted names
)
# a part of each of them
_MAY_BE_CODE = re.compile(r"[{}<>|\\\x00-\x1f\x7f-\x9f\ufffd_$/]|==|::|--|\.[A-Za-z]")
_INVISIBLE = re.compile("[\u00ad\ufeff\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# a part of each of all these: what has none is prose as it is. One class first, which is
# searched ten times as fast as alternatives
_MAY_CHANGE = re.compile(
    r"[{}<>&$%@`*_|\\/\[\]\x00-\x1f\x7f-\x9f\ufffd.:='#;\-"
    "\u00ad\ufeff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
    r"(?:(?<![.:='#;\-])|(?<=\.)\S|(?<=[='#;])|(?<=-)-|(?<=:):|(?<=\A:))"
)


def without_wikitext(text: str) -> str:
    """Take MediaWiki's markup out: the first form of a choice, the label of a link,
    nothing of other templates.
    """
    if "{{" in text:
        for _ in range(8):  # from the inside out; deeper nesting is left to the test for braces
            text, count = _TEMPLATE.subn(_first_form, text)
            if not count:
                break
    text = _WIKI_LINK.sub(r"\1", text)
    text = _URL_LINK.sub(r"\1", text)
    text = _EMPHASIS.sub("", text)
    return _LIST_MARK.sub("", text) if _MAY_BE_LIST.search(text) else text


def _first_form(match: re.Match[str]) -> str:
    choice = _CHOICE.match(match[1])
    return choice[1] if choice else ""


def without_html(text: str) -> str:
    """Block tags become line breaks, other tags spaces; entities become characters,
    then tags once more.
    """
    text = _without_tags(text)
    return _without_tags(html.unescape(text)) if "&" in text else text


def _without_tags(text: str) -> str:
    return _OTHER_TAG.sub(" ", _BLOCK_TAG.sub("\n", text))


def lines_of(message: str, wikitext: bool = False) -> list[str]:
    """The lines of one message that read as prose: steps 1 (ICU) to 5 of
    docs/corpora.md.
    """
    message = message.strip()
    if not _MAY_CHANGE.search(message):
        return [" ".join(message.split())] if message else []
    if "{" in message and _ICU.search(message):
        return []
    if wikitext:
        message = without_wikitext(message)
    message = _INVISIBLE.sub("", without_html(message))
    message = _MARKDOWN_LINK.sub(r"\1", message)
    return list(filter(None, map(_prose_of, message.split("\n"))))


def _prose_of(line: str) -> str:
    """The line without placeholders and marks of markup; nothing for one that is code, or
    has more than two placeholders.
    """
    if _MAY_HOLD.search(line):
        kind = _PLACEHOLDER_OR_MAIL if "@" in line else _PLACEHOLDER
        line, placeholders = kind.subn(" ", line)
        if placeholders > 2:
            return ""
        if placeholders:
            line = _SPACE_BEFORE.sub(r"\1", _EMPTIED.sub(" ", line))
    line = line.replace("**", "").replace("`", "")
    if "_" in line:
        line = _MNEMONIC.sub("", line)
    line = " ".join(line.split())
    return "" if _MAY_BE_CODE.search(line) and _CODE.search(line) else line


def are_prose(sentences: Sequence[str], script: str) -> NDArray[np.bool_]:
    """Of each sentence, whether it has at least 3 letters or marks, 60 % of the
    characters without spaces, and 60 % of the letters are of the script.

    Letters that belong to no one script (Common, Inherited: the Japanese long vowel
    mark) are not asked.
    """
    letters, visible, own, scripted = count_letters(sentences, script)
    return (letters >= 3) & (letters >= 0.6 * visible) & (own > 0) & (own >= 0.6 * scripted)


def letters_and_marks(sentences: Iterable[str]) -> list[str]:
    """The casefolded letters and marks of each, which are equal for duplicate lines.

    >>> letters_and_marks(["Straße (2)!"])
    ['strasse']
    """
    codes, kinds, borders = kinds_of([sentence.casefold() for sentence in sentences])
    kept = (kinds > OTHER) | (kinds == MARK)
    text = codes[kept].tobytes().decode("utf-32-le", "surrogatepass")
    ends = count_before(kept, borders).tolist()
    return [text[start:end] for start, end in pairwise(ends)]


def duplicate_keys(sentences: Iterable[str]) -> list[str]:
    """16 hexadecimal digits (BLAKE2b) of `letters_and_marks` of each; 2 million lines
    collide once in 10 million runs.
    """
    return list(map(line_key, letters_and_marks(sentences)))


def line_key(line: str) -> str:
    """The key of a line as it is, of the same form."""
    return blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def sentences_of(
    messages: Iterable[str], script: str, wikitext: bool = False
) -> tuple[list[str], list[int]]:
    """The sentences of all messages that are prose in `script`, in their order, and the
    number of the message of each: steps 1 to 7 of docs/corpora.md.
    """
    sentences: list[str] = []
    numbers: list[int] = []
    for number, message in enumerate(messages):
        for line in lines_of(message, wikitext):
            found = split_sentences(line)
            sentences += found
            numbers += [number] * len(found)
    prose = np.flatnonzero(are_prose(sentences, script)).tolist()
    return [sentences[place] for place in prose], [numbers[place] for place in prose]
