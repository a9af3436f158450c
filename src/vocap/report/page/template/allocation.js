"use strict";
// The paper's rule of `vocap allocate` in the browser: the functions of src/vocap/allocation/*.py under their names,
// with the same order of operations, so that sizes agree. A class of pieces (overlap.js) counts as `times` pieces.
const allocation = (() => {
  // rows of T that are no pieces of the union: special tokens (those of XLM-R unless said), bytes and symbols
  const reserved = (settings) => (settings.special_tokens ?? 5) + (settings.other_rows ?? 0);

  const samplingProbabilities = (n, alpha) => {
    const most = Math.max(...n);
    const powers = n.map((count) => (count / most) ** alpha);
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / sum);
  };

  // numbers of the characters that make up `coverage` of the expected sample; `tab` is counted but never taken
  const requiredCharacters = (tables, q, coverage, tab) => {
    const expected = new Map();
    tables.forEach(({ character, perLine }, k) => {
      character.forEach((c, row) => expected.set(c, (expected.get(c) ?? 0) + q[k] * perLine[row]));
    });
    let total = 0;
    for (const frequency of expected.values()) total += frequency;
    const falling = [...expected].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const required = [];
    let covered = 0;
    for (const [character, frequency] of falling) {
      if (Math.fround(covered / total) >= Math.fround(coverage)) break;
      covered += frequency;
      if (character !== tab) required.push(character);
    }
    return required;
  };

  // by language: mean characters of a line of all languages / of this one; 1 for nats a line
  const perCharacter = (languages, { per }) => {
    const mean = languages.reduce((sum, { length }) => sum + length, 0) / languages.length;
    return languages.map(({ length }) => (per === "character" ? mean / length : 1));
  };

  const fairValues = (alp, fairness) => {
    const best = Math.max(...alp);
    if (fairness === 0 || best >= 0) return alp;
    return alp.map((value) => (best * ((value / best) ** (1 + fairness) + fairness)) / (1 + fairness));
  };

  const upperHull = (sizes, alp) => {
    const corners = [];
    const below = (first, middle, last) =>
      (alp[middle] - alp[first]) * (sizes[last] - sizes[first]) <=
      (alp[last] - alp[first]) * (sizes[middle] - sizes[first]);
    sizes.forEach((_, point) => {
      while (corners.length > 1 && below(corners.at(-2), corners.at(-1), point)) corners.pop();
      corners.push(point);
    });
    const hull = [...alp];
    for (let k = 1; k < corners.length; k++) {
      const [left, right] = [corners[k - 1], corners[k]];
      const slope = (alp[right] - alp[left]) / (sizes[right] - sizes[left]);
      for (let point = left + 1; point < right; point++) {
        hull[point] = slope * (sizes[point] - sizes[left]) + alp[left];
      }
    }
    return hull;
  };

  const hullGains = (sizes, alp) => {
    const values = upperHull(sizes, alp);
    return sizes.slice(1).map((size, k) => (1000 * (values[k + 1] - values[k])) / (size - sizes[k]));
  };

  // languages: those of overlap.js, with `sizes` and `alp`; required: numbers of classes
  const makeProblem = (languages, weights, required, times, capacity, { fairness = 0 } = {}) => {
    const ladders = languages.map((language, k) => {
      const value = fairValues(language.alp, fairness);
      const gains = hullGains(language.sizes, value).map((gain) => weights[k] * gain);
      return { ...language, weight: weights[k], value, gains };
    });
    return { ladders, required, times, capacity };
  };

  class Union {
    constructor(problem, ranks) {
      this.problem = problem;
      this.ranks = [...ranks];
      this.count = new Int32Array(problem.times.length);
      for (const piece of problem.required) this.count[piece] += 1;
      this.ranks.forEach((rank, k) => this.#add(problem.ladders[k], rank));
      this.size = this.count.reduce((sum, count, piece) => sum + (count ? problem.times[piece] : 0), 0);
    }

    #add({ piece, start, stop }, rank) {
      for (let k = 0; k < piece.length; k++) if (start[k] <= rank && rank < stop[k]) this.count[piece[k]] += 1;
    }

    step(language) {
      const { times, ladders } = this.problem;
      const rank = this.ranks[language] + 1;
      for (const piece of ladders[language].entering[rank]) {
        if (this.count[piece]++ === 0) this.size += times[piece];
      }
      for (const piece of ladders[language].leaving[rank]) {
        if (--this.count[piece] === 0) this.size -= times[piece];
      }
      this.ranks[language] = rank;
    }
  }

  const start = (problem) => new Union(problem, problem.ladders.map(() => 0));

  const nextGain = (union, language) => {
    const gain = union.problem.ladders[language].gains[union.ranks[language]];
    return gain > 0 ? gain : -Infinity;
  };

  const allocateGreedy = (problem) => {
    const union = start(problem);
    let fitting = null; // size of the last union within the capacity
    const gains = problem.ladders.map((_, language) => nextGain(union, language));
    for (;;) {
      if (union.size <= problem.capacity) fitting = union.size;
      const best = gains.reduce((found, gain, language) => (gain > gains[found] ? language : found), 0);
      if (union.size >= problem.capacity || gains[best] === -Infinity) break;
      union.step(best);
      gains[best] = nextGain(union, best);
    }
    return { ranks: union.ranks, union: union.size, count: union.count, fitting };
  };

  // overlap: the result of overlap.read; settings: those of an entry of the configuration, and `coverage`
  const solve = ({ times, languages, characters }, settings) => {
    const active = languages.filter(({ code }) => !settings.without.includes(code));
    const q = samplingProbabilities(active.map(({ n }) => n), settings.alpha);
    const weights = q.map((share, k) => share ** settings.beta * perCharacter(active, settings)[k]);
    const known = active.map((_, k) => k).filter((k) => active[k].table.character.length);
    const required = requiredCharacters(
      known.map((k) => active[k].table),
      known.map((k) => q[k]),
      settings.coverage,
      characters.indexOf("\t"),
    );
    const problem = makeProblem(active, weights, required, times, settings.total - reserved(settings), settings);
    const choice = allocateGreedy(problem);
    const { capacity } = problem;
    let single = 0;
    for (let character = 0; character < characters.length; character++) single += choice.count[character] > 0;
    return {
      ...{ problem, choice, active, required: required.length },
      sizes: choice.ranks.map((rank, k) => active[k].sizes[rank]),
      refused: choice.union > capacity && single > capacity ? single + reserved(settings) : null, // the smallest T
      clipped: Math.max(0, choice.union - capacity),
      short: Math.max(0, capacity - choice.union),
    };
  };

  // whether an allocation has settings that `solve` computes; those of other rules are shown from their files
  const computes = ({ rule }) => rule === "paper";

  return { reserved, Union, makeProblem, start, solve, computes };
})();
