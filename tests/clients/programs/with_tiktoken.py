"""tiktoken: ids and decoding of `vocap export --format tiktoken`."""

import json
import os
from importlib.metadata import version
from pathlib import Path

from answering import answer

os.environ["TIKTOKEN_CACHE_DIR"] = ""
import tiktoken
from tiktoken.load import load_tiktoken_bpe


def read(files, lines):
    folder = files["tiktoken"]
    settings = json.loads(Path(folder, "encoding.json").read_text("utf-8"))
    ranks = load_tiktoken_bpe(f"{folder}/ranks.tiktoken")
    encoding = tiktoken.Encoding(**settings, mergeable_ranks=ranks)
    ids = [encoding.encode_ordinary(line) for line in lines]
    return {"ids": ids, "decoded": [encoding.decode(row) for row in ids]}


answer(read, version("tiktoken"))
