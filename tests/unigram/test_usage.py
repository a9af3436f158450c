"""The table of lines against SentencePiece asked line by line."""

from collections import Counter

from sentencepiece import SentencePieceProcessor

from tests.tokenizers.scripts import make_lines, model
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram.usage import LINE, Segments


def test_each_line_has_the_counts_of_its_definition():
    processor = SentencePieceProcessor(model_proto=model().SerializeToString())
    lines = [*make_lines(50, seed=3), "", "a \U00012000", "\U00012000\U00012001 b"]
    lost = ["".join(one for one in line if one >= "\U00012000") for line in lines]
    wanted, counts = [], Counter()
    for line, unknown in zip(lines, lost, strict=True):
        ids = processor.encode(line)
        counts.update(ids)
        some = len(ids), ids.count(processor.unk_id()), len(unknown.encode())
        wanted.append((len(line.encode()), len(line), *some, 0))
    found = Segments.of(SentencePieceEncoder(processor))
    assert found.add(lines[:20]) + found.add(lines[20:]) == processor.encode(lines)
    known = [row for row, unknown in zip(wanted, lost, strict=True) if not unknown and not row[3]]
    assert known == [tuple(row) for row in found.table.tolist() if not row[3]]
    assert [tuple(row) for row in found.table.tolist()[-2:]] == wanted[-2:]
    assert found.lines == len(lines) and "".join(found.unknown).endswith("\U00012000\U00012001")
    assert found.counts.tolist() == [counts[number] for number in range(len(processor))]
    assert [found.total(name) for name in LINE.names] == found.table.view((int, 6)).sum(0).tolist()
