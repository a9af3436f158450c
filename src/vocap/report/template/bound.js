"use strict";
// The bound of src/vocap/allocation/bound.py: what no allocation can pass, round by round.
allocation.boundRounds = (() => {
  // the arrays of all languages end to end, without the classes that every choice holds
  class Contest {
    constructor({ ladders, required, times, capacity }) {
      this.values = ladders.map((ladder) => ladder.value.map((value) => ladder.weight * value));
      const always = new Uint8Array(times.length);
      const owners = new Int32Array(times.length);
      for (const piece of required) always[piece] = 1;
      for (const { piece, start, stop, sizes } of ladders) {
        piece.forEach((of, k) => {
          if (start[k] === 0 && stop[k] === sizes.length) always[of] = 1;
          if (k === 0 || piece[k - 1] !== of) owners[of] += 1;
        });
      }
      this.room = always.reduce((room, is, piece) => room - (is ? times[piece] : 0), capacity);
      this.fixed = ladders.map(({ sizes }) => new Float64Array(sizes.length + 1));
      const [pieces, first] = [[], []]; // of each contested pair of language and class
      const [from, to] = [[], []]; // of each interval
      this.bounds = [0]; // of each language, in pairs
      ladders.forEach(({ piece, start, stop }, language) => {
        piece.forEach((of, k) => {
          if (always[of]) return;
          if (owners[of] === 1) {
            this.fixed[language][start[k]] += times[of];
            this.fixed[language][stop[k]] -= times[of];
            return;
          }
          if (pieces.length === this.bounds.at(-1) || pieces.at(-1) !== of) {
            pieces.push(of);
            first.push(from.length);
          }
          from.push(start[k]);
          to.push(stop[k]);
        });
        this.bounds.push(pieces.length);
      });
      first.push(from.length);
      this.piece = Int32Array.from(pieces);
      this.first = Int32Array.from(first);
      this.from = Int16Array.from(from);
      this.to = Int16Array.from(to);
      this.times = times;
      this.shares = Float64Array.from(this.piece, (of) => 1 / owners[of]);
      this.holders = new Int32Array(times.length);
    }

    // c_i(t) of every language and size
    costs() {
      return this.fixed.map((fixed, language) => {
        const edges = Float64Array.from(fixed);
        for (let pair = this.bounds[language]; pair < this.bounds[language + 1]; pair++) {
          const price = this.shares[pair] * this.times[this.piece[pair]];
          for (let k = this.first[pair]; k < this.first[pair + 1]; k++) {
            edges[this.from[k]] += price;
            edges[this.to[k]] -= price;
          }
        }
        for (let rank = 1; rank < edges.length; rank++) edges[rank] += edges[rank - 1];
        return edges.subarray(0, -1);
      });
    }

    // the smallest bound over lambda (it is convex in it), and the best ranks there
    minimise(costs) {
      const at = (multiplier) => {
        let [value, spent] = [0, 0];
        const ranks = this.values.map((values, language) => {
          let [best, worth] = [0, -Infinity];
          for (let rank = 0; rank < values.length; rank++) {
            const net = values[rank] - multiplier * costs[language][rank];
            if (net > worth) [best, worth] = [rank, net];
          }
          value += values[best];
          spent += costs[language][best];
          return best;
        });
        return { value: value + multiplier * (this.room - spent), spent, ranks };
      };
      let [low, high] = [0, 1e-9];
      const free = at(low);
      if (free.spent <= this.room) return free;
      while (at(high).spent > this.room && high < 1e18) [low, high] = [high, high * 4];
      let best = at(low).value <= at(high).value ? at(low).value : at(high).value;
      for (let halving = 0; halving < 60; halving++) {
        const middle = (low + high) / 2;
        const result = at(middle);
        best = Math.min(best, result.value);
        if (result.spent > this.room) low = middle;
        else high = middle;
      }
      return { value: best, ranks: at(high).ranks };
    }

    // move the shares of a class toward the languages that hold it at these ranks
    share(ranks, step) {
      this.holders.fill(0);
      const holds = (pair, rank) => {
        for (let k = this.first[pair]; k < this.first[pair + 1]; k++) {
          if (this.from[k] <= rank && rank < this.to[k]) return true;
        }
        return false;
      };
      const each = (visit) => {
        ranks.forEach((rank, language) => {
          for (let pair = this.bounds[language]; pair < this.bounds[language + 1]; pair++) visit(pair, rank);
        });
      };
      each((pair, rank) => (this.holders[this.piece[pair]] += holds(pair, rank) ? 1 : 0));
      each((pair, rank) => {
        const holders = this.holders[this.piece[pair]];
        if (holders === 0) return; // nobody holds it: the shares stay
        this.shares[pair] += (holds(pair, rank) ? step / holders : 0) - step * this.shares[pair];
      });
    }
  }

  // gives the smallest bound so far after every round, so that the page can breathe in between
  return function* (problem, rounds = allocation.ROUNDS) {
    const contest = new Contest(problem);
    let best = Infinity;
    for (let number = 0; number < rounds; number++) {
      const { value, ranks } = contest.minimise(contest.costs());
      best = Math.min(best, value);
      contest.share(ranks, 0.5 / (1 + 0.3 * number));
      yield best;
    }
  };
})();

allocation.upperBound = (problem, rounds) => [...allocation.boundRounds(problem, rounds)].at(-1);
