"""The answer for each language, of which the page shows one at a time: `vocap why`."""

import json
from pathlib import Path

from vocap.report.data.results import Results
from vocap.report.page.blocks import Note, PageBlock, Script, pack
from vocap.report.page.rendering import rendered
from vocap.report.why.answer import answer_for
from vocap.report.why.run import Run

NO_ANSWER = "My language: no tokenizer and no allocation to tell what a language gets."


def section(results: Results) -> list[PageBlock]:
    """The answers in words, with each curve and the sizes to mark on it, packed."""
    if not (results.tokenizers or results.allocations):
        return [Note(NO_ANSWER)]
    run = Run(Path(results.folder), results)
    packed = {}
    for code in results.languages:
        answer = answer_for(run, code)
        packed[code] = {
            "text": rendered("why.txt", of=answer, name=results.name),
            "curve": [(size, round(alp, 2)) for size, alp, _ in answer["curve"]],
            "allocations": answer["allocations"],
        }
    coded = pack(json.dumps(packed, ensure_ascii=False).encode())
    names = {code: results.name(code) for code in results.languages}
    return [Script("why", {"names": names, "packed": coded})]
