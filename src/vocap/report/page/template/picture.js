"use strict";
// The first picture: the ids of each language and what a sentence costs it, of one tokenizer at a time, or with the sizes
// that the explorer's sliders give. Returns the function that connects it with the chart once that is drawn.
const picture = (figure) => {
  const { element, labelled } = widgets;
  const { tokenizers } = JSON.parse(figure.querySelector("script.controls").textContent);
  let shown = tokenizers[0];
  let explored = null; // ids by code, those before, and the name of what is compared
  let view = null;

  // the order stays while a slider moves
  const rows = () =>
    explored
      ? shown.rows.map((row) => ({ ...row, s: explored.sizes[row.l] ?? 0, b: explored.before[row.l] ?? null }))
      : shown.rows;

  const said = element("p", { className: "count", role: "status" }, "");
  const choose = labelled(element("select"), "Tokenizer of the picture");
  choose.append(...tokenizers.map(({ name }) => element("option", {}, name)));
  const find = labelled(element("select"), "Language to show");
  const names = new Map(tokenizers.flatMap((one) => one.rows.map(({ l, n }) => [l, n])));
  const byName = [...names].sort(([, a], [, b]) => a.localeCompare(b, "en"));
  find.append(element("option", { value: "" }, "find a language"));
  find.append(...byName.map(([value, name]) => element("option", { value }, name)));
  const paper = element("input", { type: "checkbox" });

  const whole = (value) => value.toLocaleString("en");
  const decimals = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  const describe = (code) => {
    const row = rows().find(({ l }) => l === code);
    if (!row) return code ? `${names.get(code)}: no size under ${shown.name}` : "";
    const before = explored && row.b !== null ? `, ${whole(row.b)} in ${explored.name}` : "";
    const times = row.c?.toLocaleString("en", decimals);
    const cost = times ? `; a sentence costs ${times} times English under ${shown.name}` : "";
    const printed = row.q ? `; the paper, at T = 500K: ${whole(1000 * row.q)} pieces` : "";
    return `${row.n} (${row.l}, ${row.g}): ${whole(row.s)} ids${before}${cost}${printed}`;
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
  const known = tokenizers.some((one) => one.rows.some(({ q }) => q));
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
