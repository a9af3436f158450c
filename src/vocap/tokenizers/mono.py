"""MONO: one language's unigram model, laid out as a tokenizer."""

from pathlib import Path

from vocap.errors import VocapError
from vocap.tables.ladder import known_characters
from vocap.tokenizer_files.id_layout import IdLayout
from vocap.tokenizer_files.layout import relayout
from vocap.tokenizer_files.model_file import read_model
from vocap.tokenizers.trained import TrainedUnigram, as_trained


def lay_out_mono(model: str | Path, language: str, layout: IdLayout) -> TrainedUnigram:
    """The tokenizer of a SentencePiece unigram model of one language, in XLM-R's layout
    two ids larger. Raises VocapError for a model that is not there, or of another type.
    """
    layout.check_unknown()
    model = Path(model)
    if not model.exists():
        raise VocapError(
            f"{model}: no such model file; curve.tsv beside its folder says which sizes are ok"
        )
    proto = read_model(model)
    _, lines = known_characters(model.parent.parent)
    settings = {"language": language, "size": len(proto.pieces)}
    laid_out = relayout(proto, str(model), layout)
    owners = {entry.piece: [language] for entry in laid_out.pieces}
    return as_trained("mono", laid_out, settings, owners, text={"lines": lines} if lines else {})
