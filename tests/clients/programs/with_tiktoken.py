"""tiktoken: ids and decoding of `vocap export --format tiktoken`."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

os.environ["TIKTOKEN_CACHE_DIR"] = ""
import tiktoken
from tiktoken.load import load_tiktoken_bpe

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
results = {}
for name, files in request["tokenizers"].items():
    try:
        folder = files["tiktoken"]
        settings = json.loads(Path(folder, "encoding.json").read_text("utf-8"))
        ranks = load_tiktoken_bpe(f"{folder}/ranks.tiktoken")
        encoding = tiktoken.Encoding(**settings, mergeable_ranks=ranks)
        ids = [encoding.encode_ordinary(line) for line in request["lines"]]
        results[name] = {"ids": ids, "decoded": [encoding.decode(row) for row in ids]}
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}
answer = {"version": version("tiktoken"), "results": results}
Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
