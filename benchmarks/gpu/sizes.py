"""The sizes of every stage: those of the paper's models, and tiny ones for a dry
run.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sizes:
    """Models and batches. V: `vocabularies`, d: `widths`, N: `targets`, |V'| of k-NN by
    k: `candidates`.

    `candidates` are those that the paper's speeds fit; `words`: negatives or tau of the
    other losses.
    """

    vocabularies: tuple[int, ...] = (500_000, 250_000, 1_000_000)
    widths: tuple[int, ...] = (768, 384)
    targets: tuple[int, ...] = (2458, 19_660)
    group: int = 2458  # targets that share a V'
    candidates: dict[int, int] = field(
        default_factory=lambda: {50: 57_000, 5: 10_000, 10: 17_000, 25: 37_000, 100: 88_000}
    )
    words: int = 50_000
    chunks: tuple[int, ...] = (1024, 4096)
    copied: int = 2**32  # bytes
    product: int = 8192
    # the step
    layers: int = 12
    hidden: int = 768
    length: int = 512
    sequences: int = 32
    models: tuple[tuple[int, int], ...] = ((500_000, 768), (250_000, 768), (500_000, 384))  # V, d
    # the learning
    learning_layers: int = 6
    learning_hidden: int = 512
    learning_batch: int = 128
    learning_s: float = 90.0
    seeds: tuple[int, ...] = (1, 2, 3)
    looks: int = 12  # of the exact loss, over the time
    calibration: int = 20  # steps
    every: int = 500  # steps from one refresh of the index to the next
    heldout_blocks: int = 8


PAPER = Sizes()
TINY = Sizes(
    vocabularies=(500, 700),
    widths=(32, 16),
    targets=(40, 80),
    group=40,
    candidates={50: 250, 5: 90},
    words=100,
    chunks=(16,),
    copied=2**20,
    product=64,
    layers=1,
    hidden=32,
    length=32,
    sequences=4,
    models=((500, 32), (700, 32), (500, 16)),
    learning_layers=1,
    learning_hidden=32,
    learning_batch=4,
    learning_s=1.0,
    seeds=(1,),
    looks=3,
    calibration=4,
    every=10,
    heldout_blocks=1,
)
