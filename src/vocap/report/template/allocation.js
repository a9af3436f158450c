"use strict";
// `vocap allocate` in the browser. Functions bear the names of src/vocap/allocation/*.py and do the same in the
// same order, so that sizes agree; a class of pieces (see overlap.js) stands for a piece and counts `times`.
const allocation = (() => {
  const SPECIALS = 5; // rows of T that are not pieces
  const ROUNDS = 60; // of the bound
  const REACH = 6; // steps up or down that one exchange may take a language
  const SLOTS = 2048; // resolution of the knapsack
  const TRIES = 12; // budgets whose choice is counted exactly

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

  const stepGains = (sizes, alp, curve) => {
    const values = curve === "hull" ? upperHull(sizes, alp) : alp;
    return sizes.slice(1).map((size, k) => (1000 * (values[k + 1] - values[k])) / (size - sizes[k]));
  };

  // languages: what overlap.js reads of each, with `sizes` and `alp`; required: numbers of classes
  const makeProblem = (languages, weights, required, times, capacity, { fairness = 0, curve = "hull" } = {}) => {
    const ladders = languages.map((language, k) => {
      const value = fairValues(language.alp, fairness);
      const gains = stepGains(language.sizes, value, curve).map((gain) => weights[k] * gain);
      return { ...language, weight: weights[k], value, gains };
    });
    return { ladders, required, times, capacity };
  };

  const objective = ({ ladders }, ranks) =>
    ranks.reduce((sum, rank, k) => sum + ladders[k].weight * ladders[k].value[rank], 0);

  class Union {
    constructor(problem, ranks) {
      this.problem = problem;
      this.ranks = [...ranks];
      this.count = new Int32Array(problem.times.length);
      for (const piece of problem.required) this.count[piece] += 1;
      this.ranks.forEach((rank, k) => this.#add(problem.ladders[k], rank, 1));
      this.size = this.count.reduce((sum, count, piece) => sum + (count ? problem.times[piece] : 0), 0);
    }

    #add({ piece, start, stop }, rank, one) {
      for (let k = 0; k < piece.length; k++) if (start[k] <= rank && rank < stop[k]) this.count[piece[k]] += one;
    }

    growth(language) {
      const { times, ladders } = this.problem;
      const rank = this.ranks[language] + 1;
      let grown = 0;
      for (const piece of ladders[language].entering[rank]) if (this.count[piece] === 0) grown += times[piece];
      for (const piece of ladders[language].leaving[rank]) if (this.count[piece] === 1) grown -= times[piece];
      return grown;
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

    // how many pieces each size of a language would add to the union of all the others
    costs(language) {
      const ladder = this.problem.ladders[language];
      this.#add(ladder, this.ranks[language], -1);
      const edges = new Float64Array(ladder.sizes.length + 1);
      ladder.piece.forEach((piece, k) => {
        if (this.count[piece] > 0) return;
        edges[ladder.start[k]] += this.problem.times[piece];
        edges[ladder.stop[k]] -= this.problem.times[piece];
      });
      this.#add(ladder, this.ranks[language], 1);
      let sum = 0;
      return ladder.sizes.map((_, rank) => (sum += edges[rank]));
    }
  }

  const start = (problem) => new Union(problem, problem.ladders.map(() => 0));

  const nextGain = (union, language) => {
    const gain = union.problem.ladders[language].gains[union.ranks[language]];
    return gain > 0 ? gain : -Infinity;
  };

  const allocateGreedy = (problem, union = start(problem)) => {
    let [fitting, fittingUnion, last] = [null, null, null];
    const gains = problem.ladders.map((_, language) => nextGain(union, language));
    for (;;) {
      if (union.size <= problem.capacity) [fitting, fittingUnion] = [[...union.ranks], union.size];
      const best = gains.reduce((found, gain, language) => (gain > gains[found] ? language : found), 0);
      if (union.size >= problem.capacity || gains[best] === -Infinity) break;
      union.step(best);
      gains[best] = nextGain(union, best);
      last = best;
    }
    if (union.size <= problem.capacity || !fitting) last = null;
    return { ranks: [...union.ranks], union: union.size, fitting, fittingUnion, last };
  };

  const allocateBisect = (problem) => {
    const falling = problem.ladders.map(({ gains }) => {
      let least = Infinity;
      return gains.map((gain) => (least = Math.min(least, gain)));
    });
    const thresholds = [...new Set(falling.flat().filter((gain) => gain > 0))].sort((a, b) => b - a);
    const reached = (taken) =>
      falling.map((steps) => (taken ? steps.filter((gain) => gain >= thresholds[taken - 1]).length : 0));
    const fits = (taken) => new Union(problem, reached(taken)).size <= problem.capacity;
    let [low, high] = [0, thresholds.length + 1];
    if (!fits(0)) return allocateGreedy(problem);
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    return allocateGreedy(problem, new Union(problem, reached(low)));
  };

  const bestStep = (union, capacity) => {
    let [best, bestRate] = [null, 0];
    union.problem.ladders.forEach((ladder, language) => {
      const gain = nextGain(union, language);
      if (gain === -Infinity) return;
      const growth = union.growth(language);
      if (capacity !== null && union.size + growth > capacity) return;
      const rank = union.ranks[language];
      const gained = (gain * (ladder.sizes[rank + 1] - ladder.sizes[rank])) / 1000;
      const rate = growth > 0 ? gained / growth : Infinity;
      if (rate > bestRate) [best, bestRate] = [language, rate];
    });
    return best;
  };

  const fill = (union) => {
    for (let best; (best = bestStep(union, union.problem.capacity)) !== null; ) union.step(best);
  };

  const overshoot = (union) => {
    if (union.size >= union.problem.capacity) return null;
    const best = bestStep(union, null);
    if (best !== null) union.step(best);
    return best;
  };

  // half to even, as NumPy rounds
  const rint = (x) => {
    const low = Math.floor(x);
    const rest = x - low;
    return rest < 0.5 ? low : rest > 0.5 ? low + 1 : low + (low & 1);
  };

  const knapsack = (problem, ranks) => {
    const union = new Union(problem, ranks);
    const options = problem.ladders.map((ladder, language) => {
      const present = ranks[language];
      const near = [];
      const last = Math.min(ladder.sizes.length - 1, present + REACH);
      for (let rank = Math.max(0, present - REACH); rank <= last; rank++) near.push(rank);
      const added = union.costs(language);
      const cost = near.map((rank) => added[rank] - added[present]);
      const gain = near.map((rank) => ladder.weight * (ladder.value[rank] - ladder.value[present]));
      return { near, cost, gain };
    });
    const reach = Math.max(...options.flatMap(({ cost }) => cost.map(Math.abs)));
    const unit = Math.max(1, Math.ceil((8 * reach) / SLOTS));
    const middle = SLOTS / 2; // the slot of no change
    let values = new Float64Array(SLOTS).fill(-Infinity);
    values[middle] = 0;
    const taken = options.map(({ cost, gain }) => {
      const best = new Float64Array(SLOTS).fill(-Infinity);
      const which = new Int16Array(SLOTS);
      cost.forEach((pieces, option) => {
        const shift = rint(pieces / unit);
        for (let slot = Math.max(0, shift); slot < Math.min(SLOTS, SLOTS + shift); slot++) {
          const moved = values[slot - shift] + gain[option];
          if (moved > best[slot]) [best[slot], which[slot]] = [moved, option];
        }
      });
      values = best;
      return which;
    });
    const found = [];
    const slack = middle + Math.floor((problem.capacity - union.size) / unit);
    for (let back = 0; back < TRIES; back++) {
      const end = Math.min(SLOTS, slack + Math.floor(TRIES / 3) - back + 1);
      let slot = end > 0 ? 0 : middle;
      for (let other = 1; other < end; other++) if (values[other] > values[slot]) slot = other;
      if (values[slot] <= 0) continue;
      const choice = [];
      for (let k = options.length - 1; k >= 0; k--) {
        const option = taken[k][slot];
        choice.unshift(options[k].near[option]);
        slot -= rint(options[k].cost[option] / unit);
      }
      if (!found.some((other) => other.every((rank, k) => rank === choice[k]))) found.push(choice);
    }
    return found;
  };

  const improve = (problem, ranks, rounds = 12) => {
    let [best, bestValue] = [[...ranks], objective(problem, ranks)];
    for (let round = 0; round < rounds; round++) {
      const startValue = bestValue;
      for (const candidate of knapsack(problem, best)) {
        const union = new Union(problem, candidate);
        if (union.size > problem.capacity) continue;
        fill(union);
        const value = objective(problem, union.ranks);
        if (value > bestValue) [best, bestValue] = [[...union.ranks], value];
      }
      if (bestValue <= startValue) break;
    }
    return best;
  };

  const allocateCostAware = (problem, paper) => {
    let union = start(problem);
    if (union.size > problem.capacity || !paper.fitting) {
      return { ranks: union.ranks, union: union.size, fitting: null, fittingUnion: null, last: null };
    }
    fill(union);
    const filled = new Union(problem, paper.fitting);
    fill(filled);
    const choices = [union.ranks, filled.ranks, paper.fitting, union.ranks.map(() => 0)];
    const worth = choices.map((ranks) => objective(problem, ranks));
    union = new Union(problem, improve(problem, choices[worth.indexOf(Math.max(...worth))]));
    const [fitting, fittingUnion] = [[...union.ranks], union.size];
    const last = overshoot(union);
    return { ranks: [...union.ranks], union: union.size, fitting, fittingUnion, last };
  };

  return {
    ...{ SPECIALS, ROUNDS, Union, samplingProbabilities, requiredCharacters, fairValues, upperHull, stepGains },
    ...{ makeProblem, objective, start, nextGain, allocateGreedy, allocateBisect, allocateCostAware },
  };
})();
