"""A trained model with its tokenizer, as a folder that Hugging Face's Auto classes load."""

import os
import shutil
from pathlib import Path

from vocap.errors import VocapError
from vocap.files import replacing_directory
from vocap.pretraining.model import MaskedLanguageModel
from vocap.vocabularies.guarded_tokenizer import GuardedTokenizer

TOKENIZER = "tokenizer.json"


def export_model(model: MaskedLanguageModel, tokenizer: Path, output: Path) -> None:
    """Write config.json, model.safetensors and the files of the folder `tokenizer` to the folder `output`.

    `AutoModelForMaskedLM` gives the same logits as `model`. Whole or not at all; an older `output` is replaced.
    Raises VocapError where the tokenizer is missing or has another number of ids than the model has rows.
    """
    if not (tokenizer / TOKENIZER).is_file():
        raise VocapError(f"{tokenizer}: no {TOKENIZER} there; name the huggingface/ folder of the tokenizer")
    ids = len(GuardedTokenizer("json", tokenizer / TOKENIZER).get_vocab())
    rows = model.decoder_weight.shape[0]
    if ids != rows:
        raise VocapError(f"{tokenizer}: a tokenizer of {ids} ids for a model of {rows} rows; export with its own")
    with replacing_directory(output) as directory:
        model.transformer.save_pretrained(directory)
        for file in sorted(tokenizer.iterdir()):
            if file.is_file():
                shutil.copyfile(file, directory / file.name)
        mask = os.umask(0)
        os.umask(mask)
        for file in directory.iterdir():
            file.chmod(0o666 & ~mask)  # safetensors writes files that only their owner may read
