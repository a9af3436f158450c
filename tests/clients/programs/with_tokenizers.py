"""tokenizers, Hugging Face's library in Rust: ids and decoding."""

import tokenizers
from answering import answer


def read(files, lines):
    tokenizer = tokenizers.Tokenizer.from_file(f"{files['huggingface']}/tokenizer.json")
    ids = [row.ids for row in tokenizer.encode_batch(lines, add_special_tokens=False)]
    decoded = [tokenizer.decode(row, skip_special_tokens=False) for row in ids]
    return {"ids": ids, "decoded": decoded}


answer(read, tokenizers.__version__)
