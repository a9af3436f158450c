"""Parquet files: opened, their columns of text, and their footers, by which single row
groups are read.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from vocap.errors import VocapError
from vocap.storage.remote import MOST_FETCHED, address_of, is_remote
from vocap.text_files.lines import Place, open_remote, path_of


@dataclass(frozen=True)
class Footer:
    """The footer of a file as Arrow reads it, and the stored bytes of each row group, of all
    columns and of that of the text (int64).
    """

    metadata: Any
    sizes: np.ndarray
    column: np.ndarray

    @classmethod
    def read(cls, place: Place, field: str) -> "Footer":
        """Read a footer alone; `field`: the column of the text. Raises VocapError for a
        damaged one.
        """
        path = path_of(place)
        with (
            _explaining(path),
            open_remote(place) if is_remote(path) else io.FileIO(path) as file,
        ):
            from pyarrow.parquet import read_metadata  # of the extra [workflow]

            metadata = read_metadata(file)
            groups = list(map(metadata.row_group, range(metadata.num_row_groups)))
            names = [leaf.path for leaf in _leaves(metadata.schema)]
            chunks = [
                [group.column(index).total_compressed_size for index in range(len(names))]
                for group in groups
            ]
        table = np.array(chunks, np.int64).reshape(len(groups), len(names))
        chosen = [name == field for name in names]
        return cls(metadata, table.sum(1), table[:, chosen].sum(1))


@contextmanager
def _explaining(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error of Arrow's in the block into one line."""
    try:
        yield
    except (VocapError, ModuleNotFoundError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = " ".join(str(error).split())[:300]
        raise VocapError(
            f"{address_of(path)}: a Parquet file that cannot be read ({said}); copy or download "
            "it again, or write it anew"
        ) from None


@contextmanager
def open_parquet(place: Place, footer: Footer | None = None) -> Iterator[tuple[Any, int]]:
    """Open a Parquet file, with a footer that was read before, and tell its bytes; an
    error of Arrow's in the block becomes one line.
    """
    path = path_of(place)
    with _explaining(path):
        from pyarrow.parquet import ParquetFile  # of the extra [workflow]

        metadata = footer and footer.metadata
        # a column's pages are read one after the other: else whole row groups are held,
        # and several at once. Of a remote file a column's part of a row group is fetched
        # by one request.
        if is_remote(path):
            with (
                open_remote(place) as remote,
                ParquetFile(
                    remote, metadata=metadata, pre_buffer=False, buffer_size=MOST_FETCHED
                ) as file,
            ):
                yield file, remote.size
        else:
            with ParquetFile(
                path, metadata=metadata, memory_map=False, pre_buffer=False, buffer_size=1 << 20
            ) as file:
                yield file, os.path.getsize(path)


def text_columns(file: Any) -> dict[str, bool]:
    """The columns of a Parquet file that hold bytes and are no lists, by dotted name:
    whether they are text.
    """
    return {
        leaf.path: leaf.logical_type.type == "STRING"
        for leaf in _leaves(file.schema)
        if leaf.physical_type == "BYTE_ARRAY" and not leaf.max_repetition_level
    }


def _leaves(schema: Any) -> list[Any]:
    return [schema.column(number) for number in range(len(schema))]
