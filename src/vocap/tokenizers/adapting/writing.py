"""The folder of an adapted tokenizer: as of every tokenizer, with the map of ids and the proof beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.files import replacing_directory
from vocap.tokenizers.accounts import account, describe, write_tokenizer
from vocap.tokenizers.adapting import proof
from vocap.tokenizers.adapting.proof import Proof
from vocap.tokenizers.export import write_export
from vocap.tokenizers.shadowing import dead_pieces
from vocap.tsv import write_tsv

ID_COLUMNS = ("old", "new", "piece", "reason")
OWNED = (
    "sentencepiece.model",
    "pieces.tsv",
    "description.json",
    "ids.tsv",
    "comparison.tsv",
    "additions.tsv",
    "huggingface/",
    "model/",
)


def write_adapted(
    out: Path,
    kind: str,
    proto,
    settings: Mapping,
    ids: Sequence[tuple],
    proofs: Mapping[tuple[str, str], Proof],
    owners: Mapping[str, Sequence[str]],
    scores: str,
    model=None,
    tables: Mapping[str, tuple[Sequence[str], Sequence[tuple]]] | None = None,
    **more,
) -> dict:
    """Write `OWNED` to the folder `out`, whole or not at all (`model/` with a model); returns the description.

    `ids` are rows of `ID_COLUMNS`, `proofs` by language and part, `owners` the languages of a
    piece where they are known, `tables` further files: columns and rows by name.
    """
    dead = dead_pieces(proto)
    description = describe(kind, proto, settings, scores, len(dead), **more)
    with replacing_directory(out, owned=OWNED) as folder:
        write_tokenizer(folder, proto, account(proto, owners, dict.fromkeys(dead, "dead"), dead), description)
        write_tsv(folder / "ids.tsv", ID_COLUMNS, ids)
        rows = [found.row(language, part) for (language, part), found in proofs.items()]
        write_tsv(folder / "comparison.tsv", proof.COLUMNS, rows)
        for name, (columns, lines) in (tables or {}).items():
            write_tsv(folder / name, columns, lines)
        write_export(proto, str(out), folder / "huggingface", description)
        if model is not None:
            from vocap.tokenizers.adapting.model_rows import save_model  # torch: only where it is needed

            save_model(model, folder / "huggingface", folder / "model")
    return description
