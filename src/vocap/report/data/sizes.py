"""The curves over T of the run's tokenizers, and the costs of some models on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from vocap.pretraining.settings import Shape
from vocap.report.data import find
from vocap.report.data.results import Results
from vocap.size.forecast import Forecast, ModelCosts, forecast
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.tables.size_table import Sizes, read_sizes

NAME = "sizes.tsv"
# of common models, in the forms of ModelCosts; the run's own come before them
MODELS = {
    "XLM-R base": ModelCosts(Shape()),
    "XLM-R large": ModelCosts(Shape(layers=24, hidden=1024, heads=16, intermediate=4096)),
    "GPT-2 small": ModelCosts(Shape(positions=1024), causal=True),
    "causal, 32 layers of 4096": ModelCosts(
        Shape(layers=32, hidden=4096, heads=32, intermediate=16384, positions=4096), causal=True, untied=True
    ),
}


@dataclass(frozen=True)
class SizeCurve:
    """The points of one descent: the tokenizers taken from it, and a forecast by model for each T."""

    tokenizers: list[str]
    sizes: Sizes
    weighted: bool  # costs are of the mix that the run trains on; else of the mean of the languages
    forecasts: dict[str, list[Forecast]]


def load_sizes(folder: Path, names: Sequence[str], shown: Mapping[str, object]) -> dict[str, Sizes]:
    """The tables in the folders of these tokenizers, of the languages `shown`."""
    found = {}
    for name in names:
        path = folder / "tokenizers" / name / NAME
        if path.exists():
            sizes = read_sizes(path)
            found[name] = {
                total: {code: row for code, row in rows.items() if code in shown} for total, rows in sizes.items()
            }
    return {name: sizes for name, sizes in found.items() if all(sizes.values())}


def size_curves(results: Results) -> list[SizeCurve]:
    """One for each different table, in the order of the configuration."""
    shared: list[tuple[list[str], Sizes]] = []
    for name in results.configured("tokenizers", results.sizes):
        same = [names for names, known in shared if known == results.sizes[name]]
        if same:
            same[0].append(name)
        else:
            shared.append(([name], results.sizes[name]))
    models = {**_own_models(results), **MODELS}
    curves = []
    for names, sizes in shared:
        shares = _shares(results, names[0], list(next(iter(sizes.values()))))
        rows = {model: forecast(sizes, costs, shares) for model, costs in models.items()}
        curves.append(SizeCurve(names, sizes, shares is not None, rows))
    return curves


def _own_models(results: Results) -> dict[str, ModelCosts]:
    """The shapes that the configuration trains; positions beyond its blocks are not filled."""
    own = {}
    for model in results.section("pretraining", "models").values():
        try:
            shape = Shape.model_validate(find(model, "shape"))
        except (ValidationError, TypeError):
            continue
        if shape.width == shape.hidden:
            own[f"this run’s, {shape.layers} layers of {shape.hidden}"] = ModelCosts(shape)
    return own


def _shares(results: Results, tokenizer: str, languages: Sequence[str]) -> dict[str, float] | None:
    """q of the text that the tokenizer is trained on; None where the weights lack a language."""
    n = [float(results.weights.get(code, {}).get("n") or 0) for code in languages]
    alpha = find(results.tokenizers[tokenizer].description, "text", "alpha")
    if not all(n) or not isinstance(alpha, float | int):
        return None
    return dict(zip(languages, sampling_probabilities(n, alpha).tolist(), strict=True))
