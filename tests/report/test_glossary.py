"""The glossary: one source for page and docs, and where the page marks its words."""

import re

from markupsafe import Markup

from dev.make_glossary import PAGE, render
from tests.test_documents import anchors
from vocap.report.page.rendering import Marker, terms


def test_the_docs_have_the_glossary_of_the_page():
    assert PAGE.read_text("utf-8").endswith(render()), "run python dev/make_glossary.py"
    concepts = {one.concept for one in terms().values()} - {""}
    assert concepts <= anchors(PAGE) and len(concepts) == 10


def test_every_word_has_its_own_text_on_the_page(made):
    _, _, page = made
    shown = {a["id"] for _, a in page.elements if "popover" in a}
    asked = {a["popovertarget"] for _, a in page.elements if "popovertarget" in a}
    assert asked and asked <= shown == {one.id for one in terms().values()}
    assert len(shown) == len(terms())


def test_a_word_is_marked_once_and_never_inside_names():
    mark = Marker("results")
    said = mark("ALP of pieces-100k, <unk> and results/T/pieces.tsv; ALP again, Gini < 1.")
    marked = re.findall(r"<button[^>]*>(.*?)</button>", said)
    assert marked == ["ALP", "&lt;unk&gt;", "Gini"]
    assert "pieces-100k" in said and "results/T/pieces.tsv" in said and "&lt; 1." in said
    whole = Markup("<code>T</code> <a href='#alpha'>beta</a>")
    assert mark(whole) == whole
