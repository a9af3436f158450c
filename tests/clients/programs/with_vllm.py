"""vLLM: the ids by the function with which it loads a tokenizer; no model runs."""

import json
import sys
from pathlib import Path

import vllm
from vllm.tokenizers import get_tokenizer

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
results = {}
for name, files in request["tokenizers"].items():
    try:
        tokenizer = get_tokenizer(files["huggingface"])
        ids = [tokenizer.encode(line, add_special_tokens=False) for line in request["lines"]]
        decoded = [tokenizer.decode(row, skip_special_tokens=False) for row in ids]
        results[name] = {"ids": ids, "decoded": decoded}
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}
answer = {"version": vllm.__version__, "results": results}
Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
