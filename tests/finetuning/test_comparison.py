"""The paired bootstrap against scores of examples really drawn again."""

import numpy as np
import pytest

from vocap.finetuning import metrics
from vocap.finetuning.comparison import paired_bootstrap, score_parts
from vocap.finetuning.examples import TaggedSentence
from vocap.finetuning.tasks import TASKS

TASK = TASKS["panx"]


def tagged(random, count):
    """Gold tags of sentences, and those of a tagger that is right three times of
    four.
    """
    gold, pred = [], []
    for length in random.integers(1, 7, count):
        tags = random.choice(TASK.labels, length).tolist()
        gold.append(tags)
        pred.append(
            [tag if random.random() < 0.75 else str(random.choice(TASK.labels)) for tag in tags]
        )
    return gold, pred


def test_a_sample_is_scored_as_if_its_examples_were_the_test_file():
    random, samples = np.random.default_rng(3), 200
    tables = [{}, {}]
    drawn = {}
    for number, language in enumerate(("en", "de")):
        count = 11 + number
        gold, _ = tagged(random, count)
        examples = [TaggedSentence(("w",) * len(tags), tuple(tags)) for tags in gold]
        runs = [[tagged_like(random, gold) for _ in range(seeds)] for seeds in (2, 3)]
        for table, preds in zip(tables, runs, strict=True):
            table[language] = np.stack(
                [score_parts(TASK, language, examples, pred)["f1"] for pred in preds]
            )
        places = np.random.default_rng([7, number]).integers(count, size=(samples, count))

        def f1(preds, chosen, gold=gold):
            again = [gold[place] for place in chosen]
            scores = [
                metrics.chunk_f1(again, [pred[place] for place in chosen])["f1"] for pred in preds
            ]
            return np.mean(scores)

        drawn[language] = np.array([[f1(preds, chosen) for preds in runs] for chosen in places])
        drawn[language, "whole"] = [f1(preds, range(count)) for preds in runs]
    found = paired_bootstrap(*tables, samples=samples, seed=7)
    drawn[""] = (drawn["en"] + drawn["de"]) / 2
    drawn["", "whole"] = np.mean([drawn["en", "whole"], drawn["de", "whole"]], axis=0)
    assert list(found) == ["en", "de", ""]
    for language, difference in found.items():
        apart = drawn[language][:, 0] - drawn[language][:, 1]
        first, second = drawn[language, "whole"]
        assert difference[:3] == pytest.approx((first, second, first - second))
        assert difference[3:5] == pytest.approx(np.quantile(apart, [0.025, 0.975]))
        other_side = min(sum(apart <= 1e-9), sum(apart >= -1e-9))
        assert difference.p == pytest.approx(min(1, 2 * (other_side + 1) / (samples + 1)))


def tagged_like(random, gold):
    return [[tag if random.random() < 0.75 else "O" for tag in tags] for tags in gold]


def hits(right):
    return np.stack([np.asarray(right, float), np.ones(len(right))], axis=1)[None]


def test_a_model_does_not_differ_from_itself_and_one_that_is_always_right_does():
    right, wrong = np.ones(50), np.zeros(50)
    mixed = np.arange(50) % 2
    same = paired_bootstrap({"en": hits(mixed)}, {"en": hits(mixed)}, samples=100, seed=1)["en"]
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    apart = paired_bootstrap({"en": hits(right)}, {"en": hits(wrong)}, samples=100, seed=1)["en"]
    assert apart.difference == apart.low == apart.high == 100
    assert apart.p == pytest.approx(2 / 101)


def test_the_seed_alone_decides_and_translations_are_drawn_together():
    random = np.random.default_rng(2)
    first, second = hits(random.random(40) < 0.6), hits(random.random(40) < 0.5)
    tables = [{"en": first, "de": first}, {"en": second, "de": second}]
    once, again = (paired_bootstrap(*tables, samples=500, seed=9) for _ in range(2))
    assert once == again != paired_bootstrap(*tables, samples=500, seed=10)
    together = paired_bootstrap(*tables, samples=500, seed=9, parallel=True)
    assert together["en"] == together["de"] == together[""]
    apart = once[""].high - once[""].low
    # by chance two draws even each other out
    assert apart < 0.9 * (together[""].high - together[""].low)
