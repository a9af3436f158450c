"""Cutting running text into sentences by its punctuation, the same way for every language."""

import re

_CLOSING = "\"'»”’)\\]」』）"
_OPENING = "\"'«“‘„(\\[¿¡—–-"

# Stops that end a sentence wherever they stand: the CJK full stops, the danda, and those of Ethiopic, Burmese (the
# little section too), Khmer, Urdu and Armenian. The full stop of the Latin keyboard needs a space and a capital.
_BREAK = re.compile(
    rf"[。！？｡।॥።፧၊။។៕۔։]+[{_CLOSING}]*"
    rf"|[.!?…؟][{_CLOSING}]*+(?=\s+[{_OPENING}]*(?P<letter>[^\W\d_]))"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, stripped, none empty; lines of `text` are never joined.

    Cuts after `. ! ? …` before a space and a letter that is not lower-case (a script without case counts as
    capitals, else Georgian or Telugu would never be cut), and after the full stops of other scripts. Knows no
    abbreviations: "Dr. Who" is cut, which costs a subword model nothing.

    >>> split_sentences("It rains. It pours, e.g. here. 雨だ。「降る。」")
    ['It rains.', 'It pours, e.g. here.', '雨だ。', '「降る。」']
    """
    sentences = []
    for line in text.split("\n"):
        start = 0
        for match in _BREAK.finditer(line):
            letter = match["letter"]
            # Georgian's everyday letters are lower-case to Unicode, yet they start sentences.
            if letter is None or not letter.islower() or "ა" <= letter <= "ჿ":
                sentences.append(line[start : match.end()].strip())
                start = match.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]
