"""What the programs in Python have in common: the request that they read, the answer that
they write.
"""

import json
import sys
from pathlib import Path


def answer(read, version):
    """Call `read` with the files of each tokenizer and the lines; an error is the answer
    for that tokenizer.
    """
    request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    results = {}
    for name, files in request["tokenizers"].items():
        try:
            results[name] = read(files, request["lines"])
        except Exception as error:
            results[name] = {"error": f"{type(error).__name__}: {error}"}
    content = {"version": version, "results": results}
    Path(sys.argv[2]).write_text(json.dumps(content), "utf-8")
