"use strict";
// The explorer: the paper's rule under other settings, against an allocation of the run.
(() => {
  const { element, labelled, fieldset, plain, languageChips } = widgets;
  const place = document.querySelector(".explorer");
  const data = JSON.parse(place.querySelector("script.data").textContent);
  const MEASURES = ["ALP", "ALP, held out", "Tokens per line"];
  const COLUMNS = ["Language", "Size", "was", ...MEASURES.flatMap((measure) => [measure, "change"])];
  const MOST_NAMED = 4;

  const whole = (value) => value.toLocaleString("en");
  const decimal = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
  const signed = (value) => (Math.abs(value) < 0.005 ? "0" : (value > 0 ? "+" : "") + decimal(value));
  const percent = (share) => (100 * share).toFixed(2) + " %";
  const names = new Map(data.languages.map(({ code, name }) => [code, name]));
  const shown = data.shown.map((code) => data.languages.find((language) => language.code === code)); // by name

  let read = null; // the result of overlap.read
  // the allocations of the paper's rule to start from; in a run without one, that rule with the settings of another
  const starts = data.present.filter((entry) => allocation.computes(entry.settings));
  if (!starts.length) starts.push({ ...data.present[0], name: `paper's rule, T = ${data.present[0].settings.total}` });
  let origin = starts[0];
  let present = data.present.find(({ name }) => name === origin.name) ?? data.present[0]; // to compare with
  const live = (entry) => ({ ...structuredClone(entry.settings), rule: "paper" });
  let settings = live(origin);
  let latest = 0; // the number of the last touch: older work stops

  // ---- the result: a sentence, a table, lines to copy
  const said = element("p", { className: "said", role: "status" }, "Reading the overlap of the vocabularies …");
  const rows = new Map();
  const body = element("tbody");
  for (const { code, name } of shown) {
    const head = element("th", { scope: "row", title: code }, name);
    const cells = COLUMNS.slice(1).map(() => element("td", { className: "n" }, "–"));
    rows.set(code, cells);
    body.append(element("tr", {}, head, ...cells));
  }
  const heads = COLUMNS.map((title, k) => element("th", { scope: "col", className: k ? "n" : "" }, title));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
  const scroll = element("div", { className: "scroll", role: "region", tabIndex: 0 }, table);
  labelled(scroll, "Size and ALP of each language");
  const lines = labelled(element("pre", { tabIndex: 0, role: "region" }), "Configuration and command of these settings");
  const copied = element("span", { role: "status", className: "count" });
  const copy = plain("Copy", async () => {
    try {
      await navigator.clipboard.writeText(lines.textContent);
      copied.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(lines);
      copied.textContent = "selected: copy it with the keyboard";
    }
  });

  const rowOf = (language, size) => {
    const rank = language.sizes.indexOf(size);
    const at = (values) => (rank < 0 ? null : values[rank]);
    return { alp: at(language.alp), heldout: at(language.heldout), tokens: at(language.tokens) };
  };

  // fill the table; gives the languages whose ALP moved, the largest rise first
  const show = (solution) => {
    const sizes = new Map(solution.active.map(({ code }, k) => [code, solution.sizes[k]]));
    const most = Math.max(...sizes.values());
    const moved = [];
    for (const language of read.languages) {
      const { code } = language;
      const [size, before] = [sizes.get(code) ?? null, present.sizes[code] ?? null];
      const [now, was] = [rowOf(language, size), present.measured[code] ?? rowOf(language, before)];
      const cells = rows.get(code);
      cells[0].textContent = size === null ? "off" : whole(size);
      if (size === null) cells[0].removeAttribute("style");
      else cells[0].style.setProperty("--bar", (100 * size) / most + "%");
      cells[1].textContent = before === null ? "–" : whole(before);
      ["alp", "heldout", "tokens"].forEach((measure, k) => {
        const change = now[measure] === null || was[measure] === null ? null : now[measure] - was[measure];
        cells[2 + 2 * k].textContent = now[measure] === null ? "–" : decimal(now[measure]);
        cells[3 + 2 * k].textContent = change === null ? "–" : signed(change);
        if (measure === "alp") cells[3].className = "n" + (change > 0 ? " up" : change < 0 ? " down" : "");
        if (measure === "alp" && change) moved.push({ code, change });
      });
    }
    return moved.sort((a, b) => b.change - a.change);
  };

  const list = (moved) =>
    moved.slice(0, MOST_NAMED).map(({ code, change }) => `${names.get(code)} ${signed(change)}`).join(", ");

  const describe = (solution, moved) => {
    const { choice, problem } = solution;
    const gain = moved.filter(({ change }) => change > 0);
    const lose = moved.filter(({ change }) => change < 0).reverse();
    const { clipped, short } = solution;
    const outcome = clipped ? `: ${whole(clipped)} are clipped.` : short ? `: ${whole(short)} stay free.` : ".";
    const places = `${whole(choice.union)} pieces for ${whole(problem.capacity)} places${outcome}`;
    const counts = `${gain.length} gain and ${lose.length} lose`;
    const parts = [
      `${solution.active.length} languages, ${places}`,
      moved.length ? `Against ${present.name}, ${counts}.` : `The sizes of ${present.name}.`,
    ];
    if (choice.fitting === null) parts.push("The smallest sizes of all languages exceed T already.");
    if (!allocation.computes(present.settings)) {
      parts.push(`That one is shown as computed (rule ${present.settings.rule}); the page computes rule paper.`);
    }
    if (gain.length) parts.push(`Most gained (nats per line): ${list(gain)}.`);
    if (lose.length) parts.push(`Most lost: ${list(lose)}.`);
    return parts.join(" ");
  };

  const SEE_ALSO = "# one entry more under `allocation:` of the configuration, or a file of its own after the run's:\n";
  const configuration = () => {
    const { total, alpha, beta, fairness, per, rule, coverage, without } = settings;
    const words = Object.entries({ total, alpha, beta, fairness, per, rule });
    const yaml = words.map(([key, value]) => `${key}: ${value}`);
    if (without.length) yaml.push(`without: ${JSON.stringify(without)}`);
    const options = words.map(([key, value]) => ` --${key} ${value}`);
    if (without.length) options.push(` --without ${without.join(",")}`);
    // a configuration has these rows in its sections text and layout
    options.push(` --other-rows ${settings.other_rows} --special-tokens ${settings.special_tokens}`);
    return (
      `${SEE_ALSO}# snakemake --cores all --configfile RUN.yaml THIS.yaml -- allocation\n` +
      `allocation:\n  explored: {${yaml.join(", ")}}\n\n` +
      `# or at once:\n# vocap allocate --vocabularies ${data.folder}/vocabularies` +
      ` --weights ${data.folder}/corpora/weights.tsv` +
      `${options.join("")} --coverage ${coverage} -o explored\n`
    );
  };

  // no allocation: the reason, and an empty table
  const refuse = (number, why) => {
    said.textContent = `No allocation: ${why}`;
    lines.textContent = "# no allocation has these settings\n";
    for (const cells of rows.values()) {
      cells.forEach((cell) => (cell.textContent = "–"));
      cells[0].removeAttribute("style");
    }
    place.dataset.solved = JSON.stringify({ number, refused: why });
  };

  // ---- the work
  const choose = (number) => {
    if (number !== latest || !read) return;
    copied.textContent = "";
    if (settings.without.length >= read.languages.length) {
      refuse(number, "no language is left to allocate to. Switch some on.");
      return;
    }
    const solution = allocation.solve(read, settings);
    if (solution.refused) {
      const least = whole(solution.refused);
      refuse(number, `T = ${whole(settings.total)} does not hold the characters of these languages. Take ${least} or more.`);
      return;
    }
    lines.textContent = configuration();
    said.textContent = describe(solution, show(solution));
    // the picture of the first screen; nothing for the run's own sizes
    const sizes = Object.fromEntries(solution.active.map(({ code }, k) => [code, solution.sizes[k]]));
    const moved = JSON.stringify(settings) !== JSON.stringify(live(origin));
    const detail = moved ? { sizes, before: present.sizes, name: present.name } : null;
    document.dispatchEvent(new CustomEvent("allocated", { detail }));
    place.dataset.solved = JSON.stringify({ number, sizes: solution.sizes });
  };

  const touch = () => {
    setTimeout(choose, 0, ++latest);
  };

  // ---- the controls: any value that a configuration takes, in digits that YAML reads as a number
  const setting = (key, label, max, step, hint) => {
    const id = "explore-" + key;
    const [least, most, digits] = key === "total" ? [allocation.reserved(settings) + 1, 1e9, 1] : [0, data.limits[key], 1e6];
    const slider = element("input", { type: "range", id, min: 0, max, step, value: settings[key] });
    const field = element("input", { type: "number", min: least, max: most, step: "any", value: settings[key] });
    labelled(field, label);
    const set = (text) => {
      const value = Number(text);
      if (text.trim() === "" || !Number.isFinite(value)) return;
      settings[key] = Math.min(most, Math.max(least, Math.round(value * digits) / digits));
      touch();
    };
    slider.addEventListener("input", () => set((field.value = slider.value)));
    field.addEventListener("input", () => set((slider.value = field.value)));
    field.addEventListener("change", () => (field.value = settings[key]));
    const shown = () => (slider.value = field.value = settings[key]);
    const name = element("label", { htmlFor: id }, label);
    const row = element("div", { className: "setting", title: hint }, name, slider, field);
    // from the least union to the largest, in some hundred steps
    const limit = (low, high) => {
      const step = 10 ** Math.max(0, Math.floor(Math.log10(high - low)) - 2);
      const [min, max] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
      Object.assign(slider, { min, max, step, value: settings[key] });
    };
    return { row, shown, limit };
  };
  const sliders = {
    total: setting("total", "T: ids in all", 500000, 1000, "pieces and special tokens"),
    alpha: setting("alpha", "alpha: how much text counts in the sample", 1, 0.05, "0: all languages alike, 1: by their lines. q = n^alpha / sum (Equation 3)"),
    beta: setting("beta", "beta: how much that share counts in the choice", 1, 0.05, "0: all languages alike, 1: in full. A language weighs q^beta (Equation 2)"),
    fairness: setting("fairness", "fairness: help for badly served languages", 20, 0.5, "a nat counts (ALP / best ALP)^fairness as much"),
  };
  const chips = languageChips(
    shown,
    data.languages.map(({ code }) => code),
    "Languages that take part",
    (codes) => {
      settings.without = data.languages.map(({ code }) => code).filter((code) => !codes.includes(code));
      touch();
    },
  );
  const start = (name) => {
    origin = starts.find((entry) => entry.name === name);
    settings = live(origin);
    if (data.present.some((entry) => entry.name === name)) against.value = name;
    present = data.present.find((entry) => entry.name === against.value);
    Object.values(sliders).forEach(({ shown }) => shown());
    const off = settings.without;
    chips.press([...names.keys()].filter((code) => !off.includes(code)), true);
    chips.press(off, false);
  };
  const select = (entries) => element("select", {}, ...entries.map(({ name }) => element("option", {}, name)));
  const from = labelled(select(starts), "Start from");
  const against = labelled(select(data.present), "Compare with");
  from.addEventListener("change", () => start(from.value));
  against.addEventListener("change", () => {
    present = data.present.find((entry) => entry.name === against.value);
    touch();
  });
  const all = (on) => () => chips.press([...names.keys()], on);
  const panel = element(
    "div",
    { className: "panel" },
    fieldset("Start from", from, plain("Reset", () => start(from.value))),
    fieldset("Compare with", against),
    element("div", { className: "settings" }, ...Object.values(sliders).map(({ row }) => row)),
    fieldset("Languages", chips.search, plain("All on", all(true)), plain("All off", all(false))),
    chips.chips,
  );
  place.append(panel, said, scroll, element("details", { className: "copy" }, element("summary", {}, "Lines to copy"), copy, copied, lines));
  start(origin.name);

  // ---- the data are read shortly before the explorer is visible
  const load = async () => {
    try {
      read = await overlap.read(data);
    } catch (error) {
      said.textContent = "This browser cannot read the data: " + error.message;
      return;
    }
    const problem = allocation.makeProblem(read.languages, data.languages.map(() => 1), [], read.times, 0);
    const most = new allocation.Union(problem, read.languages.map(({ sizes }) => sizes.length - 1)).size;
    const least = allocation.start(problem).size;
    const apart = allocation.reserved(settings);
    sliders.total.limit(least + apart, most + apart);
    choose(latest);
  };
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    load();
  }, { rootMargin: "1000px" });
  near.observe(place);
})();
