"""Operations of a training against torch's own count and the paper's numbers; the table
of needs, and the costs of jobs by hand.
"""

import pytest

from tests.cases import read_cases
from vocap.config import Settings
from vocap.forecast.jobs import FINETUNING, PlannedJob, Workload, candidate_words, operations
from vocap.forecast.needs import Need, Needs, read_needs
from vocap.forecast.run import _costs, disk_mb, sum_costs, workload
from vocap.languages import default_table
from vocap.pretraining.loss_kinds import Full, Knn
from vocap.pretraining.settings import ModelSettings, Shape, encoder_operations

torch = pytest.importorskip("torch")

CASES = read_cases(__file__)
SMALL = Shape(layers=2, hidden=64, heads=4, intermediate=256, positions=32)


def model(**changes):
    return ModelSettings(
        tokenizer="t",
        **{"shape": SMALL, "steps": 10, "batch": 4, "micro_batch": 2, "warmup": 1, **changes},
    )


def test_operations_of_a_causal_model_are_those_that_torch_counts():
    """Every token predicted, grouped attention, SwiGLU."""
    from torch.utils.flop_counter import FlopCounterMode

    from vocap.pretraining.model import build_language_model

    shape = SMALL.model_copy(update={"kv_heads": 2})
    network = build_language_model(shape, 500, causal=True)
    with FlopCounterMode(display=False) as counter:
        hidden = network(torch.randint(4, 499, (2, 32)), None, torch.arange(64))
        (hidden @ network.decoder_weight.T).sum().backward()
    recipe = model(loss=Full(), shape=shape, objective="causal", steps=1, batch=2, warmup=0)
    assert operations(recipe, 500, 32) == pytest.approx(counter.get_total_flops(), rel=0.1)


def test_a_training_is_its_layers_its_output_layer_and_its_index():
    layers = 10 * 4 * 32 * encoder_operations(SMALL, 32)
    whole = operations(model(loss=Full()), 1000, 32)
    assert whole == pytest.approx(layers + 10 * 4 * 32 * 0.15 * 6 * 1000 * 64)
    recipe = model(loss=Knn(k=2, every=4))
    head = 10 * 4 * 32 * 0.15 * 6 * candidate_words(recipe, 1000, 32) * 64
    assert operations(recipe, 1000, 32) == pytest.approx(layers + head + 3 * 2 * 1000**2 * 64)
    # a finish is so much of the full softmax
    words = {
        name: candidate_words(model(steps=100, loss=loss), 5000, 32)
        for name, loss in {"knn": Knn(k=2), "both": Knn(k=2, finish=0.3)}.items()
    }
    assert words["both"] == pytest.approx(0.3 * 5000 + 0.7 * words["knn"])


@pytest.mark.parametrize(("k", "words"), CASES["candidates"])
def test_candidates_are_near_the_papers_table(k, words):
    recipe = ModelSettings(tokenizer="t", loss=Knn(k=k))
    assert candidate_words(recipe, 500_000, 512) == pytest.approx(words, rel=0.15)


def run_of(name: str, **sections) -> Workload:
    """A run with the sections of that name in the file of cases."""
    corpora = {"sources": {"starter": {"starter": True}}, "table": str(default_table())}
    config = CASES["every run"] | CASES[name] | {"corpora": corpora}
    for section, entries in sections.items():
        config[section] = config.get(section, {}) | entries
    return workload(Settings.model_validate(config))


def test_fp16_takes_the_memory_of_bf16():
    """Half of the activations, 34 bytes a token, layer and unit (Korthikanti et al.
    2022), and of logits.
    """
    names = ("auto", "fp32", "bf16", "fp16")
    models = {name: model(loss=Full(), precision=name).model_dump() for name in names}
    found = run_of("one joint", pretraining={"block": 32, "models": models})
    held = {name: found.gpu_memory_mb(PlannedJob("pretrain", "", {"name": name})) for name in names}
    assert held["auto"] == held["bf16"] == held["fp16"]
    tokens, masked = 2 * 32, int(0.15 * 2 * 32) + 2
    activations, logits = 34 * tokens * 2 * 64, masked * 1000 * 2 * 2
    # of W and its gradient, which products in 16 bits need beside the float32 ones
    copied = 1000 * 64 * (2 + 4)
    assert (held["fp32"] - held["fp16"]) * 1e6 == pytest.approx(activations + logits - copied)


def test_a_cell_is_a_number_and_a_factor_of_an_amount():
    assert Need.parse("0.5").of(lambda name: 1 / 0) == 0.5
    assert Need.parse("330 + 13 text").of({"text": 10.0}.__getitem__) == 460


def test_a_limit_bounds_the_memory_of_trainings_that_keep_to_it():
    cells = "1", "600 + 8 text", "0", "600 + 2 text"
    gigabyte = {"text": 1000.0}.__getitem__
    asked = [Needs(*map(Need.parse, cells)).memory(limit, gigabyte) for limit in (1, 3000, 9000)]
    assert asked == [2600, 3000, 8600]
    table = read_needs()
    assert table["joint_descent"].memory(2000, gigabyte) < table["joint_descent"].memory(
        None, gigabyte
    )
    assert table["fit"].memory(1, lambda name: 0.1) == table["fit"].memory_mb.fixed + 170


def test_each_amount_of_the_table_has_its_meaning():
    found = run_of("all amounts")
    de, en = found.texts.values()
    whole = sum(text.lines * text.line_bytes for text in (de, en)) / 1e6

    def amount(name, rule, /, **wildcards):
        return found.amount(PlannedJob(rule, "", wildcards), name)

    assert amount("text", "joint_descent") == pytest.approx(whole)
    assert amount("text", "ladder_starter") == pytest.approx(whole)
    assert amount("text", "ladder", lang="de") == pytest.approx(de.lines * de.line_bytes / 1e6)
    assert amount("kept", "sample_starter") == pytest.approx(whole)
    assert amount("sentences", "sample", lang="de") == 1
    assert amount("pieces", "ladder", lang="de") == 0.003
    ids = {rule: amount("ids", rule, name="v") for rule in ("allocate", "fit", "export")}
    assert set(ids.values()) == {0.003}
    assert amount("ids", "studied_tokenizer", lang="de", size="1000") == 0.001002
    parameters = amount("parameters", "pretrain", name="m")
    assert parameters == pytest.approx(85.7 + 768 * 0.004, rel=0.01)  # XLM-R base without words
    assert amount("exported", "pretrain", name="m") == pytest.approx(3 * parameters)
    used = {
        need.amount for row in read_needs().values() for need in vars(row).values() if need.amount
    }
    assert used == {"text", "kept", "sentences", "pieces", "ids", "parameters", "exported"}


def test_trainings_that_differ_in_more_than_t_are_jobs_of_their_own_t():
    """Each tokenizer takes its own T from a training, whatever else shares its alpha."""
    found = run_of("two joints")
    jobs = [PlannedJob("joint_descent", f"tokenizers/{name}") for name in "ab"]
    first, second = _costs(found, jobs, [0, 0], None).to_dict("records")
    assert first == second
    a, b = (
        disk_mb(found.settings, [PlannedJob("pick_joint", "", {"name": name})]) for name in "ab"
    )
    assert b == pytest.approx(9 / 4 * a)


def test_costs_by_hand():
    found = run_of("one model")
    jobs = [
        PlannedJob("export", "tokenizers/export/t", {"name": "t"}),
        PlannedJob("pretrain", "pretraining/m", {"name": "m"}),
    ]
    work = [found.operations(job) for job in jobs]
    assert work == [0, operations(found.settings.pretraining.models["m"], 1000, 512)]
    export, pretrain = read_needs()["export"], read_needs()["pretrain"]
    on_gpu, on_cpu = (_costs(found, jobs, work, tflops) for tflops in (100.0, None))
    assert on_gpu.loc["pretraining/m", "gpu_s"] == pytest.approx(work[1] / 1e14)
    assert on_gpu.loc["pretraining/m", "cpu_s"] == pretrain.seconds.fixed
    assert on_cpu["gpu_s"].sum() == 0
    assert on_cpu.loc["pretraining/m", "cpu_s"] == pytest.approx(work[1] / 1e11 + 3)
    memory = export.memory_mb.fixed + export.memory_mb.factor * 0.001
    assert on_cpu.loc["tokenizers/export/t", "memory_mb"] == pytest.approx(memory)
    whole = sum_costs(on_cpu.assign(all="total"), "all")["total"]
    assert (whole["jobs"], whole["cpu_s"]) == (2, pytest.approx(on_cpu["cpu_s"].sum()))
    assert whole["memory_mb"] == on_cpu["memory_mb"].max()


def test_fine_tuning_is_priced_by_its_tokens(tmp_path):
    """One epoch of a file of 4,000 bytes, no other file: 1,000 tokens, and no evaluation."""
    (tmp_path / "xnli").mkdir()
    (tmp_path / "xnli" / "train-en.tsv").write_text("x" * 3999 + "\n")
    found = run_of("one model", finetuning={"xtreme": str(tmp_path), "tasks": ["xnli"]})
    words = {"tuned": "finetuning/m", "training": "xnli", "epochs": "1", "seed": "1"}
    job = PlannedJob("finetune", "", words)
    sizes = found.sizes_of("xnli")
    assert sum(sizes.values()) >= 4000
    for name in sizes:
        sizes[name] = sizes[name] if name.split == "train" else 0.0
    operation = encoder_operations(Shape(), found.settings.finetuning.recipes["xnli"].max_length)
    assert found.operations(job) == pytest.approx(FINETUNING * 1000 * operation)
