"""The languages of a descent: in memory up to a budget, the others in files of a scratch folder."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from vocap.allocation.pieces.language import Language
from vocap.unigram.descent import Corpus, State
from vocap.unigram.lattice import Lattice


class LanguageStore:
    """Languages by code, in the order in which they were put.

    `budget` bytes of arrays stay in memory; `folder` exists, and gets a file for each language beyond them.
    """

    def __init__(self, folder: Path, budget: int):
        self._folder, self._free = folder, budget
        self._held: dict[str, Language | Path] = {}
        self._bytes: dict[str, int] = {}  # in memory; recorded, as a step shortens arrays in place

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def put(self, code: str, language: Language) -> None:
        """Keep a language; it takes the place of an earlier state of its own."""
        self._free += self._bytes.pop(code, 0)
        before, size = self._held.get(code), _bytes(language)
        if size <= self._free:
            self._free -= size
            self._bytes[code] = size
            self._held[code] = language
            if isinstance(before, Path):
                before.unlink()
        else:
            self._held[code] = self._folder / f"{code}.npz"
            np.savez(self._held[code], **_arrays(language))

    def get(self, code: str) -> Language:
        held = self._held[code]
        return held if isinstance(held, Language) else _read(held)

    def step(
        self, function: Callable[[str, Language], tuple[Language, Any]], threads: int = 1
    ) -> Iterator[tuple[str, Any]]:
        """Take every language one step further: `function` gives its new state and a result.

        Yields code and result in the order of the languages, whatever the number of `threads`.
        """
        codes = {code: code for code in self._held}
        for code, (language, result) in in_order(codes, lambda code: function(code, self.get(code)), threads):
            self.put(code, language)
            yield code, result


def in_order(items: Mapping[str, object], function: Callable, threads: int) -> Iterator[tuple[str, object]]:
    """Key and `function(value)` in the order of the items, so many at a time."""
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque()
        for key, value in items.items():
            waiting.append((key, pool.submit(function, value)))
            if len(waiting) > threads:
                key, future = waiting.popleft()
                yield key, future.result()
        for key, future in waiting:
            yield key, future.result()


def _arrays(language: Language) -> dict[str, np.ndarray | int | bool]:
    """All fields, by name."""
    state = {f.name: getattr(language.state, f.name) for f in fields(State) if f.name != "lattice"}
    corpus = {f"corpus_{f.name}": getattr(language.corpus, f.name) for f in fields(Corpus)}
    lattice = {f"lattice_{f.name}": getattr(language.state.lattice, f.name) for f in fields(Lattice)}
    own = {name: getattr(language, name) for name in ("numbers", "counts", "lines")}
    return {**state, **corpus, **lattice, **own}


def _bytes(language: Language) -> int:
    return sum(array.nbytes for array in _arrays(language).values() if isinstance(array, np.ndarray))


def _read(path: Path) -> Language:
    with np.load(path, allow_pickle=False) as held:
        corpus = {f.name: held[f"corpus_{f.name}"] for f in fields(Corpus)}
        corpus |= {name: held[f"corpus_{name}"].item() for name in ("required", "by_token", "empty")}
        lattice = Lattice(*(held[f"lattice_{f.name}"] for f in fields(Lattice)))
        state = State(held["ids"], held["scores"], held["nodes"], lattice)
        return Language(Corpus(**corpus), state, held["numbers"], held["counts"], held["lines"])
