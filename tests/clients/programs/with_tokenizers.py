"""tokenizers, Hugging Face's library in Rust: ids and decoding."""

import json
import sys
from pathlib import Path

import tokenizers

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
results = {}
for name, files in request["tokenizers"].items():
    try:
        tokenizer = tokenizers.Tokenizer.from_file(f"{files['huggingface']}/tokenizer.json")
        rows = tokenizer.encode_batch(request["lines"], add_special_tokens=False)
        ids = [row.ids for row in rows]
        decoded = [tokenizer.decode(row, skip_special_tokens=False) for row in ids]
        results[name] = {"ids": ids, "decoded": decoded}
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}
answer = {"version": tokenizers.__version__, "results": results}
Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
