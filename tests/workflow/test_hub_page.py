"""Ten languages of FineWeb-2, of the page on text, on a Hub of this machine."""

import re

import pytest
import yaml
from tokenizers import Tokenizer

from tests.cases import read_cases
from tests.storage.hub import local_hub
from tests.storage.shards import as_parquet, draw_lines
from tests.workflow.conftest import ROOT, copy_workflow, parse_counts
from vocap.corpora.sources import parse_source, resolve
from vocap.files.io import read_object
from vocap.languages import read_languages

PAGE = (ROOT / "docs/corpora.md").read_text("utf-8").split("### Ten languages of FineWeb-2")[1]
CASES = read_cases(__file__)


@pytest.fixture
def hub():
    """FineWeb and FineWeb-2, two small files of each language."""
    sources = yaml.safe_load((ROOT / "config/sources.yaml").read_text("utf-8"))
    table, files = read_languages(), {}
    for seed, language in enumerate(yaml.safe_load(configuration())["languages"]):
        name = "fineweb" if language == "en" else "fineweb-2"
        source = parse_source(sources["corpora"]["sources"][name])
        (pattern,) = resolve(name, source, table[language]).paths
        _, repository, path = re.split(r"(HuggingFaceFW/[^/]+)/", pattern)
        letters = CASES["letters"].get(language, "abcdefghijklmnoprstu")
        lines = (f"{line}." for line in draw_lines(letters, seed, 8))
        for shard in range(2):
            place = path.replace("*.parquet", f"00{shard}_00000.parquet").replace("*", "2024-10")
            files.setdefault(repository, {})[place] = as_parquet(lines, 500, 100)
    with local_hub() as server:
        for repository, contents in files.items():
            server.add(repository, contents)
        yield server


def configuration() -> str:
    return re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_configuration_of_the_page_makes_a_tokenizer(hub, tmp_path):
    assert len(configuration().splitlines()) <= 20
    workflow = copy_workflow(tmp_path / "clone")
    (workflow.folder / "ten.yaml").write_text(configuration(), "utf-8")
    (workflow.folder / "less.yaml").write_text(yaml.safe_dump(CASES["less"]), "utf-8")
    words = ("--configfile", "ten.yaml", "less.yaml")
    environment = hub.environment()
    # a dry run asks nobody
    said = workflow.ran("-n", "tokenizers", *words, configfile=None, environment=environment)
    assert "fetched: text: fineweb (1 languages), fineweb-2 (9 languages)" in said
    assert parse_counts(said)["list_files"] == 10 and not hub.seen
    made = "results/ten/tokenizers/pieces-100k/huggingface/tokenizer.json"
    workflow.ran(*words, "--", made, configfile=None, environment=environment)
    tokenizer = Tokenizer.from_file(str(workflow.folder / made))
    assert tokenizer.get_vocab_size() == 700
    for language in ("en", "ja"):
        stats = read_object(workflow.folder / f"results/ten/corpora/{language}/stats.json")
        assert stats["kept"] > 300 and stats["shards"] == 2
