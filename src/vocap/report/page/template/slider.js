"use strict";
// A slider over computed points: the facts of the point, for one of several choices.
for (const place of document.querySelectorAll(".slider")) {
  const { element, fieldset, radios } = widgets;
  const { label, positions, choices } = JSON.parse(place.querySelector("script.data").textContent);
  const facts = element("dl", { className: "facts" });
  facts.setAttribute("role", "status");
  const slider = element("input", { type: "range", min: 0, max: positions.length - 1, id: place.id + "-at" });
  const value = element("output");
  slider.value = Math.floor(positions.length / 2);
  let chosen = 0;
  const show = () => {
    value.textContent = positions[slider.value];
    slider.setAttribute("aria-valuetext", positions[slider.value]);
    const pairs = choices[chosen][1][slider.value];
    const line = ([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text));
    facts.replaceChildren(...pairs.map(line));
  };
  slider.addEventListener("input", show);
  const change = (number) => {
    chosen = number;
    show();
  };
  const names = choices.map(([name], number) => [name, number]);
  const title = element("label", { htmlFor: slider.id }, label);
  const setting = element("div", { className: "setting" }, title, slider, value);
  const models = fieldset("Model", ...radios(place.id + "-choice", names, 0, change));
  place.append(element("div", { className: "panel" }, models, setting), facts);
  show();
}
