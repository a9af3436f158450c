"use strict";
// One allocation from settings to sizes: src/vocap/allocation/solution.py, up to the clipping.
// The rules that the page computes, by their names in src/vocap/allocation/rules.py: a choice from the problem and
// the paper's choice.
allocation.RULES = {
  paper: (problem, paper) => paper,
  "cost-aware": allocation.allocateCostAware,
};
// Whether the page computes an allocation of these settings: another rule, and nats per character, it does not.
allocation.computes = ({ rule, per }) => rule in allocation.RULES && per === "line";

// overlap: what overlap.read gives; settings: those of an entry of the configuration, and `coverage`
allocation.solve = ({ times, languages, characters }, settings) => {
  const { SPECIALS, Union } = allocation;
  const active = languages.filter(({ code }) => !settings.without.includes(code));
  const q = allocation.samplingProbabilities(active.map(({ n }) => n), settings.alpha);
  const weights = q.map((share) => share ** settings.beta);
  const known = active.map((_, k) => k).filter((k) => active[k].table.character.length);
  const required = allocation.requiredCharacters(
    known.map((k) => active[k].table),
    known.map((k) => q[k]),
    settings.coverage,
    characters.indexOf("\t"),
  );
  const problem = allocation.makeProblem(active, weights, required, times, settings.total - SPECIALS, settings);
  const search = settings.search === "bisect" ? allocation.allocateBisect : allocation.allocateGreedy;
  const paper = search(problem);
  const choice = allocation.RULES[settings.rule](problem, paper);
  const union = new Union(problem, choice.ranks);
  let single = 0;
  for (let character = 0; character < characters.length; character++) single += union.count[character] > 0;
  const { capacity } = problem;
  return {
    ...{ problem, choice, active, required: required.length },
    sizes: choice.ranks.map((rank, k) => active[k].sizes[rank]),
    refused: union.size > capacity && single > capacity ? single + SPECIALS : null, // the smallest T
    clipped: Math.max(0, union.size - capacity),
    short: Math.max(0, capacity - union.size),
    objective: choice.fitting && allocation.objective(problem, choice.fitting),
    smallest: allocation.objective(problem, active.map(() => 0)),
  };
};

// the share of the distance from every smallest size to the bound, 0 to 1
allocation.way = ({ objective, smallest }, bound) => {
  if (objective >= bound - 1e-12 * Math.abs(bound)) return 1;
  return objective > smallest ? Math.min(1, (objective - smallest) / (bound - smallest)) : 0;
};
