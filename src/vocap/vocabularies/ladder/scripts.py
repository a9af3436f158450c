"""Scripts of characters as SentencePiece knows them: no piece mixes two (`unicode_script.cc`, Unicode 9)."""

import numpy as np

from vocap.vocabularies.ladder.suffixes import character_counts

NO_SCRIPT, INHERITED = -1, -2

# Code points, hexadecimal, that have a script in the table of the pinned fontTools and none in Scripts.txt of
# Unicode 9; gaps of unassigned ones are bridged. With another fontTools, compare the two again.
YOUNGER = """
558 560 588-589 58B-58C 5C8-5C9 5EF 61C-61D 7FD-7FF 860-89F 8B5 8BE-8D3 9FC-9FE A76 AFA-AFF B53-B55 C04 C3C
C5C-C5D C77 C84 CDC-CDD CF3-D00 D04 D3B-D3C D81 E86 E89 E8C E8E-E93 E98 EA0 EA8-EA9 EAC EBA ECE 170D
1715-171F 180F 1878 1ABF-1AF0 1B4C-1B4F 1B7D-1B7F 1C89-1CBF 1DF6-1DFA 209D-209F 2C2F 2C5F 312E-312F
31BB-31BF 4DB6-4DBF 9FD6-9FFF A7AF A7B8-A7F6 A82C A8FE-A8FF AB66-AB6D FBC2-FBD2 FD40-FD4F FD90-FD91
FDC8-FDCF FDFE-FDFF 1032D-1032F 10570-105F3 10780-107BF 10940-10959 10A34-10A35 10A48 10D00-10D8F
10E80-10FF6 11070-11075 110C2-110CD 11144-11147 111CE-111CF 1123F-11241 1133B 11380-113E2 1145A 1145E-11461
116B8-116B9 116D0-116E3 1171A 11740-11746 11800-1183B 11900-11959 119A0-11ABF 11B00-11B0A 11B60-11B67
11BC0-11BF9 11D00-11DF1 11EE0-11F5A 11FB0-11FFF 1246F 12475-1247F 12550-12686 12F90-12FF2 1342F-143FA
16100-16139 16A70-16AC9 16D40-16D79 16E40-16ED3 16F45-16F4F 16F7F-16F87 16FE1-16FF6 187ED-187FF 18AF3-18D20
18D80-191D2 1AFF0-1AFFE 1B002-1B2FB 1CF00-1CF46 1D127-1D128 1D25B-1D25C 1DF00-1DFFF 1E030-1E08F 1E100-1E14F
1E290-1E2FF 1E4D0-1E4F9 1E5D0-1E5FF 1E6C0-1E6FF 1E7E0-1E7FE 1E94B 2A6D7-2A6DF 2B735-2B73F 2B81E 2CEA2-2EE5D
30000-33479 3D000-3FC3F
"""
OLDER = {0x953: "Deva", 0x954: "Deva"}  # Inherited since Unicode 11


def scripts(text: np.ndarray) -> np.ndarray:
    """A number for the Unicode script of each code point of `text`, indexed by code point, int16.

    As `IsValidSentencePiece` groups them: Hiragana, Katakana and U+30FC count as Han; U+2581 has none; Inherited
    takes the script before it; what has no script is Common.
    """
    from fontTools import unicodedata

    alphabet = np.flatnonzero(character_counts(text))
    table = np.full(int(alphabet[-1]) + 1 if len(alphabet) else 1, NO_SCRIPT, np.int16)
    numbers: dict[str, int] = {}
    for point, younger in zip(alphabet.tolist(), is_younger(alphabet).tolist(), strict=True):
        name = "Zyyy" if younger else OLDER.get(point) or unicodedata.script(chr(point))
        if name in ("Hira", "Kana") or point == 0x30FC:
            name = "Hani"
        elif name == "Zzzz":
            name = "Zyyy"
        table[point] = INHERITED if name == "Zinh" else numbers.setdefault(name, len(numbers))
    return table


def is_younger(points: np.ndarray) -> np.ndarray:
    """Which code points got their script after Unicode 9, bool of the shape of `points`."""
    ranges = [entry.split("-") for entry in YOUNGER.split()]
    first, last = (np.array([int(one[end], 16) for one in ranges]) for end in (0, -1))
    place = np.searchsorted(first, points, side="right") - 1
    return (place >= 0) & (points <= last[place])
