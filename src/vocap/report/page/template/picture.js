"use strict";
// The first picture: the ids of each language and what a sentence costs it, of one tokenizer, beside it the ids of another
// one as strokes, or with the sizes that the explorer's sliders give. Returns the function that connects it with the chart
// once that is drawn.
const picture = (figure) => {
  const { element, labelled } = widgets;
  const { tokenizers } = JSON.parse(figure.querySelector("script.controls").textContent);
  let shown = tokenizers[0];
  let beside = null; // another tokenizer
  let explored = null; // ids by code, those before, and the name of what is compared
  let view = null;

  // ids by code, those that strokes show, and whose these are
  const compared = () => explored ?? (beside && { before: Object.fromEntries(beside.rows.map(({ l, s }) => [l, s])), name: beside.name });

  // the order stays while a slider moves
  const rows = () => {
    const { sizes, before } = compared() ?? {};
    return shown.rows.map((row) => ({ ...row, s: sizes ? sizes[row.l] ?? 0 : row.s, b: before?.[row.l] ?? null }));
  };

  const said = element("p", { className: "count", role: "status" }, "");
  const choose = labelled(element("select"), "Tokenizer of the picture");
  choose.append(...tokenizers.map(({ name }) => element("option", {}, name)));
  const second = labelled(element("select"), "Tokenizer beside it, as strokes");
  second.append(element("option", { value: "" }, "beside it"));
  second.append(...tokenizers.map(({ name }) => element("option", {}, name)));
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
    const before = row.b !== null ? `, ${whole(row.b)} in ${compared().name}` : "";
    const times = row.c?.toLocaleString("en", decimals);
    const cost = times ? `; a sentence costs ${times} times English under ${shown.name}` : "";
    const printed = row.q ? `; the paper, at T = 500K: ${whole(1000 * row.q)} pieces` : "";
    return `${row.n} (${row.l}, ${row.g}): ${whole(row.s)} ids${before}${cost}${printed}`;
  };
  const redraw = () => {
    said.textContent = describe(find.value);
    if (find.value && document.querySelector(".why")) {
      said.append(" ", element("a", { href: "#lang=" + find.value }, "Why, and what would help"));
    }
    const strokes = compared() ? `; strokes: ${compared().name}` : "";
    const what = shown.counted ? "that its text uses" : "of each language";
    const sizes = (explored ? "ids by the sliders" : `${shown.name}: ids ${what}`) + strokes;
    view?.signal("named", find.value).signal("paper", paper.checked).signal("sizes", sizes);
    view?.signal("costs", `${shown.name}: tokens, times English`).data("languages", rows()).runAsync();
  };
  const pick = () => {
    [shown, beside] = [choose, second].map(({ value }) => tokenizers.find(({ name }) => name === value));
    explored = null;
    redraw();
  };
  choose.addEventListener("change", pick);
  second.addEventListener("change", pick);
  find.addEventListener("change", redraw);
  paper.addEventListener("change", redraw);
  document.addEventListener("allocated", ({ detail }) => {
    if (!detail && !explored) return;
    explored = detail;
    redraw();
  });
  const known = tokenizers.some((one) => one.rows.some(({ q }) => q));
  const box = known ? [element("label", {}, paper, "◆ the paper’s sizes, to scale")] : [];
  const others = tokenizers.length > 1 ? [second] : [];
  const panel = element("div", { className: "panel picture" }, choose, ...others, find, ...box);
  figure.querySelector(".drawing").before(panel);
  figure.querySelector(".drawing").after(said);
  return (drawn) => {
    view = drawn;
    // the column under a finger or the pointer, however narrow, until it leaves the picture
    const svg = figure.querySelector(".drawing.live svg");
    const point = (event) => {
      const { left, width } = svg.getBoundingClientRect();
      const scale = width / svg.viewBox.baseVal.width;
      const place = ((event.clientX - left) / scale - view.origin()[0]) / view.signal("width");
      find.value = shown.rows[Math.floor(place * shown.rows.length)]?.l ?? "";
      redraw();
    };
    for (const name of ["pointerdown", "pointermove"]) figure.querySelector(".drawing").addEventListener(name, (event) => {
      if (event.buttons || event.pointerType === "touch") point(event);
    });
    redraw();
  };
};
