"""The page as a whole: well formed, alone, escaped, the same bytes twice; and bad
input.
"""

import json
import re
import shutil

import altair
import jsonschema
import pytest
import yaml

from tests.cases import read_cases
from tests.report.factories import (
    make_allocation,
    make_corpora,
    make_finetuned,
    make_model,
    make_results,
)
from tests.report.pages import Page, change, write
from vocap.errors import UsageError, VocapError
from vocap.files.io import write_tsv
from vocap.languages import default_table, natural, read_languages
from vocap.report.page.rendering import Marker
from vocap.report.stage import report_results

HOSTILE = "</script><script>alert(1)</script>\"'<img src=x onerror=alert(2)>&amp;"


def test_well_formed_with_all_sections(made):
    _, _, page = made
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    for section in (
        "start",
        "curves",
        "comparison",
        "allocation",
        "tokenizers",
        "corpora",
        "settings",
    ):
        assert section in ids and f"#{section}" in links
    # not run: no part and no link
    assert "absent" in ids and not {"models", "finetuning"} & set(ids)
    labelled = [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    described = [a["aria-describedby"] for _, a in page.elements if "aria-describedby" in a]
    assert described and set(labelled + described) <= set(ids)
    assert all(a.get("aria-label") for _, a in page.elements if a.get("role") in ("img", "region"))


def test_asks_the_network_for_nothing(made):
    _, text, page = made
    for tag, attributes in page.elements:
        for name in ("src", "srcset", "poster", "data", "action", "xlink:href", "style"):
            assert "http" not in (attributes.get(name) or ""), (tag, attributes)
        if "href" in attributes:
            assert re.match(r"#|data:,|(figures|tables)/[\w.-]+$", attributes["href"]), attributes
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    assert "url(" not in style and "@import" not in style
    policy = next(
        a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "http" not in policy and "unsafe-eval" not in policy and "script-src 'sha256-" in policy


def test_links_lead_to_files_that_are_there(made):
    folder, _, page = made
    links = [a["href"] for t, a in page.elements if t == "a" and "/" in a["href"]]
    assert len(links) > 30
    for link in links:
        assert (folder / "out" / link).stat().st_size > 0


def test_figures_are_svg_and_pdf(made):
    folder, _, _ = made
    names = sorted(path.name for path in (folder / "out/figures").iterdir())
    assert "alp-curves.svg" in names and "vocap-joint-groups.pdf" in names
    for name in names:
        data = (folder / "out/figures" / name).read_bytes()
        if name.endswith(".svg"):
            assert data.startswith(b"<svg ") and b"<path" in data and b"var(--" not in data
        else:
            assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")


def test_command_and_function_write_the_same_bytes(made, tmp_path):
    folder, text, _ = made
    settings = yaml.safe_load((folder / "settings.yaml").read_text())
    size = report_results(
        folder / "results", tmp_path / "out", title="Eleven languages", settings=settings
    )

    def files(out):
        return {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}

    assert size == len(text.encode()) and str(folder) not in text
    assert files(tmp_path / "out") == files(folder / "out")


def test_figures_are_valid_vega_lite(made):
    """By the schema in altair's package, which the report itself does not check."""
    schema = altair.load_schema()
    scripts = [text for attributes, text in made[2].scripts if attributes.get("class") == "spec"]
    assert len(scripts) > 5
    for text in scripts:
        # colours of the page's style sheet
        spec = json.loads(re.sub(r"var\(--[a-z-]+\)", "#123456", text))
        del spec["config"]  # the page's own style: Vega accepts more than the schema
        jsonschema.validate(spec, schema)


def test_hostile_text_stays_text(tmp_path):
    code = HOSTILE.replace("/", "_")[:80]
    results = make_results(tmp_path / "results", ["en", "de", code, "fi"])
    table = shutil.copy(default_table(), tmp_path / "languages.tsv")
    change(table, name={"de": HOSTILE})
    write_tsv(
        results / "tokenizers/vocap100k/pieces.tsv",
        ("piece", "id", "score", "languages", "status", "shadowed_by"),
        [(HOSTILE, 5, -1.0, code, "dead", HOSTILE)],
    )
    settings = json.dumps({"report": {"title": HOSTILE}, HOSTILE: [HOSTILE]})
    text = write(results, tmp_path / "out", "--languages-table", table, "--settings-json", settings)
    page = Page(text)
    assert page.open == []
    assert not any(tag == "img" or "onerror" in attributes for tag, attributes in page.elements)
    data, bare = [], []
    for attributes, body in page.scripts:
        (data if attributes.get("type") == "application/json" else bare).append(body)
    assert len(bare) == 6 and not any("alert(1)" in body for body in bare)
    specs = json.dumps([json.loads(body) for body in data], ensure_ascii=False)
    assert HOSTILE in specs.replace('\\"', '"') and HOSTILE in "".join(page.text)


def test_the_full_grid_fits_the_page(tmp_path):
    codes = list(natural(read_languages()))
    assert len(codes) == 86
    results = make_results(tmp_path / "results", codes, range(1000, 51000, 1000))
    write(results, tmp_path / "out")
    assert (tmp_path / "out/index.html").stat().st_size < 4_000_000


@pytest.mark.parametrize(("file", "content", "says"), read_cases(__file__))
def test_a_malformed_file_is_one_error_and_leaves_nothing(tmp_path, file, content, says):
    results = tmp_path / "results"
    make_corpora(results, ["en", "de"])
    make_allocation(results, "v100k", ["en", "de"], 100_000)
    make_model(results, "knn", {"kind": "knn", "k": 50}, ["en", "de"])
    make_finetuned(results, "knn", {"panx": {"f1": 41.25}}, [])
    (results / file).write_text(content)
    with pytest.raises(VocapError, match=says):
        write(results, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_wrong_calls(tmp_path):
    with pytest.raises(UsageError, match="no results of a stage"):
        write(tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "corpora").mkdir()
    with pytest.raises(UsageError, match="--settings-json: not JSON"):
        write(tmp_path, tmp_path / "out", "--settings-json", "{")
    with pytest.raises(UsageError, match="not both"):
        write(tmp_path, tmp_path / "out", "--settings-json", "{}", "--settings", tmp_path)


def test_the_folder_of_a_run_is_named_and_no_path_of_a_user_changes():
    """Also where the folder is written already."""
    text = "$results/report, my-results/dev/de.txt, results/mine/x, /data/results/y"
    assert Marker("results/mine")(text) == text.replace("$results", "results/mine")
