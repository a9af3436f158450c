"""The last stage: what is there, or how to make it."""

from vocap.report.blocks import Block, Section, Text, not_run
from vocap.report.results import Results

STAGES = {
    "finetuning": "No model has been fine-tuned; the tasks need the user’s own XTREME folder.",
}


def section(results: Results) -> Section:
    """Fine-tuning."""
    blocks: list[Block] = []
    for stage, absent in STAGES.items():
        names = results.later.get(stage, [])
        if names:
            blocks.append(Text(f"{stage.capitalize()} left results for {', '.join(names)} in results/{stage}."))
        else:
            blocks.append(not_run(stage, f"{stage.capitalize()}: {absent}"))
    return Section("finetuning", "Fine-tuning", "Fine-tuning", blocks)
