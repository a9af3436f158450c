"""Tables of the results as data frames."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from vocap.errors import VocapError
from vocap.files.io import write_tsv


def read_curves(vocabularies: str | Path) -> pd.DataFrame:
    """Read the ALP curves of all languages, `{language}/curve.tsv` below `vocabularies`.

    Returns
    -------
    pandas.DataFrame
        One row for each size, with the columns `language size pieces alp alp_heldout
        tokens_per_sentence status`. ALP (Equation 1) is in nats per line. A size that
        the text cannot reach has NaN in its cells, and the reason in `status`.
    """
    folders = sorted(path.parent for path in Path(vocabularies).glob("*/curve.tsv"))
    if not folders:
        raise VocapError(
            f"{vocabularies}: no {{language}}/curve.tsv in it; train ladders there first"
        )
    curves = {folder.name: read_table(folder / "curve.tsv") for folder in folders}
    return pd.concat(curves, names=["language"]).reset_index(level=0).reset_index(drop=True)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table of the results, which is TSV without quoting. An empty cell is a
    missing number.

    Text stays text, so the language code `no` and a piece `null` are not missing
    values.
    """
    try:
        content = Path(path).read_bytes()
        if not content.endswith(b"\n"):
            raise ValueError("its last line is cut")  # of which pandas would read a part
        return pd.read_csv(
            BytesIO(content),
            sep="\t",
            quoting=3,
            keep_default_na=False,
            na_values=[""],
            encoding="utf-8",
        )
    except FileNotFoundError:
        raise VocapError(f"{path}: no such table; check the path") from None
    except ValueError as error:
        raise VocapError(f"{path}: not a table of the results ({error}); write it again") from None


def frame_of(kind: type[Any], rows: Iterable[Any]) -> pd.DataFrame:
    """A frame of dataclasses of one kind: a column a field."""
    return build_frame([field.name for field in fields(kind)], [vars(row) for row in rows])


def build_frame(columns: Sequence[str], rows: Sequence[Any]) -> pd.DataFrame:
    """A frame of rows, in which None is a missing number."""
    frame = pd.DataFrame(rows, columns=list(columns))
    empty = [name for name in columns if frame[name].isna().all()]
    return frame.astype(dict.fromkeys(empty, float))


def write_frame(path: str | Path, rows: pd.DataFrame) -> None:
    """Write a frame as a table of the results, whole or not at all."""
    write_tsv(path, list(rows.columns), [tuple(row.values()) for row in records(rows)])


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dicts of Python's own values, None for a missing number."""
    return rows.astype(object).where(rows.notna(), None).to_dict("records")
