"""The program of the process that reads a Parquet file (`parquet` starts it and takes the text).

Damaged files can crash the library or make it ask for all memory: that ends this process alone. A file of its own,
run by its path: it imports nothing of this package.

Arguments: the file; the column of text, or nothing for the columns alone; bytes of memory; seconds of processor
time for a batch; `documents` if each text is to be one line, its line ends escaped. Standard output: frames of
three 64-bit numbers and data: kind, count, length of the data.
"""

import contextlib
import json
import os
import resource
import signal
import struct
import sys

FACTS, TEXT, END, DAMAGED, NO_COLUMN = range(5)  # kinds of frames; the count: rows of the file, rows read so far
FRAME = struct.Struct("<qqq")
ROWS = 1024  # of a batch: long documents of 1 MiB are 1 GiB at once


class NoColumn(Exception):
    """There is no such column, or it holds no text."""


def leaves(fields, path: tuple[str, ...] = ()) -> dict:
    """The columns that are no structs: dotted name to path and type."""
    from pyarrow import types

    found = {}
    for field in fields:
        own = (*path, field.name)
        if types.is_struct(field.type):
            for name, leaf in leaves(field.type.fields, own).items():
                found.setdefault(name, leaf)
        else:
            found[".".join(own)] = own, field.type
    return found


def is_text(kind, binary: bool = False) -> bool:
    """Whether values of an Arrow type are strings, or bytes where `binary`."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return True
    return binary and (types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def lines_of(values, documents: bool) -> bytes:
    r"""The values that are not null, each ended by `\n`; one line end that a value has itself is not doubled.

    Of `documents` each value is one line: a backslash is written as two, a line end as a backslash and an n.
    """
    import pyarrow
    from pyarrow import compute

    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    values = values.cast(pyarrow.large_binary()).drop_null()  # bytes, since they may not be UTF-8
    if not len(values):
        return b""
    if documents:
        for old, new in ((b"\\", b"\\\\"), (b"\n", b"\\n")):
            values = compute.replace_substring(values, old, new)
    ended = compute.ends_with(values, b"\n")
    if compute.any(ended).as_py():
        values = compute.if_else(ended, compute.binary_slice(values, 0, -1), values)
    line_end = pyarrow.scalar(b"\n", pyarrow.large_binary())
    joined = compute.binary_join(pyarrow.ListArray.from_arrays([0, len(values)], values), line_end)
    return joined[0].as_buffer().to_pybytes() + b"\n"


def limit(kind: int, wanted: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # not every system has every limit
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def frames(path: str, column: str, seconds: int, documents: bool):
    """Yield kind, count and data of every frame but the last."""
    import pyarrow
    from pyarrow import compute, parquet

    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    # a column's pages are read one after the other: else whole row groups are held, and several at once
    file = parquet.ParquetFile(path, memory_map=False, pre_buffer=False, buffer_size=1 << 20)
    columns = leaves(file.schema_arrow)
    texts = [name for name, (_, kind) in columns.items() if is_text(kind)]
    rows = file.metadata.num_rows
    yield FACTS, rows, json.dumps([name for name in texts if len(name) < 500][:1000]).encode()
    if not column:
        return
    listed = ", ".join(name[:60] for name in texts[:12]) or "none"
    if column not in columns:
        raise NoColumn(f"no column {column!r}; columns of text: {listed}")
    (first, *nested), kind = columns[column]
    if not is_text(kind, binary=True):
        raise NoColumn(f"column {column!r} holds {str(kind)[:60]}, not text; columns of text: {listed}")
    read = 0
    for batch in file.iter_batches(batch_size=ROWS, columns=[column], use_threads=False):
        values = batch.column(first)
        if nested:
            values = compute.struct_field(values, nested)
        read += len(values)
        yield TEXT, read, values.null_count.to_bytes(8, "little") + lines_of(values, documents)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + seconds)


def main(path: str, column: str, memory: int, seconds: int, documents: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process reports interrupts
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's own output is no frame
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_DATA, memory)
    limit(resource.RLIMIT_CPU, seconds)
    last = END, b""
    try:
        for kind, count, data in frames(path, column, seconds, documents):
            sink.write(FRAME.pack(kind, count, len(data)))
            sink.write(data)
    except BrokenPipeError:
        os._exit(0)
    except MemoryError:
        last = DAMAGED, f"it needs more than {memory >> 20} MiB of memory".encode()
    except NoColumn as error:
        last = NO_COLUMN, str(error).encode("utf-8", "replace")
    except Exception as error:
        said = " ".join(str(error).split())[:300] or type(error).__name__
        last = DAMAGED, said.encode("utf-8", "replace")
    with contextlib.suppress(BrokenPipeError):
        sink.write(FRAME.pack(last[0], 0, len(last[1])) + last[1])
        sink.flush()
    os._exit(0)  # the library may crash when it exits; all output is written


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5]), documents=sys.argv[5:] == ["documents"])
