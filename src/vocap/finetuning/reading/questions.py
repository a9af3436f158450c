"""SQuAD's JSON, version 1.1: data, paragraphs, questions with answers."""

from pathlib import Path
from typing import Any

import orjson

from vocap.errors import VocapError
from vocap.finetuning.examples import Answer, Question
from vocap.finetuning.reading.lines import AGAIN, read_text


def read_questions(path: Path, blank: bool = False, unique: bool = True) -> list[Question]:
    """The questions of a file in its order.

    `blank`: whether the whole file may lack answers (none, or an empty text); `unique`: whether ids must be.
    Raises VocapError, naming the place in the file, for anything else than such JSON, for an answer that does not
    stand where the file says, and for answers of some questions only.
    """
    try:
        content = orjson.loads(read_text(path))
    except orjson.JSONDecodeError as error:
        raise VocapError(f"{path}, line {error.lineno}: not JSON ({error.msg}); {AGAIN}") from None
    questions: list[Question] = []
    places: list[str] = []
    for number, entry in enumerate(_field(content, "data", list, "the file", path)):
        where = f"data[{number}]"
        for index, paragraph in enumerate(_field(entry, "paragraphs", list, where, path)):
            inside = f"{where}.paragraphs[{index}]"
            context = _field(paragraph, "context", str, inside, path)
            for item, question in enumerate(_field(paragraph, "qas", list, inside, path)):
                place = f"{inside}.qas[{item}]"
                questions.append(_question(question, context, place, path))
                places.append(place)
    if not questions:
        raise VocapError(f"{path}: holds no question; {AGAIN}")
    _check_answers(questions, places, blank, path)
    if unique:
        _check_ids(questions, places, path)
    return questions


def _question(entry: Any, context: str, place: str, path: Path) -> Question:
    name = _field(entry, "id", str, place, path)
    answers = []
    for answer in _field(entry, "answers", list, place, path):
        text = _field(answer, "text", str, place, path)
        start = _field(answer, "answer_start", int, place, path)
        if not text:
            continue
        if start < 0 or context[start : start + len(text)] != text:
            there = context[start : start + len(text)] if start >= 0 else ""
            raise VocapError(
                f"{path}, {place} (id {name}): the answer {_short(text)} does not stand at answer_start {start} "
                f"of the context, where there is {_short(there)}; offsets count Unicode code points: correct "
                f"them, or {AGAIN}"
            )
        answers.append(Answer(text, start))
    return Question(name, _field(entry, "question", str, place, path), context, tuple(answers))


def _field(entry: Any, name: str, kind: type, place: str, path: Path) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        what = {list: "a list", str: "text", int: "a whole number"}[kind]
        raise VocapError(f"{path}, {place}: no {name!r} that is {what}, as in SQuAD 1.1; {AGAIN}")
    return value


def _check_answers(questions: list[Question], places: list[str], allowed: bool, path: Path) -> None:
    blanks = [not question.answers for question in questions]
    if not any(blanks) or (allowed and all(blanks)):
        return
    first = blanks.index(True)
    why = "others have one" if not all(blanks) else "only test files may keep their answers back"
    raise VocapError(f"{path}, {places[first]} (id {questions[first].id}): no answer, but {why}; {AGAIN}")


def _check_ids(questions: list[Question], places: list[str], path: Path) -> None:
    seen: dict[str, str] = {}
    for question, place in zip(questions, places, strict=True):
        if question.id in seen:
            raise VocapError(
                f"{path}, {place}: the id {question.id} stands at {seen[question.id]} too; predictions are told "
                f"apart by it: {AGAIN}"
            )
        seen[question.id] = place


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
