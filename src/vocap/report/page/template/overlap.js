"use strict";
// Unpacks the classes of pieces that languages share, and their characters, from sections/allocation.py.
const overlap = (() => {
  const inflate = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  // by rank: the classes of the intervals that begin (or end) there
  const byRank = (piece, rank, sizes) => {
    const ends = new Int32Array(sizes + 2);
    rank.forEach((of) => (ends[of + 1] += 1));
    for (let k = 1; k < ends.length; k++) ends[k] += ends[k - 1];
    const next = ends.slice();
    const ordered = new Int32Array(piece.length);
    piece.forEach((of, k) => (ordered[next[rank[k]]++] = of));
    return Array.from({ length: sizes }, (_, k) => ordered.subarray(ends[k], ends[k + 1]));
  };

  // data: that of the explorer block (sections/allocation.py); resolves to { times, languages, characters }
  const read = async (data) => {
    const bytes = await inflate(data.packed);
    let place = 0;
    const planes = (length, width) => {
      const values = new Uint8Array(length * width);
      for (let plane = 0; plane < width; plane++) {
        for (let k = 0; k < length; k++) values[k * width + plane] = bytes[place++];
      }
      return width === 4 ? new Uint32Array(values.buffer) : new Float64Array(values.buffer);
    };
    const sum = (lengths) => lengths.reduce((a, b) => a + b, 0);
    const entries = sum(data.languages.map((language) => language.entries));
    const rows = sum(data.languages.map((language) => language.characters));
    const times = planes(data.classes, 4);
    const [distance, starts, rests] = [planes(entries, 4), planes(entries, 4), planes(entries, 4)];
    const [character, perLine] = [planes(rows, 4), planes(rows, 8)];
    let [entry, row] = [0, 0];
    const languages = data.languages.map((language) => {
      const sizes = language.sizes.length;
      const cut = (array) => array.subarray(entry, entry + language.entries);
      const piece = Int32Array.from(cut(distance));
      for (let k = 1; k < piece.length; k++) piece[k] += piece[k - 1];
      const start = Int16Array.from(cut(starts));
      const stop = Int16Array.from(cut(rests), (rest) => sizes - rest);
      entry += language.entries;
      const table = {
        character: character.subarray(row, row + language.characters),
        perLine: perLine.subarray(row, row + language.characters),
      };
      row += language.characters;
      const steps = { entering: byRank(piece, start, sizes), leaving: byRank(piece, stop, sizes) };
      return { ...language, piece, start, stop, ...steps, table };
    });
    return { times, languages, characters: [...data.alphabet] };
  };

  return { read };
})();
