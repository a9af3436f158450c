"use strict";
// The first picture: the ids of each language and what a sentence costs it, of one tokenizer at a time, or with the sizes
// that the explorer's sliders give. Returns the function that connects it with the chart once that is drawn.
const picture = (figure) => {
  const { element, labelled } = widgets;
  const { languages, tokenizers } = JSON.parse(figure.querySelector("script.controls").textContent);
  let shown = tokenizers[0];
  let explored = null; // ids by code, those before, and the name of what is compared
  let view = null;

  const rows = () => {
    const found = languages
      .map((language, k) => ({ ...language, s: shown.ids[k], c: shown.times[k] }))
      .filter(({ s }) => s);
    found.sort((a, b) => b.s - a.s || (b.c ?? 0) - (a.c ?? 0) || a.n.localeCompare(b.n, "en"));
    // the order stays while a slider moves
    const made = found.map(({ c, q, ...row }) => {
      const now = explored ? { s: explored.sizes[row.l] ?? 0, b: explored.before[row.l] ?? undefined } : {};
      return { ...row, ...(c ? { c } : {}), ...(q ? { q } : {}), ...now };
    });
    const known = made.filter(({ q }) => q);
    const sum = (key) => known.reduce((total, row) => total + row[key], 0);
    known.forEach((row) => (row.p = Math.round((row.q * sum("s")) / sum("q"))));
    if (made.length > 1) {
      const ends = [["left", made[0]], ["right", made.at(-1)]];
      for (const [end, row] of ends) Object.assign(row, { e: end, t: `${row.n} ${row.s.toLocaleString("en")}` });
    }
    return made;
  };

  const said = element("p", { className: "count", role: "status" }, "");
  const choose = labelled(element("select"), "Tokenizer of the picture");
  choose.append(...tokenizers.map(({ name }) => element("option", {}, name)));
  const find = labelled(element("select"), "Language to show");
  const byName = [...languages].sort((a, b) => a.n.localeCompare(b.n, "en"));
  find.append(element("option", { value: "" }, "find a language"));
  find.append(...byName.map(({ l, n }) => element("option", { value: l }, n)));
  const paper = element("input", { type: "checkbox" });
  const known = languages.some(({ q }) => q);

  const describe = (code) => {
    const row = rows().find(({ l }) => l === code);
    if (!row) return code ? `${find.selectedOptions[0].textContent}: no size under ${shown.name}` : "";
    const before = row.b === undefined ? "" : `, ${row.b.toLocaleString("en")} in ${explored.name}`;
    const cost = row.c ? `; a sentence costs ${row.c.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} times English under ${shown.name}` : "";
    const printed = row.q ? `; the paper, at T = 500K: ${(1000 * row.q).toLocaleString("en")} pieces` : "";
    return `${row.n} (${row.l}, ${row.g}): ${row.s.toLocaleString("en")} ids${before}${cost}${printed}`;
  };
  const redraw = () => {
    said.textContent = describe(find.value);
    const sizes = explored ? `ids by the sliders; strokes: ${explored.name}` : shown.sizes;
    view?.signal("named", find.value).signal("paper", paper.checked);
    view?.signal("sizes", sizes).signal("costs", shown.costs).data("languages", rows()).runAsync();
  };
  choose.addEventListener("change", () => {
    shown = tokenizers.find(({ name }) => name === choose.value);
    explored = null;
    redraw();
  });
  find.addEventListener("change", redraw);
  paper.addEventListener("change", redraw);
  document.addEventListener("allocated", ({ detail }) => {
    if (!detail && !explored) return;
    explored = detail;
    redraw();
  });
  const box = known ? [element("label", {}, paper, "◆ the paper’s sizes, to scale")] : [];
  const panel = element("div", { className: "panel picture" }, choose, find, ...box);
  figure.querySelector(".drawing").before(panel);
  figure.querySelector(".drawing").after(said);
  return (drawn) => {
    view = drawn;
    view.addEventListener("click", (event, item) => {
      find.value = item?.datum?.l ?? "";
      redraw();
    });
    redraw();
  };
};
