"""Two runs of one clone: each has a folder and a configuration of its own, and neither
touches the other.
"""

import pytest
import yaml

from tests.workflow.conftest import ROOT
from tests.workflow.test_runs import digests
from vocap.config import load, read_files

SHIPPED = sorted(path for path in (ROOT / "config").glob("*.yaml") if path.name != "sources.yaml")
OTHER = "--configfile", "other.yaml"
FOLDER = "it's my runs/b"


def write_other(workflow, **changes) -> None:
    """The configuration of the tests, with another seed and folder, in a file of its
    own.
    """
    config = yaml.safe_load((workflow.folder / "test.yaml").read_text("utf-8"))
    other = config | {"results": FOLDER, "seed": 5, **changes}
    (workflow.folder / "other.yaml").write_text(yaml.safe_dump(other, allow_unicode=True), "utf-8")


def test_a_run_in_a_folder_of_its_own_reruns_nothing_of_the_first(finished):
    before = digests(finished.folder)
    write_other(finished)
    finished.ran(*OTHER)
    folder = finished.folder / FOLDER
    made = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    assert {path.removeprefix("results/") for path in before} <= made
    assert (folder / "logs/vocabularies/ladder/de.log").exists()
    assert (folder / "logs/benchmarks/report/report.tsv").exists()
    first, second = (
        path / "corpora/de/train.txt" for path in (finished.folder / "results", folder)
    )
    assert first.read_bytes() != second.read_bytes()  # another seed
    assert digests(finished.folder) == before
    assert finished.planned() == finished.planned(*OTHER) == {}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_configuration_stands_alone(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    settings = load(read_files(["config/sources.yaml", path]))
    own = yaml.safe_load(path.read_text("utf-8"))
    assert settings.results == ("results" if path.name == "config.yaml" else f"results/{path.stem}")
    for section in ("allocation", "tokenizers"):
        assert getattr(settings, section).keys() == own.get(section, {}).keys()
    assert settings.pretraining.models.keys() == own.get("pretraining", {}).get("models", {}).keys()


def test_another_configuration_in_the_same_folder_stops(finished):
    """Until it has a folder of its own, the record is deleted, or the recorded file is
    gone.
    """
    before = digests(finished.folder)
    write_other(finished, results="results", seed=5)
    lines = finished.refused(*OTHER).splitlines()
    (said,) = (line for line in lines if line.startswith("vocap: error:"))
    assert all(name in said for name in ("test.yaml", "other.yaml", "`results: FOLDER`"))
    assert digests(finished.folder) == before
    said = finished.ran(*OTHER, "-n")
    assert "a real run stops here: results: holds the run of test.yaml" in said
    target = "results/corpora/de/stats.json"
    for allowed in (("--configfile", "test.yaml", "other.yaml"), ("--config", "seed=3")):
        assert "a real run stops here" not in finished.ran(*allowed, "-n", "--", target)
    (finished.folder / "test.yaml").unlink()
    finished.ran(*OTHER, "--", target)
    assert (finished.folder / "results/configfiles.txt").read_text("utf-8") == "other.yaml\n"
