"""transformers: ids, decoding, special tokens, chat template, and the same after
`save_pretrained`.
"""

import tempfile

import transformers
from answering import answer

CHAT = [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}]


def read_folder(folder, lines):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer.encode(line, add_special_tokens=False) for line in lines]
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


def read(files, lines):
    tokenizer, result = read_folder(files["huggingface"], lines)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        again = read_folder(folder, lines)[1]
    result["facts"]["saved"] = "equal" if again == result else "differs"
    return result


answer(read, transformers.__version__)
