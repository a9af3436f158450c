"""The programs that people load tokenizers with: ids, texts and special tokens of each."""

import pytest

from tests.clients.comparison import CLIENTS, compare, known, unexpected
from tests.clients.environments import NotInstalledError
from tests.clients.tokenizers import SETTINGS, compared_lines, make_all

pytestmark = [pytest.mark.clients, pytest.mark.xdist_group("clients")]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    return make_all(tmp_path_factory.mktemp("tokenizers"))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gives_the_same_ids(client, files):
    try:
        version, results = compare(client, files, compared_lines())
    except NotInstalledError as reason:
        pytest.skip(str(reason))
    assert results and version
    wrong = {
        name: (result.error, result.ids[:3], result.text[:3], known(client, name))
        for name, result in results.items()
        if unexpected(client, name, result)
    }
    assert not wrong, "correct it, or tests/clients/clients.yaml"


def test_special_tokens_are_those_of_the_layout(files):
    """In both versions of transformers that people have."""
    found = {}
    for client in ("transformers-4", "transformers-5"):
        try:
            found[client] = compare(client, files, ["a"])[1]
        except NotInstalledError as reason:
            pytest.skip(str(reason))
    for name in SETTINGS["tokenizers"]:
        facts = {client: results[name].facts for client, results in found.items()}
        assert facts["transformers-4"] == facts["transformers-5"]
        given = facts["transformers-4"]
        assert given["saved"] == "equal"
        assert given["around"][0] == given["roles"]["bos"] == 0
        assert given["around"][-1] == given["roles"]["eos"] == 2
        chat = "layout" in str(SETTINGS["tokenizers"][name])
        assert bool(given["chat"]) == chat
        assert len(given["special"]) == (5 + 2 + 8 if chat else 5)
