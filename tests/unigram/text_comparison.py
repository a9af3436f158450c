"""Models of the ladder and of `vocap train` against SentencePiece itself, under any text settings."""

import sentencepiece

from benchmarks.fuzzing.text_settings import reference
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram import sentencepiece_trainer
from vocap.unigram.alp import average_log_probability, count_tokens
from vocap.unigram.ladder import train_sizes
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.word_types import load_word_types


def assert_same(
    lines: list[str], keys: dict, sizes: list[int] = (), heldout: list[str] = (), coverage: float = 0.9995
) -> int:
    """Compare `sizes`, or some from below the least to above the largest; returns how many have a model."""
    settings, heldout = TextSettings(**keys), list(heldout)
    texts = {"train": lambda: [lines], "heldout": lambda: [heldout]}
    words = load_word_types(texts, coverage=coverage, settings=settings)
    if not sizes:
        ends = {rung.point.size: rung for rung in train_sizes(words, [1, 1_000_000], coverage)}
        least, most = ends[1].least or 1, ends[1_000_000].most or 9
        between = {round(least * (most / least) ** (step / 4)) for step in range(5)}
        sizes = sorted({max(1, least - 1), most + 1, *between})
    rungs = {rung.point.size: rung for rung in train_sizes(words, sizes, coverage)}
    models = 0
    for size in sizes:
        rung = rungs[size]
        try:
            trained = sentencepiece_trainer.train(lines, size, coverage, settings=settings)
        except sentencepiece_trainer.Unreachable as unreachable:
            assert (rung.model, rung.point.status) == (None, unreachable.reason), size
            if unreachable.reason.startswith("too"):
                assert isinstance(reference(lines, size, keys, coverage), str), size
            continue
        expected = reference(lines, size, keys, coverage)
        assert trained == expected, size
        assert rung.model == expected, size
        models += 1
        encoder = SentencePieceEncoder(sentencepiece.SentencePieceProcessor(model_proto=expected))
        for texts, alp in ((lines, rung.point.alp), (heldout, rung.point.alp_heldout)):
            counts, sentences = count_tokens(encoder.encode_batch, encoder.size, [texts])
            assert alp == (average_log_probability(counts, sentences) if sentences else None), size
            if texts is lines:
                assert rung.point.tokens_per_sentence == int(counts.sum()) / sentences
        assert rung.point.pieces == size
    return models
