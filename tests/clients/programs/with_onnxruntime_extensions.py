"""onnxruntime-extensions: ids."""

import json
import sys
from pathlib import Path

import onnxruntime_extensions
from onnxruntime_extensions.pp_api import Tokenizer

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
results = {}
for name, files in request["tokenizers"].items():
    try:
        tokenizer = Tokenizer(files["huggingface"])
        # it puts the special tokens around each text
        around = len(tokenizer.tokenize("")) // 2
        ids = []
        for line in request["lines"]:
            try:
                row = tokenizer.tokenize(line)
                ids.append(row[around : len(row) - around])
            except Exception as error:
                ids.append([str(error)])
        results[name] = {"ids": ids}
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}
answer = {"version": onnxruntime_extensions.__version__, "results": results}
Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
