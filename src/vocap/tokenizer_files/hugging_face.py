"""The folder of a tokenizer that `AutoTokenizer` loads: tokenizer.json, its configuration, golden hashes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer, processors

from vocap.errors import VocapError
from vocap.files.atomic import replacing_directory
from vocap.files.json_object import read_object
from vocap.tokenizer_files import CARD, EXPORTED, golden
from vocap.tokenizer_files.encoders import HuggingFaceEncoder
from vocap.tokenizer_files.id_layout import MASK, NAMED, IdLayout

ROLES = {  # of transformers, and the role of the layout that gives each
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unk",
    "sep_token": "eos",
    "pad_token": "pad",
    "cls_token": "bos",
    "mask_token": "mask",
}


def template(layout: IdLayout, ids: Mapping[str, int]) -> processors.TemplateProcessing:
    """The special tokens around one text and around two, which an end token separates twice, as in XLM-R."""
    first, last = ([side] if side else [] for side in layout.around)
    between = [*last, *last] if first and last else [*last, *first]
    return processors.TemplateProcessing(
        single=[*first, "$A", *last],
        pair=[*first, "$A", *between, "$B", *last],
        special_tokens=[(token, ids[token]) for token in dict.fromkeys([*first, *last])],
    )


def write_folder(
    output: str | Path,
    tokenizer: Tokenizer,
    tokens: Mapping[str, str],
    max_length: int,
    pieces: Sequence[str],
    forms: Mapping[str, golden.Encode] | None = None,
) -> None:
    """Write the files `EXPORTED` as the folder `output`, in the place of an older one and its card.

    `tokens`: the token of each role that there is, the mask among them; `pieces` by id; `forms`: other forms of
    the tokenizer for the golden hashes, as functions from texts to ids. Raises UsageError where `output` holds
    anything else.
    """
    definition, config, special_tokens, hashes = EXPORTED
    named = {name: tokens[role] for name, role in ROLES.items() if role in tokens}
    encoder = HuggingFaceEncoder(Tokenizer.from_str(tokenizer.to_str()), None)
    content = golden.golden(pieces, {**(forms or {}), "tokenizers": encoder.encode_batch})
    with replacing_directory(output, owned=(*EXPORTED, CARD)) as folder:
        tokenizer.save(str(folder / definition), pretty=False)
        write_json(folder / config, configuration(tokenizer, named, max_length))
        mask = {"content": MASK, "single_word": False, "lstrip": True, "rstrip": False, "normalized": False}
        roles = {name: mask if token == MASK else token for name, token in named.items()}
        write_json(folder / special_tokens, roles)
        write_json(folder / hashes, content)


def configuration(tokenizer: Tokenizer, named: Mapping[str, str], max_length: int) -> dict:
    """The content of tokenizer_config.json; `named`: the special tokens by the keys of `ROLES`."""
    added = {
        str(number): {
            "content": token.content,
            "lstrip": token.lstrip,
            "normalized": token.normalized,
            "rstrip": token.rstrip,
            "single_word": token.single_word,
            "special": token.special,
        }
        for number, token in sorted(tokenizer.get_added_tokens_decoder().items())
    }
    further = [
        token["content"] for token in added.values() if token["special"] and token["content"] not in named.values()
    ]
    return {
        "added_tokens_decoder": added,
        **named,
        **({"extra_special_tokens": further} if further else {}),
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": max_length,
        # any XLMRoberta class would throw this pipeline away and build its own
        "tokenizer_class": "PreTrainedTokenizerFast",
    }


def write_json(path: Path, content: Mapping) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def roles_of(definition: Path, ids: Mapping[str, int]) -> dict[str, str]:
    """The special token of each role of a tokenizer.json with these ids: only those that are there.

    From the tokenizer_config.json beside it; without one, tokens whose names say it. Raises VocapError for a
    configuration that is no JSON object, or names a token that has no id.
    """
    beside = definition.with_name(EXPORTED[1])
    if not beside.is_file():
        return {role: token for token, role in {**NAMED, MASK: "mask"}.items() if token in ids}
    content, found = read_object(beside), {}
    for name, role in ROLES.items():
        token = content.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        if token is None or role in found:
            continue
        if token not in ids:
            raise VocapError(f"{beside}: {name} is {token!r}, which has no id in {definition.name}; correct it")
        found[role] = token
    return found
