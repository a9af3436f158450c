"use strict";
// Unpacks the classes of pieces that languages share, and their characters, from sections/allocation.py.
const overlap = (() => {
  // by rank: the classes of the intervals that begin (or end) there
  const byRank = (piece, rank, sizes) => {
    const classes = Array.from({ length: sizes + 1 }, () => []);
    piece.forEach((of, k) => classes[rank[k]].push(of));
    return classes;
  };

  // data: that of the explorer block (sections/allocation.py); resolves to { times, languages, characters }
  const read = async (data) => {
    const packed = await widgets.unpack(data.packed);
    const languages = data.languages.map((language, k) => {
      const { character, perLine, alp, heldout, tokens, ...entries } = packed.languages[k];
      const piece = Int32Array.from(entries.piece);
      for (let k = 1; k < piece.length; k++) piece[k] += piece[k - 1];
      const [start, stop] = [Int16Array.from(entries.start), Int16Array.from(entries.stop)];
      const sizes = language.sizes.length;
      const steps = { entering: byRank(piece, start, sizes), leaving: byRank(piece, stop, sizes) };
      return { ...language, alp, heldout, tokens, piece, start, stop, ...steps, table: { character, perLine } };
    });
    return { times: packed.times, languages, characters: [...data.alphabet] };
  };

  return { read };
})();
