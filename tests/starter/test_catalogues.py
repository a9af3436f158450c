"""Catalogues against the standard library's reader, and hostile ones."""

import gettext
import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.errors import VocapError
from vocap.starter.extraction import messages


def mo_file(entries: dict[str, str], order: str = "<") -> bytes:
    """A .mo file with `entries`, by the format's description."""
    entries = dict(sorted(entries.items()))
    ids = [key.encode() for key in entries]
    texts = [text.encode() for text in entries.values()]
    start = 28 + 16 * len(entries)
    tables, body = [], b""
    for strings in (ids, texts):
        for string in strings:
            tables.append(struct.pack(f"{order}2I", len(string), start + len(body)))
            body += string + b"\0"
    header = struct.pack(f"{order}7I", 0x950412DE, 0, len(entries), 28, 28 + 8 * len(entries), 0, start)
    return header + b"".join(tables) + body


HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=3; plural=n%10==1 ? 0 : 1;\n"
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\x04\r"), min_size=1, max_size=8)


@given(st.dictionaries(WORDS, WORDS, max_size=6), st.sampled_from("<>"))
def test_mo_as_the_standard_library_reads_it(entries, order):
    content = mo_file({"": HEADER, **entries}, order)
    reference = gettext.GNUTranslations(io.BytesIO(content))
    found = dict(messages("mo", content, "x.mo"))
    assert found == entries == {key: reference.gettext(key) for key in entries}


def test_mo_plural_forms_and_contexts():
    content = mo_file({"": HEADER, "one file\0%d files": "файл\0файла\0файлов", "menu\x04Open": "Открыть"})
    assert messages("mo", content, "x.mo") == [
        ("Open", "Открыть"),
        ("one file", "файл"),
        ("%d files", "файла"),
        ("%d files", "файлов"),
    ]


GOOD = mo_file({"": HEADER, "yes": "ja"})


@pytest.mark.parametrize(
    "content",
    [b"", b"\xde\x12\x04\x95", b"PK" + GOOD[2:],
     GOOD[:8] + struct.pack("<I", 2**31) + GOOD[12:],  # 2 billion messages
     GOOD[:4] + struct.pack("<I", 7 << 16) + GOOD[8:], GOOD[:-3] + b"\xff\xfe\0"],
    ids=["empty", "header", "magic", "count", "version", "utf8"],
)  # fmt: skip
def test_a_corrupt_mo_is_named_and_refused(content):
    with pytest.raises(VocapError, match=r"^locale/ka\.mo: "):
        messages("mo", content, "locale/ka.mo")


PO = """# Translators
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

#: a.py:1
msgid "Plain"
msgstr "Schlicht"

#, fuzzy, python-format
msgid "Fuzzy"
msgstr "Flauschig"

#, python-format
msgctxt "menu"
msgid ""
"Long "
"\\"quoted\\"\\n"
msgstr ""
"Lang "
"\\"zitiert\\"\\n"
msgid "Next without a gap"
msgstr "Ohne Lücke"

msgid "%d day"
msgid_plural "%d days"
msgstr[0] "%d Tag"
msgstr[1] "%d Tage"

#~ msgid "Obsolete"
#~ msgstr "Veraltet"

msgid "Untranslated"
msgstr ""
"""


def test_po_without_fuzzy_and_obsolete():
    assert messages("po", PO.encode(), "de.po") == [
        ("Plain", "Schlicht"),
        ('Long "quoted"\n', 'Lang "zitiert"\n'),
        ("Next without a gap", "Ohne Lücke"),
        ("%d day", "%d Tag"),
        ("%d days", "%d Tage"),
        ("Untranslated", ""),
    ]
    with pytest.raises(VocapError, match=r"de\.po: .*line 2"):
        messages("po", b'msgid "a"\nnonsense\n', "de.po")


def test_json_nested_in_file_order():
    content = b'{"@metadata": {"authors": ["A"]}, "b": "x", "a": {"c": "y", "d": {"e": "z"}, "n": 3}}'
    assert messages("json", content, "x.json") == [("b", "x"), ("a.c", "y"), ("a.d.e", "z")]
    deep = b'{"a":' * 3000 + b"1" + b"}" * 3000
    for bad in (b"[1]", b'{"a": ', b"\xff", deep):
        with pytest.raises(VocapError, match=r"^x\.json: "):
            messages("json", bad, "x.json")
