"""Write the tiny XTREME folder of config/smoke.yaml, all seven tasks: python
config/smoke-xtreme/make.py

Sentences come from a handful of words and patterns, so that a model of one layer has
something to learn.
"""

import json
import random
from pathlib import Path

HERE = Path(__file__).parent
TRAIN, DEV, TEST = 96, 12, 16

WORDS = {
    "en": {
        "NAME": ["Anna", "Otto", "Mary", "Paul"], "CITY": ["Berlin", "Rome", "Oslo", "Paris"],
        "FIRM": ["Acme", "Nordbank", "Unity", "Solar"], "NOUN": ["dog", "house", "book", "tree"],
        "ADJ": ["small", "old", "red", "new"], "VERB": ["sees", "finds", "likes", "draws"],
        "DET": ["the", "a"],
        "not": "never", "lives": "lives in", "works": "works at",
        "where": "Where does {} live?", "stop": ".",
    },
    "de": {
        "NAME": ["Anna", "Otto", "Maria", "Paul"], "CITY": ["Berlin", "Rom", "Oslo", "Paris"],
        "FIRM": ["Acme", "Nordbank", "Einheit", "Solar"], "NOUN": ["Hund", "Haus", "Buch", "Baum"],
        "ADJ": ["kleine", "alte", "rote", "neue"], "VERB": ["sieht", "findet", "mag", "malt"],
        "DET": ["das", "ein"],
        "not": "nie", "lives": "wohnt in", "works": "arbeitet bei",
        "where": "Wo wohnt {}?", "stop": ".",
    },
    "ru": {
        "NAME": ["Анна", "Отто", "Мария", "Павел"], "CITY": ["Берлин", "Рим", "Осло", "Париж"],
        "FIRM": ["Акме", "Нордбанк", "Единство", "Солар"], "NOUN": ["дом", "сад", "стол", "лес"],
        "ADJ": ["малый", "старый", "новый", "красный"],
        "VERB": ["видит", "находит", "любит", "рисует"],
        "DET": ["этот", "тот"],
        "not": "никогда", "lives": "живёт в городе", "works": "работает в",
        "where": "Где живёт {}?", "stop": ".",
    },
    "ja": {
        "NAME": ["花子", "太郎", "健二", "直美"], "CITY": ["東京", "大阪", "京都", "札幌"],
        "FIRM": ["日本銀行", "東芝", "富士", "日立"], "NOUN": ["犬", "家", "本", "木"],
        "ADJ": ["小さい", "古い", "赤い", "新しい"], "VERB": ["見る", "探す", "読む", "描く"],
        "DET": ["この", "その"],
        "not": "決して", "lives": "が住むのは", "works": "が働くのは",
        "where": "{}はどこに住むか。", "stop": "。",
    },
}  # fmt: skip
LANGUAGES = {
    "xnli": ("de", "en", "ru"), "pawsx": ("de", "en", "ja"),
    "udpos": ("de", "en", "ja", "ru"), "panx": ("de", "en", "ja", "ru"),
    "xquad": ("de", "en", "ru"), "mlqa": ("de", "en"), "tydiqa": ("en", "ru"),
}  # fmt: skip
SPLITS = {"train": TRAIN, "dev": DEV, "test": TEST}


def phrase(words: dict, pick: random.Random) -> list[tuple[str, str]]:
    """Words with their universal tags."""
    return [(pick.choice(words[tag]), tag) for tag in ("DET", "ADJ", "NOUN", "VERB", "DET", "NOUN")]


def joined(words: list[str], language: str) -> str:
    return ("" if language == "ja" else " ").join(words)


def xnli(language: str, pick: random.Random) -> str:
    words = WORDS[language]
    found = [word for word, _ in phrase(words, pick)]
    label = pick.choice(["contradiction", "entailment", "neutral"])
    if label == "entailment":
        second = found[:4]
    elif label == "contradiction":
        second = [words["not"], *found[:4]]
    else:
        second = [word for word, _ in phrase(words, pick)]
    return f"{joined(found, language)}\t{joined(second, language)}\t{label}\r\n"


def pawsx(language: str, pick: random.Random) -> str:
    found = [word for word, _ in phrase(WORDS[language], pick)]
    label = pick.choice("01")
    second = found if label == "1" else [*found[4:], found[3], *found[:3]]
    return f"{joined(found, language)}\t{joined(second, language)}\t{label}\r\n"


def udpos(language: str, pick: random.Random) -> str:
    rows = [*phrase(WORDS[language], pick), (WORDS[language]["stop"], "PUNCT")]
    return "".join(f"{word}\t{tag}\n" for word, tag in rows) + "\n"


def panx(language: str, pick: random.Random) -> str:
    words = WORDS[language]
    kind, link, labels = pick.choice([("CITY", "lives", "LOC"), ("FIRM", "works", "ORG")])
    rows = [(pick.choice(words["NAME"]), "B-PER"), (pick.choice(words["NAME"]), "I-PER")]
    rows += [(word, "O") for word in words[link].split()]
    rows += [(pick.choice(words[kind]), f"B-{labels}"), (words["stop"], "O")]
    return "".join(f"{word}\t{tag}\n" for word, tag in rows) + "\n"


def paragraphs(name: str, language: str, count: int, pick: random.Random) -> dict:
    """SQuAD's JSON: who lives where, one question a paragraph."""
    words, found = WORDS[language], []
    for number in range(count):
        names = pick.sample(words["NAME"], 3)
        cities = pick.sample(words["CITY"], 3)
        sentences = [
            joined([who, words["lives"], city], language) + words["stop"]
            for who, city in zip(names, cities, strict=True)
        ]
        context = joined(sentences, language)
        asked = pick.randrange(3)
        start = context.index(sentences[asked]) + sentences[asked].index(cities[asked])
        question = {
            "id": f"{name}-{language}-{number}",
            "question": words["where"].format(names[asked]),
            "answers": [{"text": cities[asked], "answer_start": start}],
        }
        found.append({"title": "", "paragraphs": [{"context": context, "qas": [question]}]})
    return {"version": "1.1", "data": found}


def write(path: str, text: str) -> None:
    target = HERE / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8", newline="")


def main() -> None:
    for task in (xnli, pawsx, udpos, panx):
        name = task.__name__
        for language in LANGUAGES[name]:
            for split, count in SPLITS.items():
                # XTREME's rule is English training data; the correlation study trains
                # in a language of its own
                if split != "train" or language == "en" or (name, language) == ("panx", "ru"):
                    pick = random.Random(f"{name} {split} {language}")
                    write(
                        f"{name}/{split}-{language}.tsv",
                        "".join(task(language, pick) for _ in range(count)),
                    )

    def questions(path: str, language: str, count: int) -> None:
        made = paragraphs(path.partition("/")[0], language, count, random.Random(path))
        write(path, json.dumps(made, ensure_ascii=False) + "\n")

    questions("squad/train-v1.1.json", "en", TRAIN)
    questions("tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.en.train.json", "en", TRAIN)
    for language in LANGUAGES["xquad"]:
        questions(f"xquad/xquad.{language}.json", language, TEST)
    for language in LANGUAGES["mlqa"]:
        for split in ("dev", "test"):
            path = f"mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json"
            questions(path, language, SPLITS[split])
    for language in LANGUAGES["tydiqa"]:
        questions(f"tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.{language}.dev.json", language, TEST)


if __name__ == "__main__":
    main()
