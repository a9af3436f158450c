"""GPU coefficients of `vocap plan` from the stages before, and its forecast beside the
trainings measured.
"""

from collections.abc import Mapping
from pathlib import Path

from plan_costs import as_yaml

from vocap.files.io import write_text
from vocap.forecast.costs import read_costs, weighted_sum
from vocap.forecast.jobs import PFLOP, training_features
from vocap.pretraining.settings import Recipe, encoder_operations

from .sizes import Sizes
from .step import shape_of
from .table import Table

RULE = "pretrain"
NOT_TRAINING = ("gpu", "gpu_validation_pflop")  # features of the start and of validation


def run(table: Table, sizes: Sizes, steps: Table, learning: Table, output: Path) -> None:
    """Rows of coefficients and of forecasts, and the whole table of costs, for
    `vocap plan --costs`.
    """
    found = coefficients(steps, sizes)
    costs = read_costs()
    own = costs["rules"][RULE]["gpu_s"]
    for feature, value in found.items():
        table.measure(
            lambda feature=feature, value=value: {"predicted": own.get(feature), "measured": value},
            feature=feature,
        )
    refitted = {**own, **found}
    for row in learning.measured():
        key = {"loss": row["loss"], "seed": row["seed"]}
        table.measure(lambda row=row: forecast(row, own, refitted), **key)
    if found:
        costs["rules"][RULE]["gpu_s"] = refitted
        costs["rules"][RULE]["cpu_s"] |= found  # a core waits for the GPU
        write_text(output, as_yaml(costs))


def coefficients(steps: Table, sizes: Sizes) -> dict[str, float]:
    """Seconds of a GPU for each 10^15 operations, or 10^9 parameters updated; those
    that the rows can give.

    Of the first model: the encoder beside the free head, the head by the default exact
    kernel.
    """
    vocabulary, width = sizes.models[0]
    rows = {row["head"]: row for row in steps.measured(V=vocabulary, d=width)}
    free, exact = rows.get("free"), rows.get(f"full, chunk {sizes.chunks[0]}")
    refresh, validation = rows.get("refresh of the index"), rows.get("exact loss")
    found = {}
    if free:
        encoder = encoder_operations(shape_of(sizes, width), sizes.length) * free["tokens"] / PFLOP
        found["gpu_encoder_pflop"] = free["encoder_ms"] / 1000 / encoder
        found["gpu_updated_gparameters"] = free["optimizer_ms"] / 1000 / (free["parameters"] / 1e9)
    if exact:
        found["gpu_head_pflop"] = (
            exact["head_ms"] / 1000 / (6 * exact["N"] * width * vocabulary / PFLOP)
        )
    if validation:
        found["gpu_validation_pflop"] = (
            validation["ms"] / 1000 / (2 * validation["N"] * width * vocabulary / PFLOP)
        )
    if refresh:
        found["gpu_index_pflop"] = refresh["seconds"] / (2 * vocabulary**2 * width / PFLOP)
    return found


def forecast(
    row: Mapping, own: Mapping[str, float], refitted: Mapping[str, float]
) -> dict[str, float]:
    """Seconds of a training without its start and its validation: forecast before, by
    these rows, and measured.
    """
    features = training_features(
        Recipe(**row["recipe"]), row["V"], row["length"], row["languages"], True
    )
    kept = {name: value for name, value in features.items() if name not in NOT_TRAINING}
    return {
        "measured_s": row["seconds"],
        "forecast_s": weighted_sum(own, kept),
        "refitted_s": weighted_sum(refitted, kept),
    }
