"use strict";
// One language on one screen: the answers of sections/language.py. The address chooses it (#lang=ka), and with it the list,
// the picture and its table.
(() => {
  const place = document.querySelector(".why");
  if (!place) return;
  const { element, labelled } = widgets;
  const { names, packed } = JSON.parse(place.querySelector("script.data").textContent);
  const answers = widgets.unpack(packed);
  const choose = labelled(element("select"), "My language");
  const byName = Object.entries(names).sort(([, a], [, b]) => a.localeCompare(b, "en"));
  choose.append(element("option", { value: "" }, "choose a language"));
  choose.append(...byName.map(([value, name]) => element("option", { value }, name)));
  const shown = element("div", { className: "shown" });
  place.append(element("p", { className: "panel picture" }, choose), shown);

  const drawn = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  // ALP by size, with the sizes that allocations chose
  const curve = (points, allocations) => {
    const [width, height, left, below] = [440, 116, 52, 20];
    const [first, last] = [points[0], points.at(-1)];
    const values = points.map(([, alp]) => alp);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const x = (size) => left + ((width - left - 8) * size) / last[0];
    const y = (alp) => 16 + ((height - below - 20) * (high - alp)) / (high - low || 1);
    const text = (at, up, said, anchor) => drawn("text", { x: at, y: up, "text-anchor": anchor }, said);
    const whole = (value) => value.toLocaleString("en");
    const parts = [
      drawn("polyline", { points: points.map(([size, alp]) => `${x(size)},${y(alp)}`).join(" ") }),
      drawn("line", { x1: left, x2: width - 8, y1: height - below, y2: height - below }),
      text(left - 6, y(high) + 4, high.toFixed(1).replace("-", "−"), "end"),
      text(left - 6, y(low) + 4, low.toFixed(1).replace("-", "−"), "end"),
      text(x(first[0]), height - 5, whole(first[0]), "middle"),
      text(width - 8, height - 5, `${whole(last[0])} pieces`, "end"),
    ];
    const chosen = new Map(points);
    const marks = allocations.filter((one) => !one.by_pieces && chosen.has(one.size));
    marks.forEach(({ name, size }, k) => {
      const [at, up] = [x(size), y(chosen.get(size))];
      parts.push(drawn("circle", { cx: at, cy: up, r: 5 }));
      parts.push(text(at + 9, up + 14 + 13 * k, `${name}: ${whole(size)}`, "start"));
    });
    const said = `ALP by size, ${first[0]} to ${last[0]} pieces`;
    return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said }, ...parts);
  };

  // a paragraph, a list, or lines of a configuration; each line begins with what it is
  const block = (lines) => {
    const made = [];
    for (const line of lines) {
      const [kind, text] = line.startsWith("- ") ? ["LI", line.slice(2)] : line.startsWith("  ") ? ["PRE", line] : ["P", line];
      if (kind === "P") made.push(element("p", {}, text));
      else if (kind === "LI") {
        if (made.at(-1)?.tagName !== "UL") made.push(element("ul"));
        made.at(-1).append(element("li", {}, text));
      } else if (made.at(-1)?.tagName === "PRE") made.at(-1).append("\n" + text.slice(2));
      else made.push(element("pre", {}, text.slice(2)));
    }
    return made;
  };

  const show = async (code) => {
    const { text, curve: points, allocations } = (await answers)[code];
    const [head, ...parts] = text.trim().split("\n\n# ");
    const [, ...verdict] = head.split("\n");
    const wide = matchMedia("(min-width: 40.01rem)").matches;
    const folds = parts.map((part) => {
      const [title, ...lines] = part.split("\n");
      const summary = element("summary", {}, element("span", { className: "caption-title" }, title));
      return element("details", { open: wide }, summary, ...block(lines));
    });
    if (points.length > 1) folds.splice(1, 0, element("figure", {}, element("figcaption", {}, "ALP of its lines by size of a vocabulary of its own"), curve(points, allocations)));
    choose.value = code;
    shown.replaceChildren(element("p", { className: "answer" }, verdict.join(" ")), element("div", { className: "parts" }, ...folds));
    shown.dataset.language = code;
  };

  const follow = async () => {
    const code = location.hash.match(/^#lang=([\w-]+)$/)?.[1];
    if (!(code in names)) return;
    await show(code);
    // at once: charts that are drawn on a long path move the part
    document.getElementById("language").scrollIntoView({ behavior: "instant" });
  };
  choose.addEventListener("change", () => choose.value && (location.hash = "lang=" + choose.value));
  window.addEventListener("hashchange", follow);
  follow();

  const table = document.querySelector('[aria-describedby="table-language-sizes-caption"]');
  for (const row of table?.tBodies[0].rows ?? []) {
    const [cell] = row.cells;
    if (cell.textContent in names) cell.replaceChildren(element("a", { href: "#lang=" + cell.textContent }, cell.textContent));
  }
})();
