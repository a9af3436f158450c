"""The language that the name of a file or folder says."""

import re
from collections.abc import Mapping
from pathlib import PurePath

from vocap.languages import Language

ENDINGS = {".gz", ".xz", ".zst", ".bz2", ".txt", ".text", ".jsonl", ".ndjson", ".json", ".tsv", ".parquet", ".csv"}
SCRIPT = re.compile(r"[A-Z][a-z]{3}")  # ISO 15924
# Two-letter codes that are English words too: taken only alone, or as the last part of a name (corpus.it.txt).
WORDS = {"am", "as", "be", "he", "id", "is", "it", "la", "my", "no", "or"}
# Codes that are in use and in no column of the table.
OTHERS = {"nb": "no", "nob": "no", "fil": "tl", "iw": "he", "cmn": "zh", "chi": "zh", "ger": "de", "fre": "fr"}
OTHERS |= {
    "dut": "nl",
    "cze": "cs",
    "slo": "sk",
    "gre": "el",
    "per": "fa",
    "rum": "ro",
    "farsi": "fa",
    "arb": "ar",
}


class Names:
    """Looks up languages of a table by ISO 639 code or English name, in any case."""

    def __init__(self, table: Mapping[str, Language]) -> None:
        self.table = table
        self.known: dict[str, str] = {name: code for name, code in OTHERS.items() if code in table}
        for code, language in table.items():
            for column in ("name", "iso639_3", "iso639_3_individual"):
                if name := language.facts.get(column, ""):
                    self.known[name.casefold()] = code
        self.known |= {code.casefold(): code for code in table}

    def of(self, path: PurePath) -> tuple[str, str] | None:
        """Code and the part of the path that says it: of the file's name, or of the nearest folder's.

        `path` is relative to the folder of all text. Raises ValueError where names contradict each other, or say
        a script other than the table's.

        >>> from vocap.languages import read_languages
        >>> names = Names(read_languages())
        >>> [names.of(PurePath(path)) for path in ("german.txt", "eng_Latn.jsonl.xz", "hi/1.txt", "notes.txt")]
        [('de', 'german'), ('en', 'eng_Latn'), ('hi', 'hi'), None]
        """
        for part in (stem(path.name), *reversed(path.parts[:-1])):
            if found := self._of_part(part):
                return found
        return None

    def _of_part(self, part: str) -> tuple[str, str] | None:
        if code := self.known.get(part.casefold()):
            return code, part
        found: dict[str, str] = {}
        words = list(re.finditer(r"[^\W\d_]+", part))
        for number, match in enumerate(words):
            word = match[0]
            code = self.known.get(word.casefold())
            last = number == len(words) - 1
            if code is None or (word.casefold() in WORDS and not last):
                continue
            said = word
            if not last and SCRIPT.fullmatch(script := words[number + 1][0]):
                self._check_script(part, code, script)
                said = part[match.start() : words[number + 1].end()]
            found.setdefault(code, said)
        if len(found) > 1:
            raise ValueError(f"its name says {' and '.join(found)}")
        return next(iter(found.items()), None)

    def _check_script(self, part: str, code: str, script: str) -> None:
        """Refuse text in another script than the language has in the table; others are words."""
        scripts = {language.script for language in self.table.values()} | {"Hant"}
        if script in scripts and script != self.table[code].script:
            raise ValueError(f"its name says script {script}; {code} has {self.table[code].script} in the table")


def stem(name: str) -> str:
    """The name of a file without the endings that say its format.

    >>> stem("corpus.de.txt.gz")
    'corpus.de'
    """
    while "." in name and name[name.rindex(".") :].lower() in ENDINGS:
        name = name[: name.rindex(".")]
    return name
