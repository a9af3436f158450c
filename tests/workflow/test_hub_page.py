"""Ten languages of FineWeb-2, of the page on text, on a Hub of this machine."""

import json
import re

import pytest
import yaml
from tokenizers import Tokenizer

from tests.storage.hub import local_hub
from tests.storage.shards import Words, as_parquet
from tests.workflow.conftest import ROOT, copy_workflow, parse_counts
from vocap.corpora.sources import parse_source, resolve
from vocap.languages import read_languages

PAGE = (ROOT / "docs/corpora.md").read_text("utf-8").split("### Ten languages of FineWeb-2")[1]
LETTERS = {
    "ru": "абвгдежзиклмнопрстуя",
    "ar": "ابتثجحخدذرزسشصضطظعغ",
    "hi": "कखगघचछजझटठडढतथदधनपफब",
    "zh": "日本語文字列計算機学習言葉前後左右上下",
    "ja": "あいうえおかきくけこさしすせそたちつて",
}
# the page's configuration with less text and fewer ids
LESS = {
    "corpora": {"max_sentences": 400},
    "vocabularies": {"sizes": [60, 120]},
    "allocation": {"pieces-100k": {"total": 700}},
    "tokenizers": {"bpe-100k": {"total": 700}},
}


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
        words = Words(LETTERS.get(language, "abcdefghijklmnoprstu"), seed, 400)
        for shard in range(2):
            place = path.replace("*.parquet", f"00{shard}_00000.parquet").replace("*", "2024-10")
            content = as_parquet([f"{line}." for line in words.lines(500, 8)], 100)
            files.setdefault(repository, {})[place] = content
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
    (workflow.folder / "less.yaml").write_text(yaml.safe_dump(LESS), "utf-8")
    words = ("--configfile", "ten.yaml", "less.yaml")
    environment = hub.environment()
    # a dry run asks nobody
    plan = workflow.snakemake("-n", "tokenizers", *words, configfile=None, environment=environment)
    assert plan.returncode == 0, plan.stdout
    assert "fetched: text: fineweb (1 languages), fineweb-2 (9 languages)" in plan.stdout
    assert parse_counts(plan.stdout)["list_files"] == 10 and not hub.seen
    made = "results/ten/tokenizers/pieces-100k/huggingface/tokenizer.json"
    run = workflow.snakemake(*words, "--", made, configfile=None, environment=environment)
    assert run.returncode == 0, run.stdout
    tokenizer = Tokenizer.from_file(str(workflow.folder / made))
    assert tokenizer.get_vocab_size() == 700
    for language in ("en", "ja"):
        stats = json.loads(
            (workflow.folder / f"results/ten/corpora/{language}/stats.json").read_text()
        )
        assert stats["kept"] > 300 and stats["shards"] == 2
