"use strict";
(() => {
  const { element, fieldset, plain, radios, languageChips, sortable } = widgets;

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
    const shown = new Set(groups);
    const set = (name, value) => view.signal(name, value).runAsync();
    const standing = languageChips(languages, chosen, "Languages that stand out", (codes) => set("chosen", codes));
    const boxes = groups.map((group) => {
      const box = element("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) shown.add(group);
        else shown.delete(group);
        set("shown", [...shown]);
      });
      return element("label", {}, box, group);
    });
    const measures = [["ALP", false], ["gain over the smallest size", true]];
    const panel = element(
      "div",
      { className: "panel" },
      fieldset("Groups", ...boxes),
      fieldset("Show", ...radios(figure.dataset.chart + "-measure", measures, false, (gain) => set("gain", gain))),
      fieldset("Languages", standing.search, plain("Clear", () => standing.press([...standing.picked], false))),
      standing.chips,
    );
    figure.querySelector(".drawing").before(panel);
    view.addEventListener("click", (event, item) => {
      const code = item?.datum?.l ?? item?.datum?.datum?.l;
      if (standing.has(code)) standing.toggle(code);
    });
  };

  document.querySelectorAll("table").forEach(sortable);
  // one chart after the other once the page stands, so that it can be read meanwhile
  const waiting = [...document.querySelectorAll("figure.chart")];
  const drawNext = () => {
    const figure = waiting.shift();
    if (figure) draw(figure).finally(() => setTimeout(drawNext));
  };
  window.addEventListener("load", drawNext);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((folded) => {
      if (folded.querySelectorAll("tr").length <= 120) folded.open = true;
    });
  });
})();
