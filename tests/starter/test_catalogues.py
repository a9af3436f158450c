"""Messages out of catalogues, and corrupt ones."""

import struct

import polib
import pytest

from vocap.errors import VocapError
from vocap.starter.extraction import messages


def mo_file(*entries: polib.MOEntry) -> bytes:
    file = polib.MOFile()
    file.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    file.extend(entries)
    return file.to_binary()


def test_mo_plural_forms_and_contexts():
    forms = {0: "файл", 1: "файла", 2: "файлов"}
    content = mo_file(
        polib.MOEntry(msgid="one file", msgid_plural="%d files", msgstr_plural=forms),
        polib.MOEntry(msgctxt="menu", msgid="Open", msgstr="Открыть"),
    )
    assert sorted(messages("mo", content, "x.mo")) == [
        ("%d files", "файла"),
        ("%d files", "файлов"),
        ("Open", "Открыть"),
        ("one file", "файл"),
    ]


GOOD = mo_file(polib.MOEntry(msgid="yes", msgstr="ja"))


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
    content = (
        b'{"@metadata": {"authors": ["A"]}, "b": "x", "a": {"c": "y", "d": {"e": "z"}, "n": 3}}'
    )
    assert messages("json", content, "x.json") == [("b", "x"), ("a.c", "y"), ("a.d.e", "z")]
    deep = b'{"a":' * 3000 + b"1" + b"}" * 3000
    for bad in (b"[1]", b'{"a": ', b"\xff", deep):
        with pytest.raises(VocapError, match=r"^x\.json: "):
            messages("json", bad, "x.json")
