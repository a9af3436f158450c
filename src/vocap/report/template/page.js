"use strict";
(() => {
  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  // charts: the still picture stands until the live one is drawn, and stays where it cannot be
  const views = new Map();
  const draw = async (figure) => {
    if (views.has(figure) || !window.vegaEmbed) return;
    views.set(figure, null);
    const place = figure.querySelector(".drawing");
    const spec = JSON.parse(figure.querySelector("script.spec").textContent);
    const stage = element("div");
    stage.style.width = place.clientWidth + "px";
    place.append(stage);
    try {
      // logLevel 1: errors only, a curve without chosen languages is no reason to warn
      const options = { actions: false, ast: true, renderer: "svg", mode: "vega-lite", logLevel: 1 };
      const embedded = await vegaEmbed(stage, spec, options);
      place.querySelector(":scope > svg")?.remove();
      stage.style.width = "";
      place.classList.add("live");
      views.set(figure, embedded.view);
      figure.dataset.drawn = "yes";
      controls(figure, embedded.view);
    } catch (error) {
      stage.remove();
      console.error("chart " + figure.dataset.chart + ": " + error.message);
    }
  };

  // what drives the ALP curves: which languages stand out, which groups are shown, ALP or its gain
  const controls = (figure, view) => {
    const data = figure.querySelector("script.controls");
    if (!data) return;
    const { languages, chosen, groups } = JSON.parse(data.textContent);
    const picked = new Set(chosen);
    const shown = new Set(groups);
    const set = (name, value) => view.signal(name, value).runAsync();
    const chips = element("div", { className: "chips" });
    chips.setAttribute("role", "group");
    chips.setAttribute("aria-label", "Languages that stand out");
    const buttons = new Map();
    const press = (code, on) => {
      if (on) picked.add(code);
      else picked.delete(code);
      buttons.get(code)?.setAttribute("aria-pressed", String(on));
      set("chosen", [...picked].sort());
    };
    for (const { code, name, group } of languages) {
      const known = ["low", "mid", "high"].includes(group) ? group : "unknown";
      const dot = element("span", { className: "dot", ariaHidden: "true" });
      const button = element("button", { type: "button", className: known, title: code }, dot, name);
      button.setAttribute("aria-pressed", String(picked.has(code)));
      button.addEventListener("click", () => press(code, !picked.has(code)));
      buttons.set(code, button);
      chips.append(button);
    }
    const search = element("input", { type: "search", placeholder: "Find a language" });
    search.setAttribute("aria-label", "Find a language");
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      for (const { code, name } of languages) {
        buttons.get(code).hidden = !(name.toLowerCase().includes(wanted) || code.toLowerCase() === wanted);
      }
    });
    const clear = element("button", { type: "button", className: "plain" }, "Clear");
    clear.addEventListener("click", () => [...picked].forEach((code) => press(code, false)));
    const boxes = groups.map((group) => {
      const box = element("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) shown.add(group);
        else shown.delete(group);
        set("shown", [...shown]);
      });
      return element("label", {}, box, group);
    });
    const radios = [["ALP", false], ["gain over the smallest size", true]].map(([label, value]) => {
      const radio = element("input", { type: "radio", name: figure.dataset.chart + "-measure", checked: !value });
      radio.addEventListener("change", () => set("gain", value));
      return element("label", {}, radio, label);
    });
    const panel = element(
      "div",
      { className: "panel" },
      element("fieldset", {}, element("legend", {}, "Groups"), ...boxes),
      element("fieldset", {}, element("legend", {}, "Show"), ...radios),
      element("fieldset", {}, element("legend", {}, "Languages"), search, clear),
      chips,
    );
    figure.querySelector(".drawing").before(panel);
    view.addEventListener("click", (event, item) => {
      const code = item?.datum?.l ?? item?.datum?.datum?.l;
      if (buttons.has(code)) press(code, !picked.has(code));
    });
  };

  // tables: a click on a heading sorts, numbers by their full value
  const sortable = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    if (body.rows.length < 3) return;
    heads.forEach((head, place) => {
      const button = element("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      const numeric = head.classList.contains("n");
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const descending = now ? now === "ascending" : numeric;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[place];
          if (!numeric) return cell.textContent;
          return Number(cell.dataset.k ?? (cell.textContent === "–" ? "NaN" : cell.textContent));
        };
        const rows = [...body.rows].map((row) => [key(row), row]);
        rows.sort(([a], [b]) => {
          if (!numeric) return (descending ? -1 : 1) * a.localeCompare(b, "en");
          if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
          return descending ? b - a : a - b;
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  };

  document.querySelectorAll("table").forEach(sortable);
  document.querySelectorAll("figure.chart").forEach(draw);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((folded) => {
      if (folded.querySelectorAll("tr").length <= 120) folded.open = true;
    });
  });
})();
