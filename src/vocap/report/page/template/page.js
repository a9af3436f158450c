"use strict";
(() => {
  const { element, fieldset, plain, radios, languageChips, sortable } = widgets;

  // the tooltip of a mark: its text is made from the row when the mark is pointed at, not for thousands of rows
  const describe = (columns) => (row, clean) => {
    const lines = columns.filter(([, key]) => (row[key] ?? null) !== null).map(([title, key, digits]) => {
      const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
      const value = digits === null ? row[key] : row[key].toLocaleString("en", format).replace("-", "−");
      return `<tr><td class="key">${clean(title)}</td><td class="value">${clean(value)}</td></tr>`;
    });
    return `<table><tbody>${lines.join("")}</tbody></table>`;
  };

  // charts: the still picture stays until the live one is drawn, or where that fails
  const draw = async (figure) => {
    const place = figure.querySelector(".drawing");
    const spec = JSON.parse(figure.querySelector("script.spec").textContent);
    const driven = figure.querySelector("script.controls");
    const tooltip = driven ? { formatTooltip: describe(JSON.parse(driven.textContent).tooltip) } : undefined;
    const stage = element("div");
    stage.style.width = place.clientWidth + "px";
    place.append(stage);
    try {
      // logLevel 1: errors only, a chart without chosen languages needs no warning
      const options = { actions: false, ast: true, renderer: "svg", mode: "vega-lite", logLevel: 1, tooltip };
      const { view } = await vegaEmbed(stage, spec, options);
      place.querySelector(":scope > svg")?.remove();
      stage.style.width = "";
      place.classList.add("live");
      figure.dataset.drawn = "yes";
      return view;
    } catch (error) {
      stage.remove();
      console.error("chart " + figure.dataset.chart + ": " + error.message);
      return null;
    }
  };

  // the controls of the ALP curves: highlighted languages, groups, ALP or its gain. They are there from the start, so
  // that a keyboard finds them; returns the function that connects them with the chart once it is drawn
  const controls = (figure) => {
    const { languages, chosen, groups, gain } = JSON.parse(figure.querySelector("script.controls").textContent);
    const signals = { chosen, shown: groups, gain };
    let view = null;
    const set = (name, value) => {
      signals[name] = value;
      view?.signal(name, value).runAsync();
    };
    const standing = languageChips(languages, chosen, "Highlighted languages", (codes) => set("chosen", codes));
    const boxes = groups.map((group) => {
      const box = element("input", { type: "checkbox", checked: true });
      box.dataset.group = group;
      box.addEventListener("change", () => set("shown", groups.filter((name) => boxOf(name).checked)));
      return element("label", {}, box, group);
    });
    const measures = [["ALP", false], ["gain over the smallest size", true]];
    const panel = element(
      "div",
      { className: "panel" },
      fieldset("Text", ...boxes),
      fieldset("Show", ...radios(figure.dataset.chart + "-measure", measures, gain, (on) => set("gain", on))),
      fieldset("Languages", standing.search, plain("Clear", () => standing.press([...standing.picked], false))),
      standing.chips,
    );
    const boxOf = (group) => panel.querySelector(`[data-group="${group}"]`);
    figure.querySelector(".drawing").before(panel);
    figure.querySelector(".drawing").addEventListener("pointerenter", () => set("pointed", true), { once: true });
    return (drawn) => {
      view = drawn;
      for (const [name, value] of Object.entries(signals)) view.signal(name, value);
      view.runAsync();
      view.addEventListener("click", (event, item) => {
        const code = item?.datum?.l ?? item?.datum?.datum?.l;
        if (standing.has(code)) standing.toggle(code);
      });
    };
  };

  // a table that is folded becomes sortable when it is opened
  for (const table of document.querySelectorAll("table")) {
    const folded = table.closest("details");
    if (folded && !folded.open) folded.addEventListener("toggle", () => sortable(table), { once: true });
    else sortable(table);
  }

  // a chart is drawn shortly before it is visible, one after the other; on paper its still picture is used
  const figures = [...document.querySelectorAll("figure.chart")];
  const driven = figures.filter((figure) => figure.querySelector("script.controls"));
  const connect = new Map(
    driven.map((figure) => [figure, (figure.dataset.chart === "languages" ? picture : controls)(figure)]),
  );
  let last = Promise.resolve();
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        last = last.then(() => draw(target)).then((view) => view && connect.get(target)?.(view));
      }
    },
    { rootMargin: "200px 0px" },
  );
  window.addEventListener("load", () => figures.forEach((figure) => near.observe(figure)));

  // a link into a folded part opens it
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    let folded = target?.closest("details");
    if (!folded) return;
    for (; folded; folded = folded.parentElement.closest("details")) folded.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  unfold();

  // on paper short tables are open, and the long ones that the reader opened
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened = opened.filter((folded) => folded.querySelectorAll("tr").length <= 40);
    opened.forEach((folded) => (folded.open = true));
  });
  window.addEventListener("afterprint", () => opened.forEach((folded) => (folded.open = false)));
})();
