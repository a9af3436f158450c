"""Files and folders of tokenizers, and names of the trainings that several of them share."""

import hashlib
import json

from vocap.config import Settings
from vocap.tokenizers.settings import BytePair, Joint

FILES = ("sentencepiece.model", "pieces.tsv", "description.json")  # of a unigram tokenizer's folder
FORMS = {  # of `export`: files in a tokenizer's folder
    "tiktoken": ("tiktoken/ranks.tiktoken", "tiktoken/encoding.json"),
    "gguf": ("{name}.gguf",),
}
BYTE_PAIR_FILES = (BytePair.file, "tokenizer_config.json", *FILES[1:])


def tokenizer_folder(settings: Settings, name: str) -> str:
    """The folder of a tokenizer in the layout that models are trained with."""
    stage = "tokenizers" if settings.tokenizers[name].made else "pretraining/tokenizers"
    return f"{settings.results}/{stage}/{name}"


def descent_name(entry: Joint, *further: object) -> str:
    """A name that all entries share which one descent gives: alpha, and a hash of the
    other settings but T.

    `further`: settings outside of the entry that decide its content.
    """
    own = (
        entry.byte_fallback or False,
        entry.user_defined_symbols or [],
        *filter(None, [entry.per]),
    )
    return f"{entry.alpha}-{_hash(*own, *further)}"


def training_name(entry: BytePair, *further: object) -> str:
    """A name that all entries share which one training of byte-pair encoding gives.

    It is their kind, and a hash of the other settings but T and forms of export.
    """
    own = entry.model_dump(exclude={"total", "export"}, exclude_none=True)
    return f"{entry.kind}-{_hash(own, *further)}"


def _hash(*settings: object) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
