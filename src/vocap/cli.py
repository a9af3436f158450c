"""The `vocap` command: a table of verbs, one for every rule, each imported only when it is called."""

import importlib
import logging
import sys

import click

from vocap import __version__
from vocap.errors import VocapError, explain, system_error

# verb: "module:function", a click command; the first line of its docstring is the summary in --help
VERBS = {
    # corpora
    "fetch": "vocap.corpora.commands:fetch",
    "starter-fetch": "vocap.corpora.starter.commands:starter_fetch",
    "starter-extract": "vocap.corpora.starter.commands:starter_extract",
    "starter-merge": "vocap.corpora.starter.commands:starter_merge",
    "sample": "vocap.corpora.commands:sample",
    "weigh": "vocap.corpora.commands:weigh",
    "mix": "vocap.corpora.commands:mix",
    # vocabularies
    "train": "vocap.vocabularies.commands:train",
    "curve": "vocap.vocabularies.commands:curve",
    "ladder": "vocap.vocabularies.ladder.commands:ladder",
    "alp": "vocap.vocabularies.commands:alp",
    # allocation
    "allocate": "vocap.allocation.commands:allocate",
    # tokenizers
    "fit": "vocap.tokenizers.commands:fit",
    "joint": "vocap.tokenizers.commands:joint",
    "mono": "vocap.tokenizers.commands:mono",
    "export": "vocap.tokenizers.output_commands:export",
    "parity": "vocap.tokenizers.output_commands:parity",
    "evaluate": "vocap.tokenizers.output_commands:evaluate",
    "diff": "vocap.tokenizers.diff.commands:diff",
    "trim": "vocap.tokenizers.adapting.trim_command:trim",
    "extend": "vocap.tokenizers.adapting.extend_command:extend",
    # pretraining
    "tokenize": "vocap.pretraining.commands:tokenize",
    "pretrain": "vocap.pretraining.training_commands:pretrain",
    "launch": "vocap.pretraining.launch_command:launch",
    # finetuning
    "xtreme": "vocap.finetuning.folder_commands:xtreme",
    "ceiling": "vocap.finetuning.folder_commands:ceiling",
    "encode": "vocap.finetuning.training_commands:encode",
    "finetune": "vocap.finetuning.training_commands:finetune",
    "score": "vocap.finetuning.scoring_commands:score",
    "average": "vocap.finetuning.scoring_commands:average",
    "compare": "vocap.finetuning.scoring_commands:compare",
    # correlation
    "own-files": "vocap.correlation.commands:own_files",
    "studied-sizes": "vocap.correlation.commands:studied_sizes",
    "correlate": "vocap.correlation.commands:correlate",
    # report
    "report": "vocap.report.commands:report",
    # all stages
    "plan": "vocap.plan.commands:plan",
}


class LazyGroup(click.Group):
    """A group whose verbs are imported when needed, so that a short job does not pay for the long ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module, function = VERBS[name].split(":")
        return getattr(importlib.import_module(module), function)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="vocap")
def vocap() -> None:
    """How many subwords does each language deserve, and what does the merged tokenizer look like?

    Every verb writes only to the paths it is given and logs to standard error. Exit status: 0 when the
    whole output is there, 1 for input that cannot be used, 2 for a wrong call or configuration.
    """


def _training_lacks_memory(error: Exception) -> bool:
    """Whether torch, if it is loaded at all, found no memory; of a CPU's it has no error of its own."""
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and isinstance(error, RuntimeError)
        and (
            isinstance(error, torch.OutOfMemoryError)
            or any(words in str(error) for words in ("DefaultCPUAllocator", "CUDA error: out of memory"))
        )
    )


def main() -> None:
    """Run the command line; a person's mistake becomes one line, never a traceback."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    try:
        status = vocap.main(prog_name="vocap", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.Abort:
        click.echo("vocap: interrupted; nothing half-written was left", err=True)
        status = 130
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = error.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        see = f" (see: {context.command_path} --help)" if context else ""
        click.echo(f"vocap: error: {error.format_message()}{see}", err=True)
        status = error.exit_code
    except VocapError as error:
        click.echo(f"vocap: error: {error}", err=True)
        status = error.exit_code
    except MemoryError as error:
        what = f": {error}" if str(error) else ""
        click.echo(f"vocap: error: out of memory{what}; ask for less, or take a larger machine", err=True)
        status = 1
    except Exception as error:
        if system := system_error(error):
            click.echo(f"vocap: error: {explain(system)}", err=True)
            sys.exit(1)
        if not _training_lacks_memory(error):
            raise
        click.echo(
            f"vocap: error: out of memory ({str(error).strip().splitlines()[0][:300]}); run again where there is "
            "more, to go on from the last checkpoint, or start anew with a smaller micro_batch, chunk or group "
            "(pre-training) or batch (fine-tuning)",
            err=True,
        )
        status = 1
    sys.exit(status if isinstance(status, int) else 0)
