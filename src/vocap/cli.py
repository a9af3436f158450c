"""The `vocap` command: a table of verbs, each imported only when it is called."""

import ast
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

from vocap.errors import SettingError, VocapError, explain, log, missing_extra, system_error

# group of --help: verb: "module:function", a click command; the first line of its
# docstring is the summary there
GROUPS = {
    "Commands": {
        "init": "vocap.init.commands:init",
        "plan": "vocap.forecast.commands:plan",
        "ladder": "vocap.vocabularies.commands:ladder",
        "alp": "vocap.vocabularies.commands:alp",
        "allocate": "vocap.allocation.commands:allocate",
        "size": "vocap.size.commands:size",
        "fit": "vocap.tokenizers.commands:fit",
        "joint": "vocap.tokenizers.commands:joint",
        "bpe": "vocap.tokenizers.commands:bpe",
        "cut-bpe": "vocap.tokenizers.commands:cut_bpe",
        "export": "vocap.tokenizers.commands:export",
        "card": "vocap.tokenizers.commands:card",
        "evaluate": "vocap.tokenizers.commands:evaluate",
        "diff": "vocap.diff.commands:diff",
        "trim": "vocap.adapt.commands:trim",
        "extend": "vocap.adapt.commands:extend",
        "report": "vocap.report.commands:report",
        "why": "vocap.report.why.commands:why",
        "decide": "vocap.report.commands:decide",
    },
    "Rules of the workflow, corpora": {
        "each": "vocap.workflow.commands:each",
        "fetch": "vocap.corpora.commands:fetch",
        "starter-fetch": "vocap.starter.commands:starter_fetch",
        "starter-extract": "vocap.starter.commands:starter_extract",
        "starter-merge": "vocap.starter.commands:starter_merge",
        "list-files": "vocap.corpora.commands:list_files",
        "sample": "vocap.corpora.commands:sample",
        "count": "vocap.corpora.commands:count",
        "weigh": "vocap.corpora.commands:weigh_samples",
        "mix": "vocap.corpora.commands:mix",
    },
    "Rules of the workflow, vocabularies and allocation": {
        "train": "vocap.vocabularies.commands:train_one_size",
        "curve": "vocap.vocabularies.commands:curve",
        "trunk": "vocap.allocation.commands:trunk",
    },
    "Rules of the workflow, tokenizers": {
        "mono": "vocap.tokenizers.commands:mono",
    },
    "Rules of the workflow, pre-training": {
        "tokenize": "vocap.pretraining.commands:tokenize",
        "pretrain": "vocap.pretraining.commands:pretrain",
        "code-length": "vocap.pretraining.commands:code_length",
        "launch": "vocap.training.commands:launch",
    },
    "Rules of the workflow, fine-tuning": {
        "unpack": "vocap.finetuning.commands:unpack",
        "encode": "vocap.finetuning.commands:encode",
        "finetune": "vocap.finetuning.commands:finetune",
        "score": "vocap.finetuning.commands:score",
        "average": "vocap.finetuning.commands:average",
        "compare": "vocap.finetuning.commands:compare_scores",
    },
    "Rules of the workflow, correlation study": {
        "correlate": "vocap.correlation.commands:correlate"
    },
}
VERBS = {verb: place for group in GROUPS.values() for verb, place in group.items()}
LONGEST_VERB = max(map(len, VERBS))  # one column for all groups


def summary(verb: str) -> str:
    """The first sentence of a verb's docstring, read from its source: nothing is
    imported.
    """
    module, function = VERBS[verb].split(":")
    file = Path(__file__).parents[1] / f"{module.replace('.', '/')}.py"
    tree = ast.parse(file.read_text("utf-8"))
    node = next(
        one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == function
    )
    return click.Command(verb, help=ast.get_docstring(node)).get_short_help_str(limit=1000)


def load_command(verb: str) -> click.Command:
    """The command of a verb, imported now."""
    module, function = VERBS[verb].split(":")
    return getattr(import_module(module), function)


class LazyGroup(click.Group):
    """A group that imports a verb when it is called, so that short jobs start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(verb.ljust(LONGEST_VERB), summary(verb)) for verb in verbs])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return load_command(name) if name in VERBS else None

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # on which click prints an empty line
            raise click.Abort from error


@click.group(
    cls=LazyGroup,
    commands=dict.fromkeys(VERBS),  # their names alone, for the suggestion after a mistyped verb
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(package_name="vocap", prog_name="vocap")
def vocap() -> None:
    """Make and measure tokenizers of many languages.

    Every command writes only to the paths that it is given, and logs to standard error.

    \b
    Exit status:
      0         the whole output is there
      1         the input cannot be used
      2         the call or the configuration is wrong
      130, 143  Ctrl-C or SIGTERM ended the command
    """


def run(words: Sequence[str] | None = None) -> int:
    """Run the command line, or these words, and return the exit status; a user's error
    becomes one line.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    # others report what no user asked for: torch its caches, clients of the Hub addresses
    # with signatures
    for handler in logging.getLogger().handlers:
        handler.addFilter(
            lambda record: record.levelno >= logging.WARNING or record.name == log.name
        )
    try:
        status = vocap.main(words, prog_name="vocap", standalone_mode=False)
    except click.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # inside a class that is being made
            raise KeyboardInterrupt from None
        return _explained(error)
    return status if isinstance(status, int) else 0


def _explained(error: Exception) -> int:
    """Print a user's error in one line and return its exit status; raise any other
    error.
    """
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    message = _message(error)
    if message is None:
        raise error
    click.echo(f"vocap: error: {message}", err=True)
    return 2 if isinstance(error, ModuleNotFoundError) else getattr(error, "exit_code", 1)


def _message(error: Exception) -> str | None:
    """The line of a user's error; None for any other error."""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        see = f" (see: {context.command_path} --help)" if context else ""
        return f"{error.format_message()}{see}"
    if isinstance(error, ModuleNotFoundError):
        install = missing_extra(error.name or "")
        return f"{error.name} is not installed; {install}" if install else None
    if isinstance(error, SettingError):
        return f"--{error.field.replace('_', '-')}{str(error).removeprefix(error.field)}"
    if isinstance(error, VocapError):
        return str(error)
    if isinstance(error, MemoryError):
        what = f": {error}" if str(error) else ""
        return f"out of memory{what}; ask for less, or take a larger machine"
    if system := system_error(error):
        return explain(system)
    if _training_lacks_memory(error):
        return (
            f"out of memory ({str(error).strip().splitlines()[0][:300]}); run again where there "
            "is more, to go on from the last checkpoint, or start anew with a smaller "
            "micro_batch, chunk or group (pre-training) or batch (fine-tuning)"
        )
    return None


def _training_lacks_memory(error: Exception) -> bool:
    """Whether torch, if loaded, ran out of memory; running out of CPU memory raises no
    dedicated exception.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(error, RuntimeError):
        return False
    said = ("DefaultCPUAllocator", "CUDA error: out of memory")
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in said)
