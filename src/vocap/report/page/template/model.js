"use strict";
// The embeddings in the decision table, of a model that the reader sets, by the formula of `vocap size`.
(() => {
  const { element, fieldset } = widgets;
  const place = document.querySelector(".model");
  const data = JSON.parse(place.querySelector("script.data").textContent);
  const table = document.querySelector("[aria-describedby=table-decision-caption]");
  const column = (title) => [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === title);
  const [totals, embeddings, shares] = ["T", "Embeddings, M", "Share of the model"].map(column);
  const rows = [...table.tBodies[0].rows].map(({ cells }) => {
    return { total: Number(cells[totals].textContent.replaceAll(",", "")), cells };
  });

  const number = (name, label, unit) => {
    const input = element("input", { type: "number", min: 1 / unit, step: "any", required: true });
    input.value = data[name] / unit;
    return { name, input, line: element("label", {}, input, label), read: () => unit * input.valueAsNumber };
  };
  const flag = (name, label) => {
    const input = element("input", { type: "checkbox", checked: data[name] });
    return { name, input, line: element("label", {}, input, label), read: () => input.checked };
  };
  const fields = [
    number("others", "million parameters beside the embeddings", 1e6),
    number("hidden", "width of the embeddings", 1),
    flag("causal", "causal"),
    flag("untied", "a table of its own for the output layer"),
  ];

  const show = () => {
    if (!fields.every(({ input }) => input.checkValidity())) return;
    const { others, hidden, causal, untied } = Object.fromEntries(fields.map(({ name, read }) => [name, read()]));
    const millions = (ids) => (ids * (hidden * (untied ? 2 : 1) + (causal ? 0 : 1))) / 1e6;
    for (const { total, cells } of rows) {
      if (!total) continue;
      const own = millions(total);
      const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
      cells[embeddings].textContent = own.toLocaleString("en", digits);
      cells[shares].textContent = ((100 * own) / (others + own)).toFixed(0) + " %";
    }
    for (const price of document.querySelectorAll("[data-ids]")) {
      price.textContent = millions(Number(price.dataset.ids)).toLocaleString("en", { maximumSignificantDigits: 3 });
    }
  };
  for (const { input } of fields) input.addEventListener("input", show);
  place.append(element("div", { className: "panel" }, fieldset("Your model", ...fields.map(({ line }) => line))));
})();
