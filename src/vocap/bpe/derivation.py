"""The merges behind each token of a tokenizer.json: those that are applied where text is encoded as the token.

No merge that is applied reaches over the borders of a token of the result, and merges are applied by rank, of
equal rank from the left. So those inside a token are the ones that its characters alone lead to, whatever stands
beside it: each token has one derivation. Merges in no derivation of a text's tokens are not applied in it.
"""

from collections.abc import Iterable
from itertools import pairwise

from vocap.bpe.model_file import BpeFile
from vocap.tokenizer_files.model_file import BYTES

LONGEST = 1000  # characters of a token whose derivation is looked up: the time grows with their square


class Derivations:
    """The derivations of the tokens of a file, each found when it is asked for."""

    def __init__(self, read: BpeFile):
        model = read.definition["model"]
        self.tokens, self.merges = read.tokens, read.merges.tolist()
        self.single = {token: number for token, number in model["vocab"].items() if len(token) == 1}
        self.ranks = {(a, b): rank for rank, (a, b, _) in enumerate(self.merges)}
        self.whole_words = bool(model.get("ignore_merges"))
        self._apart = {*read.special, *read.added, *self.single.values()}
        names = [model.get("unk_token"), *(BYTES if model.get("byte_fallback") else ())]
        self._apart.update(model["vocab"][name] for name in names if name in model["vocab"])

    def encode(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a word, and the merges (rows of the file) that lead to them, in the order of application.

        Raises KeyError for a character that is no token.
        """
        ids, rows = [self.single[character] for character in text], []
        none = len(self.merges)
        while len(ids) > 1:
            rank, place = min((self.ranks.get(pair, none), place) for place, pair in enumerate(pairwise(ids)))
            if rank == none:
                break
            ids[place : place + 2] = [self.merges[rank][2]]
            rows.append(rank)
        return ids, rows

    def of(self, token: int) -> list[int] | None:
        """The merges that lead to a token; None where its characters lead to others."""
        name = self.tokens[token]
        if len(name) > LONGEST or not all(character in self.single for character in name):
            return None
        ids, rows = self.encode(name)
        return rows if ids == [token] else None

    def closure(self, tokens: Iterable[int]) -> list[int]:
        """The merges, ascending, with which all texts of these tokens are encoded as with all merges.

        For a token of text that its characters do not lead to (bytes that merge), all that give it or its parts;
        where whole words are tokens without merges (`ignore_merges`), none.
        """
        makers: dict[int, list[int]] = {}
        kept: set[int] = set()
        waiting, seen = list(tokens), set()
        while waiting:
            if (token := waiting.pop()) in seen:
                continue
            seen.add(token)
            rows = self.of(token)
            if rows is None and not self.whole_words:
                if not makers:
                    for rank, (_, _, new) in enumerate(self.merges):
                        makers.setdefault(new, []).append(rank)
                rows = makers.get(token, [])
                waiting += [part for row in rows for part in self.merges[row][:2]]
            kept.update(rows or ())
        return sorted(kept)

    def unreachable(self) -> list[int]:
        """The tokens that no text is encoded as, by id; none are known where whole words are taken as tokens."""
        if self.whole_words:
            return []
        return [
            number for number in range(len(self.tokens)) if number not in self._apart and self.of(number) is None
        ]
