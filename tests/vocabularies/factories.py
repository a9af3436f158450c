"""Text made on the spot: words drawn by a Zipf law over syllables of one script."""

import random

ALPHABETS = {
    "latin": ("bcdfghklmnprstvz", "aeiouäéø", " "),
    "cyrillic": ("бвгджзклмнпрстфхцчшщ", "аеёиоуыэюя", " "),
    "kana": ("かきくけこさしすせそたちつてと漢字語文本日", "んっー々", ""),
}


def make_text(script: str, lines: int, seed: int = 1) -> list[str]:
    """Lines of words; in the last script nothing stands between them. A few characters
    are rare.
    """
    consonants, vowels, space = ALPHABETS[script]
    draw = random.Random(f"{script} {seed}")
    words = [
        "".join(draw.choice(consonants) + draw.choice(vowels) for _ in range(draw.randint(1, 4)))
        for _ in range(600)
    ]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    text = []
    for number in range(lines):
        line = draw.choices(words, weights, k=draw.randint(3, 18))
        if number % 40 == 7:
            line.append(chr(0x4E00 + number))
        text.append(space.join(line) + draw.choice(".!?…"))
    return text
