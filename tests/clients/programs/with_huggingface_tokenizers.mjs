// @huggingface/tokenizers, which transformers.js uses: ids and decoding.
import fs from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const request = JSON.parse(fs.readFileSync(process.argv[2], "utf-8"));
const { version } = JSON.parse(
  fs.readFileSync(new URL("node_modules/@huggingface/tokenizers/package.json", import.meta.url)),
);
const results = {};
for (const [name, files] of Object.entries(request.tokenizers)) {
  try {
    const read = (file) => JSON.parse(fs.readFileSync(`${files.huggingface}/${file}`, "utf-8"));
    const tokenizer = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
    const ids = request.lines.map((line) =>
      Array.from(tokenizer.encode(line, { add_special_tokens: false }).ids),
    );
    const decoded = ids.map((row) =>
      row.length ? tokenizer.decode(row, { skip_special_tokens: false }) : "",
    );
    results[name] = { ids, decoded };
  } catch (error) {
    results[name] = { error: String(error) };
  }
}
fs.writeFileSync(process.argv[3], JSON.stringify({ version, results }));
