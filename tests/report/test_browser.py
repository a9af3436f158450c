"""The page in a real browser: every figure drawn, nothing on the console, controls that do what they say."""

import re
import shutil
import subprocess

import pytest

from tests.report.made import make_model, make_results
from tests.report.pages import Page, write

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium here: install Debian's chromium to draw the page"),
    pytest.mark.xdist_group("browser"),
]

# clicks what a reader would, and leaves what came of it in the page
DRIVER = """
const lines = () => document.querySelectorAll('#figure-alp-curves .mark-line path').length;
const wait = () => new Promise((done) => setTimeout(done, 400));
const chip = (name) => [...document.querySelectorAll('.chips button')].find((b) => b.textContent === name);
const said = [];
addEventListener('load', async () => {
  for (let tries = 0; tries < 40 && !document.querySelector('.chips'); tries++) await wait();
  said.push('before ' + lines());
  chip('Swahili').click(); await wait();
  said.push('chosen ' + lines() + ' ' + chip('Swahili').getAttribute('aria-pressed'));
  document.querySelector('.panel input[type=checkbox]').click(); await wait();
  said.push('hidden ' + lines());
  const labels = '#figure-alp-curves .role-axis-label text';
  const scale = () => [...document.querySelectorAll(labels)].map((label) => label.textContent).join();
  const alp = scale();
  document.querySelectorAll('.panel input[type=radio]')[1].click(); await wait();
  said.push('gain ' + (scale() !== alp));
  const search = document.querySelector('.panel input[type=search]');
  search.value = 'germ'; search.dispatchEvent(new Event('input'));
  const found = [...document.querySelectorAll('.chips button')].filter((button) => !button.hidden);
  said.push('found ' + found.map((button) => button.textContent));
  const table = document.querySelector('[aria-describedby=table-curve-summary-caption]');
  const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === 'ALP there, train');
  const button = table.tHead.rows[0].cells[column].querySelector('button');
  const numbers = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[column].dataset.k));
  button.click(); said.push('down ' + numbers().every((n, i, all) => !i || all[i - 1] >= n));
  button.click(); said.push('up ' + numbers().every((n, i, all) => !i || all[i - 1] <= n));
  said.push('sort ' + table.tHead.rows[0].cells[column].getAttribute('aria-sort'));
  document.body.append(Object.assign(document.createElement('pre'), { id: 'said', textContent: said.join(';') }));
});
"""


# a window cannot be narrower than 500 px, a frame can; it tells what it measured to the page around it
MEASURE = """
addEventListener('load', async () => {
  const drawn = () => [...document.querySelectorAll('figure[data-drawn=yes] svg')];
  const wait = () => new Promise((done) => setTimeout(done, 400));
  for (let tries = 0; tries < 40 && drawn().length < 8; tries++) await wait();
  document.querySelectorAll('details').forEach((folded) => { folded.open = true; });
  const root = document.documentElement;
  const widths = drawn().map((svg) => Math.round(svg.getBoundingClientRect().width));
  parent.postMessage([innerWidth, root.scrollWidth, ...widths].join(' '), '*');
});
"""
PHONE = """<!DOCTYPE html>
<iframe src="driven.html" style="width:390px;height:900px;border:0"></iframe>
<pre id="said"></pre>
<script>
addEventListener('message', ({ data }) => { document.getElementById('said').textContent = data; });
</script>
"""


def drive(out, folder, script):
    """A copy of the page, without its content security policy, that runs one script more."""
    text = (out / "index.html").read_text(encoding="utf-8")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    head, _, tail = text.rpartition("</body>")
    (folder / "driven.html").write_text(f"{head}<script>{script}</script></body>{tail}", encoding="utf-8")
    return folder / "driven.html"


def browse(page, profile, budget=20_000):
    """Open a page; its document after `budget` ms of its own time, and the console's lines."""
    command = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--enable-logging=stderr", f"--user-data-dir={profile}", "--window-size=1280,1200"),
        *(f"--virtual-time-budget={budget}", "--dump-dom", page.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=400, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    results = make_results(folder / "results")
    make_model(results, "small", {"kind": "full"}, ["en", "de"])
    write(results, folder / "out")
    return folder / "out"


def test_every_figure_is_drawn(out, tmp_path):
    before = Page((out / "index.html").read_text(encoding="utf-8"))
    figures = [a["data-chart"] for tag, a in before.elements if tag == "figure"]
    assert len(figures) == 8
    document, console = browse(out / "index.html", tmp_path / "profile")
    assert console == []
    for name in figures:
        figure = re.search(rf'<figure id="figure-{name}"[^>]*>.*?</figure>', document, re.S)[0]
        assert 'data-drawn="yes"' in figure, name
        assert figure.count("<svg") == 1 and 'class="drawing live"' in figure, name
        assert 800 < float(re.search(r"<svg[^>]* width=\"([\d.]+)\"", figure)[1]) < 1280, name


def test_without_scripts_the_still_figures_stand(out, tmp_path):
    text = (out / "index.html").read_text(encoding="utf-8")
    still = tmp_path / "still.html"
    still.write_text(re.sub(r"script-src [^;]*;", "script-src 'none';", text), encoding="utf-8")
    document, _ = browse(still, tmp_path / "profile")
    assert "data-drawn" not in document
    figures = re.findall(r"<figure .*?</figure>", document, re.S)
    assert len(figures) == 8 and all(figure.count("<svg") == 1 and "<path" in figure for figure in figures)


def test_controls_do_what_they_say(out, tmp_path):
    document, console = browse(drive(out, tmp_path, DRIVER), tmp_path / "profile")
    assert console == []
    said = dict(part.split(" ", 1) for part in re.search(r'<pre id="said">(.*?)</pre>', document)[1].split(";"))
    # ten languages of which four stand out with a dashed curve more; sw joins them; km, the other low one, goes
    assert said == {
        "before": "14",
        "chosen": "15 true",
        "hidden": "14",
        "gain": "true",
        "found": "German",
        "down": "true",
        "up": "true",
        "sort": "ascending",
    }


def test_nothing_overflows_on_a_phone(out, tmp_path):
    drive(out, tmp_path, MEASURE)
    phone = tmp_path / "phone.html"
    phone.write_text(PHONE, encoding="utf-8")
    document, console = browse(phone, tmp_path / "profile")
    assert console == []
    inner, scroll, *widths = map(int, re.search(r'<pre id="said">(.*?)</pre>', document)[1].split())
    assert inner == 390 and scroll <= 390
    assert len(widths) == 8 and all(300 < width <= 390 - 32 for width in widths)
