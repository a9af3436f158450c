"""Which tokenizers the workflow compares, by the rule of its documentation."""

from vocap.allocation.settings import Allocation
from vocap.config import compared_pairs
from vocap.tokenizers.settings import File, Joint, Mono, Vocap

ALLOCATIONS = {
    "small": Allocation(total=1000),
    "again": Allocation(total=1000, beta=0.5),
    "pieces": Allocation(total=1000, rule="pieces"),
    "large": Allocation(total=3000, rule="pieces"),
    "alone": Allocation(total=5000),
}


def vocap(name):
    return Vocap(kind="vocap", allocation=name)


def joint(total):
    return Joint(kind="joint", total=total)


def test_the_first_joint_with_the_first_tokenizer_of_each_rule():
    tokenizers = {
        "large": vocap("large"),
        "v": vocap("small"),
        "again": vocap("again"),
        "p": vocap("pieces"),
        "j": joint(1000),
        "j-other": joint(1000),
        "j-large": joint(3000),
        "j-alone": joint(9000),
        "alone": vocap("alone"),
        "mono": Mono(kind="mono", language="de", size=998),
        "file": File(kind="file", path="x.model"),
    }
    assert compared_pairs(tokenizers, ALLOCATIONS) == [("j", "v"), ("j", "p"), ("j-large", "large")]
    assert (
        compared_pairs({"v": vocap("small")}, ALLOCATIONS)
        == compared_pairs({"j": joint(1000)}, {})
        == []
    )


def test_an_order_of_names_changes_which_is_first_and_nothing_else():
    tokenizers = {"b": joint(1000), "a": joint(1000), "v": vocap("small")}
    assert compared_pairs(tokenizers, ALLOCATIONS) == [("b", "v")]
    assert compared_pairs(dict(reversed(tokenizers.items())), ALLOCATIONS) == [("a", "v")]
