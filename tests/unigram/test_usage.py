"""The table of lines against SentencePiece asked line by line."""

import math
from collections import Counter

import pytest
from sentencepiece import SentencePieceProcessor

from tests.tokenizers.scripts import make_lines, model
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram.usage import COUNTED, Segments


def test_each_line_has_the_counts_of_its_definition():
    processor = SentencePieceProcessor(model_proto=model().SerializeToString())
    lines = [*make_lines(50, seed=3), "", "a \U00012000", "\U00012000\U00012001 b"]
    lost = ["".join(one for one in line if one >= "\U00012000") for line in lines]
    wanted, counts = [], Counter()
    for line, unknown in zip(lines, lost, strict=True):
        ids = processor.encode(line)
        counts.update(ids)
        some = len(ids), ids.count(processor.unk_id()), len(unknown.encode())
        paid = len(ids) - some[1] + some[2]
        wanted.append((len(line.encode()), len(line), *some, 0, paid))
    found = Segments(SentencePieceEncoder(processor))
    assert found.add(lines[:20]) + found.add(lines[20:]) == processor.encode(lines)
    table = found.table[list(COUNTED)].tolist()
    known = [row for row, unknown in zip(wanted, lost, strict=True) if not unknown and not row[3]]
    assert known == [row for row in table if not row[3]] and table[-2:] == wanted[-2:]
    assert "".join(found.unknown).endswith("\U00012000\U00012001")
    assert found.counts.tolist() == [counts[number] for number in range(len(processor))]
    sums = found.sums
    assert [sums[name] for name in COUNTED] == [sum(column) for column in zip(*table, strict=True)]
    shares = [count / sums["tokens"] for count in counts.values()]
    nats = sum(share * math.log(share) for share in shares) * sums["tokens"]
    assert sums["nats"] == pytest.approx(nats, rel=1e-12) and sums["lines"] == len(lines)
