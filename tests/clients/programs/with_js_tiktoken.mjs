// js-tiktoken: ids and decoding of `vocap export --format tiktoken`.
import fs from "node:fs";
import { Tiktoken } from "js-tiktoken/lite";

const request = JSON.parse(fs.readFileSync(process.argv[2], "utf-8"));
const { version } = JSON.parse(
  fs.readFileSync(new URL("node_modules/js-tiktoken/package.json", import.meta.url)),
);
const results = {};
for (const [name, files] of Object.entries(request.tokenizers)) {
  try {
    const read = (file) => fs.readFileSync(`${files.tiktoken}/${file}`, "utf-8");
    const settings = JSON.parse(read("encoding.json"));
    // its form of ranks: a name, the first rank, then the tokens in base 64
    const rows = read("ranks.tiktoken").trim().split("\n").map((row) => row.split(" "));
    const bpe_ranks = rows.map(([token, rank]) => `! ${rank} ${token}`).join("\n");
    const { pat_str, special_tokens } = settings;
    const encoding = new Tiktoken({ pat_str, special_tokens, bpe_ranks });
    const ids = request.lines.map((line) => encoding.encode(line, [], []));
    results[name] = { ids, decoded: ids.map((row) => encoding.decode(row)) };
  } catch (error) {
    results[name] = { error: String(error) };
  }
}
fs.writeFileSync(process.argv[3], JSON.stringify({ version, results }));
