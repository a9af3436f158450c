"""A line of commands in the folders of a test."""

import pytest

from tests.commands import caller


@pytest.fixture
def call(root, tmp_path):
    """`root` is the module's folder of made inputs, `tmp` the test's own."""
    return caller(root=root, tmp=tmp_path)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"
