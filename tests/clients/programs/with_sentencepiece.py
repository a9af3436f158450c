"""SentencePiece: ids and decoding."""

import json
import sys
from pathlib import Path

import sentencepiece

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
results = {}
for name, files in request["tokenizers"].items():
    try:
        model = sentencepiece.SentencePieceProcessor(model_file=files["sentencepiece"])
        ids = [model.encode(line) for line in request["lines"]]
        results[name] = {"ids": ids, "decoded": [model.decode(row) for row in ids]}
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}
answer = {"version": sentencepiece.__version__, "results": results}
Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
