"use strict";
// Elements that several parts of the page share.
const widgets = (() => {
  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  const labelled = (made, label) => {
    made.setAttribute("aria-label", label);
    return made;
  };

  const fieldset = (title, ...children) => element("fieldset", {}, element("legend", {}, title), ...children);

  const plain = (text, click) => {
    const button = element("button", { type: "button", className: "plain" }, text);
    button.addEventListener("click", click);
    return button;
  };

  const radios = (name, choices, chosen, change) =>
    choices.map(([label, value]) => {
      const radio = element("input", { type: "radio", name, checked: value === chosen });
      radio.dataset.value = value;
      radio.addEventListener("change", () => change(value));
      return element("label", {}, radio, label);
    });

  // a button a language, pressed or not, and a field to find one; `changed` gets the pressed codes
  const languageChips = (languages, pressed, label, changed) => {
    const picked = new Set(pressed);
    const chips = labelled(element("div", { className: "chips" }), label);
    chips.setAttribute("role", "group");
    const buttons = new Map();
    const press = (codes, on) => {
      for (const code of codes) {
        if (on) picked.add(code);
        else picked.delete(code);
        buttons.get(code)?.setAttribute("aria-pressed", String(on));
      }
      changed([...picked].sort());
    };
    const toggle = (code) => press([code], !picked.has(code));
    for (const { code, name, colour } of languages) {
      const dot = element("span", { className: "dot", ariaHidden: "true" });
      const button = element("button", { type: "button", className: colour, title: code }, dot, name);
      button.setAttribute("aria-pressed", String(picked.has(code)));
      button.addEventListener("click", () => toggle(code));
      buttons.set(code, button);
      chips.append(button);
    }
    const search = element("input", { type: "search", placeholder: "Find a language" });
    labelled(search, "Find a language");
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      for (const { code, name } of languages) {
        buttons.get(code).hidden = !(name.toLowerCase().includes(wanted) || code.toLowerCase() === wanted);
      }
    });
    return { chips, search, picked, press, toggle, has: (code) => buttons.has(code) };
  };

  // a number as it is shown; NaN for a dash or a word
  const numberOf = (text) => Number(text.replace(/[, %+]/g, "").replace("−", "-") || NaN);

  // a click on a heading sorts, numbers as they are shown
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
          const text = row.cells[place].textContent;
          return numeric ? numberOf(text) : text;
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

  // JSON from base64 of its compressed text
  const unpack = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };

  return { element, labelled, unpack, fieldset, plain, radios, languageChips, sortable };
})();
