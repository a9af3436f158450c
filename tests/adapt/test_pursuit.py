"""Orthogonal matching pursuit against its definition, and rows of a model that are made with it."""

import numpy as np
import pytest

from tests.commands import run
from vocap.adapt import sparse_rows
from vocap.adapt.commands import extend
from vocap.adapt.sparse_rows import context_vectors, orthogonal_matching_pursuit, segment
from vocap.files.tsv import read_tsv

from .test_extend import NEW, make_root
from .test_trim import make_model, processor


def by_definition(target, atoms, count):
    """One target: the atom of the largest cosine with the residual, then least squares over all chosen."""
    chosen, residual = [], target
    for _ in range(count):
        cosine = np.abs(atoms @ residual) / np.linalg.norm(atoms, axis=1)
        cosine[chosen] = -1
        chosen.append(int(cosine.argmax()))
        factors = np.linalg.lstsq(atoms[chosen].T, target, rcond=None)[0]
        residual = target - factors @ atoms[chosen]
    return chosen, factors


@pytest.mark.parametrize(("atoms", "count"), [(30, 6), (80, 15), (5, 5)])
def test_pursuit_is_that_of_the_definition(atoms, count):
    draw = np.random.default_rng(3)
    targets, table = draw.normal(size=(300, 20)), draw.normal(size=(atoms, 20)) * draw.uniform(0.1, 9, (atoms, 1))
    chosen, factors = orthogonal_matching_pursuit(targets, table, count)
    for place, target in enumerate(targets):
        wanted, weights = by_definition(target, table, count)
        assert chosen[place].tolist() == wanted
        np.testing.assert_allclose(factors[place], weights, rtol=1e-5, atol=1e-7)


def test_a_sparse_combination_is_found_again():
    draw = np.random.default_rng(5)
    table = draw.normal(size=(40, 200))
    targets = np.zeros((10, 200))
    for target in targets:
        target += draw.choice([-2.0, 1.0, 3.0], 3) @ table[draw.choice(40, 3, replace=False)]
    chosen, factors = orthogonal_matching_pursuit(targets, table, 64)  # more than there are atoms
    assert chosen.shape == factors.shape == (10, 40)
    np.testing.assert_allclose((factors[:, None] @ table[chosen])[:, 0], targets, atol=1e-5)


def test_parallel_and_empty_atoms_stay_finite():
    table = np.array([[1.0, 0, 0], [2.0, 0, 0], [0, 0, 0], [0, 1.0, 0]])
    chosen, factors = orthogonal_matching_pursuit(np.array([[3.0, 4, 0], [0, 0, 0]]), table, 4)
    assert np.isfinite(factors).all() and sorted(chosen[0].tolist()) == [0, 1, 2, 3]
    np.testing.assert_allclose(factors[0] @ table[chosen[0]], [3, 4, 0], atol=1e-6)


def neighbours_by_definition(pieces_old, pieces_new, wanted, window):
    """Counts of (side, old piece) around each occurrence of the piece `wanted`, by characters of each line."""
    found = {}
    for old, new in zip(pieces_old, pieces_new, strict=True):
        spans, at = [], 0
        for piece in old:
            spans.append((piece, at, at + len(piece)))
            at += len(piece)
        at = 0
        for piece in new:
            begin, at = at, at + len(piece)
            if piece != wanted:
                continue
            before = [name for name, _, end in spans if end <= begin][-window:]
            behind = [name for name, first, _ in spans if first >= at][:window]
            for key in [("before", name) for name in before] + [("behind", name) for name in behind]:
                found[key] = found.get(key, 0) + 1
    return found


def test_neighbours_are_those_of_the_definition():
    old_pieces = ["a", "b", "ab", "c", "▁"]
    new_pieces = [*old_pieces, "bc", "cab"]
    old_ids, new_ids = ({piece: n for n, piece in enumerate(names)} for names in (old_pieces, new_pieces))
    lines_old = [["▁", "ab", "c", "ab", "x"], ["c", "ab"], [], ["b", "c", "a", "b", "c"]]
    lines_new = [["▁", "a", "bc", "ab", "x"], ["cab"], [], ["bc", "a", "bc"]]
    old = segment(lambda block: block, old_ids, [lines_old[:2], lines_old[2:]])
    new = segment(lambda block: block, new_ids, [lines_new])
    column = np.array([0, 1, 2, 3, 4, -1])
    for piece, number in new_ids.items():
        row = np.where(new[0] == number, 0, -1)
        counts = sparse_rows._count(old, column, new, row, 1, 5)[0]
        found = neighbours_by_definition(lines_old, lines_new, piece, sparse_rows.WINDOW)
        wanted = [found.get((side, name), 0) for side in ("before", "behind") for name in old_pieces]
        assert counts.tolist() == wanted, piece


def test_vectors_are_of_frequent_pieces_and_of_unit_length():
    lines = [["a", "b", "c"] * 4, ["c", "a"] * 6]
    joined = [["ab", "c"] * 4, ["ca"] * 6]
    old = segment(lambda block: block, {"a": 0, "b": 1, "c": 2}, [lines])
    new = segment(lambda block: block, {"a": 0, "b": 1, "c": 2, "ab": 3, "ca": 4, "no": 5}, [joined])
    anchors, atoms, wanted, targets = context_vectors(old, new, 3, 6)
    assert anchors.tolist() == [0, 2] and wanted.tolist() == [4]  # 5 times or more; "ab" and "b" are rarer
    for rows in (atoms, targets):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return make_root(tmp_path_factory.mktemp("pursuit"))


@pytest.mark.parametrize("kind", ["tied", "untied"])
def test_new_rows_are_sums_of_64_old_ones(root, tmp_path, kind):
    """Old rows and biases as with `mean`; each new row is of the pursuit, in all tables with the same factors."""
    import torch
    import transformers

    folder = root / "tokenizers/old"
    size = processor(folder / "sentencepiece.model").get_piece_size()
    make_model(kind, size).save_pretrained(tmp_path / "model")
    words = (f"--language={NEW}", "--pieces=40", "--languages=ka", "--model", tmp_path / "model")
    for out, more in (("mean", ()), ("omp", ("--init=omp",)), ("again", ("--init=omp",))):
        run(extend, folder, *words, *more, "-o", tmp_path / out)
    mean, omp, again = (
        transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / name / "model")
        for name in ("mean", "omp", "again")
    )
    tables = [side.get_input_embeddings().weight for side in (mean, omp, again)]
    assert torch.equal(tables[0][:size], tables[1][:size]) and torch.equal(tables[1], tables[2])
    assert torch.equal(mean.get_output_embeddings().bias, omp.get_output_embeddings().bias)
    added = len(list(read_tsv(tmp_path / "omp/additions.tsv")))
    assert int((tables[0][size:] != tables[1][size:]).any(1).sum()) > added / 2
    for out in ("mean", "omp"):
        import json

        assert json.loads((tmp_path / out / "description.json").read_text())["rows"] == out
