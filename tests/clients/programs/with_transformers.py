"""transformers: ids, decoding, special tokens, chat template, and the same after
`save_pretrained`.
"""

import json
import sys
import tempfile
from pathlib import Path

import transformers

request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
CHAT = [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}]


def read(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer.encode(line, add_special_tokens=False) for line in request["lines"]]
    facts = {
        "around": tokenizer("a")["input_ids"],
        "pair": tokenizer("a", "b")["input_ids"],
        "roles": {
            role: getattr(tokenizer, f"{role}_token_id")
            for role in ("bos", "eos", "unk", "pad", "mask", "cls", "sep")
        },
        "special": sorted(set(tokenizer.all_special_ids)),
        "longest": tokenizer.model_max_length,
        "sides": [tokenizer.padding_side, tokenizer.truncation_side],
        "chat": tokenizer.apply_chat_template(CHAT, tokenize=False)
        if tokenizer.chat_template
        else None,
    }
    decoded = [
        tokenizer.decode(row, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        for row in ids
    ]
    return tokenizer, {"ids": ids, "decoded": decoded, "facts": facts}


results = {}
for name, files in request["tokenizers"].items():
    try:
        tokenizer, result = read(files["huggingface"])
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder)
            again = read(folder)[1]
        result["facts"]["saved"] = "equal" if again == result else "differs"
        results[name] = result
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}
answer = {"version": transformers.__version__, "results": results}
Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
