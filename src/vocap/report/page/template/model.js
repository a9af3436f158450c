"use strict";
// The embeddings in the decision table, of a model that the reader sets, by the formula of `vocap size`.
(() => {
  const { element, fieldset } = widgets;
  const place = document.querySelector(".model");
  const data = JSON.parse(place.querySelector("script.data").textContent);
  const table = document.querySelector("[aria-describedby=table-decision-caption]");
  const column = (title) => [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === title);
  const [totals, embeddings, shares] = ["T", "Embeddings", "Share"].map(column);
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

  const said = element("div", { role: "status" });
  const show = () => {
    if (!fields.every(({ input }) => input.checkValidity())) return;
    const { others, hidden, causal, untied } = Object.fromEntries(fields.map(({ name, read }) => [name, read()]));
    const parameters = (ids) => ids * (hidden * (untied ? 2 : 1) + (causal ? 0 : 1));
    const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
    const millions = (ids) => (parameters(ids) / 1e6).toLocaleString("en", digits);
    const share = (ids) => ((100 * parameters(ids)) / (others + parameters(ids))).toFixed(0) + " %";
    for (const { total, cells } of rows) {
      if (!total) continue;
      cells[embeddings].textContent = millions(total);
      cells[shares].textContent = share(total);
    }
    for (const price of document.querySelectorAll("[data-ids]")) price.textContent = millions(price.dataset.ids);
    const sizes = [...new Set(rows.map(({ total }) => total))].filter(Boolean).sort((a, b) => a - b);
    const line = (ids) => `${ids.toLocaleString("en")} ids take ${millions(ids)} M parameters, ${share(ids)} of the model`;
    said.textContent = sizes.map(line).join("; ") + ".";
  };
  for (const { input } of fields) input.addEventListener("input", show);
  show();
  const controls = fieldset("Your model", ...fields.map(({ line }) => line));
  place.append(element("div", { className: "panel" }, controls, said));
})();
