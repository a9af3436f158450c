"""onnxruntime-extensions: ids."""

import onnxruntime_extensions
from answering import answer
from onnxruntime_extensions.pp_api import Tokenizer


def read(files, lines):
    tokenizer = Tokenizer(files["huggingface"])
    # it puts the special tokens around each text
    around = len(tokenizer.tokenize("")) // 2
    ids = []
    for line in lines:
        try:
            row = tokenizer.tokenize(line)
            ids.append(row[around : len(row) - around])
        except Exception as error:
            ids.append([str(error)])
    return {"ids": ids}


answer(read, onnxruntime_extensions.__version__)
