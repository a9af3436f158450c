"""Sentences to blocks: `<s>`, then whole sentences each ended by `</s>` (`infoxlm/tools/txt2bin.py`)."""

from collections.abc import Sequence

BOS, PAD, EOS, UNK = 0, 1, 2, 3  # ids of every tokenizer's layout; <mask> is the last, T - 1
SHORTEST = 8  # ids of a block: <s>, </s> and a few to learn from

Block = tuple[list[int], int]  # ids, and the UTF-8 bytes of their text


class Packer:
    """Fills blocks of at most `length` ids with sentences in their order; no sentence is cut that fits in a block.

    A longer one is cut into blocks of its own, each opened by `<s>` and ended by `</s>`, and its bytes are shared
    out in proportion to the ids. `open` is the block that is being filled.

    >>> packer = Packer(8)
    >>> packer.add([[10, 11, 12], [13, 14], [15]], [6, 4, 2])
    [([0, 10, 11, 12, 2, 13, 14, 2], 10)]
    >>> packer.close()
    [([0, 15, 2], 2)]
    """

    def __init__(self, length: int, open_block: Block | None = None) -> None:
        if length < SHORTEST:
            raise ValueError(f"blocks of {length} ids are too short; give at least {SHORTEST}")
        self.length = length
        self.cut = 0  # sentences longer than a block
        self.open: Block = open_block or ([BOS], 0)

    def add(self, sentences: Sequence[list[int]], sizes: Sequence[int]) -> list[Block]:
        """The blocks that these sentences (ids and bytes of each) close; sentences without ids are passed over."""
        closed = []
        ids, size = self.open
        for sentence, count in zip(sentences, sizes, strict=True):
            if not sentence:
                continue
            if len(ids) + len(sentence) + 1 > self.length:
                if len(ids) > 1:
                    closed.append((ids, size))
                    ids, size = [BOS], 0
                if len(sentence) + 2 > self.length:
                    parts = self._cut(sentence, count)
                    closed += parts[:-1]
                    ids, size = parts[-1]
                    continue
            ids += sentence
            ids.append(EOS)
            size += count
        self.open = ids, size
        return closed

    def _cut(self, sentence: list[int], count: int) -> list[Block]:
        self.cut += 1
        room = self.length - 2
        parts, before = [], 0
        for start in range(0, len(sentence), room):
            part = sentence[start : start + room]
            until = count * (start + len(part)) // len(sentence)
            parts.append(([BOS, *part, EOS], until - before))
            before = until
        return parts

    def close(self) -> list[Block]:
        """The last block, if there is anything in it."""
        last, self.open = self.open, ([BOS], 0)
        return [last] if len(last[0]) > 1 else []
