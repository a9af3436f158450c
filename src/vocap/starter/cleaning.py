"""From an interface message to sentences: without markup, placeholders and code, tested
for language.
"""

import html
import re
import unicodedata
from hashlib import blake2b

from vocap.languages import UNICODE_SCRIPTS
from vocap.text_files.lines import split_sentences

# ISO 15924 codes that stand for several scripts of Unicode.
_ICU = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\b")

_TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
_CHOICE = re.compile(r"\s*(?:PLURAL|GENDER|GRAMMAR)\s*:[^|]*\|(?:\d+=)?([^|]*)", re.IGNORECASE)
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)*([^\[\]|]*)\]\]")
_URL_LINK = re.compile(r"\[(?:\w*:?//\S*|mailto:\S*|\$\d+)?\s+([^\[\]]*)\]")
_EMPHASIS = re.compile(r"'{2,5}")
_LIST_MARK = re.compile(r"^[*#:;=\s]+|\s*=+\s*$", re.MULTILINE)

_BLOCK_TAG = re.compile(
    r"</?(?:p|div|br|hr|li|ul|ol|dl|dt|dd|h[1-6]|table|tr|td|th|pre|blockquote|section|center)"
    r"\b[^<>]*>",
    re.IGNORECASE,
)
_OTHER_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)

_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")

_PLACEHOLDER = re.compile(
    r"\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{[^{}]*\}"  # ${x} {{x}} {x}
    r"|%\([^()]*\)[-#0+ ]*[\d.]*[a-zA-Z]|%\d+\$[-#0+]*[\d.]*[a-zA-Z]"  # %(x)s %1$s
    r"|%[-#0+]*[\d.]*l{0,2}[sdifgeGxXurc](?![^\W\d_])"  # %s
    r"|\$\d+"
    r"|\b(?:https?|ftp|mailto|file)://?\S*|\bwww\.\S+"
    r"|[\w.+-]+@[\w-]+\.[\w.-]+"
)
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
_INVISIBLE = dict.fromkeys(
    [0xAD, 0xFEFF, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
_HAS_INVISIBLE = re.compile("[\u00ad\ufeff\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def without_wikitext(text: str) -> str:
    """Take MediaWiki's markup out: the first form of a choice, the label of a link,
    nothing of other templates.
    """
    if "{{" in text:
        for _ in range(8):  # from the inside out; deeper nesting is left to the test for braces
            text, count = _TEMPLATE.subn(_first_form, text)
            if not count:
                break
    if "[" in text:
        text = _WIKI_LINK.sub(r"\1", text)
        text = _URL_LINK.sub(r"\1", text)
    if "''" in text:
        text = _EMPHASIS.sub("", text)
    return _LIST_MARK.sub("", text)


def _first_form(match: re.Match[str]) -> str:
    choice = _CHOICE.match(match[1])
    return choice[1] if choice else ""


def without_html(text: str) -> str:
    """Block tags become line breaks, other tags spaces; entities become characters,
    then tags once more.
    """
    if "<" in text:
        text = _OTHER_TAG.sub(" ", _BLOCK_TAG.sub("\n", text))
    if "&" in text:
        text = html.unescape(text)
        if "<" in text:
            text = _OTHER_TAG.sub(" ", _BLOCK_TAG.sub("\n", text))
    return text


def lines_of(message: str, wikitext: bool = False) -> list[str]:
    """The lines of one message that read as prose: steps 1 (ICU) to 5 of
    docs/corpora.md.
    """
    if "{" in message and _ICU.search(message):
        return []
    if wikitext:
        message = without_wikitext(message)
    message = without_html(message)
    if not message.isascii() and _HAS_INVISIBLE.search(message):
        message = message.translate(_INVISIBLE)
    if "](" in message:
        message = _MARKDOWN_LINK.sub(r"\1", message)
    lines = []
    for line in message.split("\n"):
        if _MAY_HOLD.search(line):
            line, placeholders = _PLACEHOLDER.subn(" ", line)
            if placeholders > 2:
                continue
            if placeholders:
                line = _SPACE_BEFORE.sub(r"\1", _EMPTIED.sub(" ", line))
        if "**" in line or "`" in line:
            line = line.replace("**", "").replace("`", "")
        if "_" in line:
            line = _MNEMONIC.sub("", line)
        line = " ".join(line.split())
        if line and not (_MAY_BE_CODE.search(line) and _CODE.search(line)):
            lines.append(line)
    return lines


class _Classes(dict[int, str]):
    """For str.translate: i letter of the script, n of none, x of another, m mark,
    space, and . for others.
    """

    def __init__(self, script: str) -> None:
        super().__init__()
        self.scripts = UNICODE_SCRIPTS.get(script, (script,))

    def __missing__(self, code_point: int) -> str:
        from fontTools.unicodedata import script

        character = chr(code_point)
        category = unicodedata.category(character)
        if category[0] == "L":
            own = script(character)
            result = "n" if own in ("Zyyy", "Zinh") else "x"
            if own in self.scripts:
                result = "i"
        elif category[0] == "M":
            result = "m"
        else:
            result = " " if character.isspace() else "."
        self[code_point] = result
        return result


class _LettersAndMarks(dict[int, int | None]):
    """For str.translate: keeps letters and marks, deletes all others."""

    def __missing__(self, code_point: int) -> int | None:
        result = code_point if unicodedata.category(chr(code_point))[0] in "LM" else None
        self[code_point] = result
        return result


_LETTERS = _LettersAndMarks()
_CLASSES: dict[str, _Classes] = {}


def is_prose(sentence: str, script: str) -> bool:
    """At least 3 letters or marks, 60 % of the characters without spaces; 60 % of the
    letters in the script.

    Letters that belong to no one script (Common, Inherited: the Japanese long vowel
    mark) are not asked.
    """
    if script not in _CLASSES:
        _CLASSES[script] = _Classes(script)
    classes = sentence.translate(_CLASSES[script])
    own, foreign = classes.count("i"), classes.count("x")
    letters = own + foreign + classes.count("n") + classes.count("m")
    visible = len(classes) - classes.count(" ")
    return letters >= 3 and letters >= 0.6 * visible and own > 0 and own >= 0.6 * (own + foreign)


def letters_and_marks(sentence: str) -> str:
    """The casefolded letters and marks, which are equal for duplicate lines.

    >>> letters_and_marks("Straße (2)!")
    'strasse'
    """
    return sentence.casefold().translate(_LETTERS)


def duplicate_key(sentence: str) -> str:
    """16 hexadecimal digits (BLAKE2b) of `letters_and_marks`; 2 million lines collide
    once in 10 million runs.
    """
    return line_key(letters_and_marks(sentence))


def line_key(line: str) -> str:
    """The key of a line as it is, of the same form."""
    return blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def sentences_of(message: str, script: str, wikitext: bool = False) -> list[str]:
    """The sentences of one message that are prose in `script`: steps 1 to 7,
    `docs/corpora.md`.
    """
    return [
        sentence
        for line in lines_of(message, wikitext)
        for sentence in split_sentences(line)
        if is_prose(sentence, script)
    ]
