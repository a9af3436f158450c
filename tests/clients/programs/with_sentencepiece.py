"""SentencePiece: ids and decoding."""

import sentencepiece
from answering import answer


def read(files, lines):
    model = sentencepiece.SentencePieceProcessor(model_file=files["sentencepiece"])
    ids = [model.encode(line) for line in lines]
    return {"ids": ids, "decoded": [model.decode(row) for row in ids]}


answer(read, sentencepiece.__version__)
