"""vLLM: the ids by the function with which it loads a tokenizer; no model runs."""

import vllm
from answering import answer
from vllm.tokenizers import get_tokenizer


def read(files, lines):
    tokenizer = get_tokenizer(files["huggingface"])
    ids = [tokenizer.encode(line, add_special_tokens=False) for line in lines]
    decoded = [tokenizer.decode(row, skip_special_tokens=False) for row in ids]
    return {"ids": ids, "decoded": decoded}


answer(read, vllm.__version__)
