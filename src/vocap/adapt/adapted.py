"""What `trim` and `extend` give: a tokenizer made of another one, with its model, and
the folder of both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocap.adapt.adaptable import Adaptable
from vocap.adapt.bpe_tokenizer import BpeTokenizer
from vocap.adapt.comparison import CHECK_COLUMNS, Checks
from vocap.adapt.unigram_tokenizer import load_unigram
from vocap.bpe.model_file import is_bpe, read_bpe
from vocap.errors import UsageError, VocapError
from vocap.files.io import replacing_directory, write_text, write_tsv
from vocap.result import Result
from vocap.tokenizer_files import CARD
from vocap.tokenizer_files.card import write_card
from vocap.tokenizer_files.export import write_templates

if TYPE_CHECKING:
    from vocap.adapt.model_rows import ModelFiles
    from vocap.adapt.proof import Proof

ID_COLUMNS = ("old", "new", "piece", "reason")
IdRow = tuple[int | None, int, str, str]


@dataclass(repr=False)
class Adapted(Result):
    """The `tokenizer` made of `source`.

    `kind`, `settings` and `facts` are entries of description.json; `ids`: rows of
    `ID_COLUMNS`, a new id each; `checks`: the lines of every text; `additions`: rows of
    additions.tsv; `model`: the old one, which gets for each of `ids` the mean of its rows
    `origins`; `proof`: of the model that was written; `origin`: of new pieces, in words.
    """

    source: Adaptable
    tokenizer: Adaptable
    kind: str
    settings: Mapping[str, Any]
    facts: Mapping[str, Any]
    ids: Sequence[IdRow]
    checks: Checks
    model: "ModelFiles | None"
    origins: Sequence[Sequence[int]]
    additions: Sequence[tuple[Any, ...]] = ()
    proof: "Proof | None" = None
    origin: str = ""

    def write(self, output: str | Path) -> None:
        """Write the new folder `output`, whole or not at all: the tokenizer, ids.tsv,
        comparison.tsv, additions.tsv with additions, `model/` with a model.

        Raises UsageError for a folder with anything in it.
        """
        tokenizer, output = self.tokenizer, Path(output)
        unused = tokenizer.unused
        settings = {key: value for key, value in self.settings.items() if key not in unused}
        with replacing_directory(output, owned=()) as folder:
            about, description = tokenizer.write(
                folder, str(output), self.kind, settings, self.facts
            )
            write_tsv(folder / "ids.tsv", ID_COLUMNS, self.ids)
            checks = [(*key, *one.cells()) for key, one in self.checks.items()]
            write_tsv(folder / "comparison.tsv", CHECK_COLUMNS, checks)
            if self.additions:
                write_tsv(folder / "additions.tsv", tokenizer.columns, self.additions)
            write_templates(folder, tokenizer.chat)
            card = write_card(output.resolve().name, about, description)
            write_text(folder / "huggingface" / CARD, card)
            if self.model is not None:
                self.proof = self._write_model(self.model, folder)

    def _write_model(self, model: "ModelFiles", folder: Path) -> "Proof":
        """Write the model to the folder of its tokenizer, and prove it on lines of the
        texts.
        """
        from vocap.adapt.model_rows import write_with_ids
        from vocap.adapt.proof import prove

        number = {old: new for old, new, *_ in self.ids if old is not None}
        write_with_ids(model, number, self.origins, folder / "huggingface", folder / "model")
        # the ids of the model, which XLM-R's files shift
        rows = [self.source.ids.get(piece or "", -1) for piece in self.source.encoder.pieces]
        lines = [[rows[one] for one in ids] for one in self.checks.values() for ids in one.samples]
        return prove(model, folder / "model", number, lines)


def open_tokenizer(path: str | Path, output: str | Path | None) -> Adaptable:
    """The tokenizer of a file or folder.

    Raises VocapError for one that leaves out merges at random, UsageError where
    `output` is there already, with anything in it.
    """
    path, out = Path(path), Path(output or "")
    if output is not None and out.exists() and (out.is_file() or any(out.iterdir())):
        raise UsageError(
            f"-o {out}: it is there already, and nothing in it is replaced; name a folder that is "
            "not there yet, or remove this one first"
        )
    if not is_bpe(path):
        return load_unigram(path)
    read = read_bpe(path)
    if read.definition["model"].get("dropout"):
        raise VocapError(
            f"{read.path}: dropout leaves out merges at random; set model.dropout to null"
        )
    return BpeTokenizer(read)


def open_model(folder: str | Path | None, source: Adaptable) -> "ModelFiles | None":
    """The model of a folder, whose ids are those of a tokenizer; None for none.

    Raises VocapError as `open_files`, and for a tokenizer without the ids of special
    tokens.
    """
    if folder is None:
        return None
    from vocap.adapt.model_rows import open_files  # torch: only where it is needed

    if source.lacking:
        raise VocapError(
            f"{source.path}: no id for {', '.join(source.lacking)}, which a model needs; name the "
            "folder of the tokenizer, with its tokenizer.json"
        )
    return open_files(Path(folder), source.ids)
