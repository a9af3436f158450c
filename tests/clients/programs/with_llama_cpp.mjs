// llama.cpp, through node-llama-cpp: ids of `vocap export --format gguf`.
import fs from "node:fs";
import { getLlama } from "node-llama-cpp";

const request = JSON.parse(fs.readFileSync(process.argv[2], "utf-8"));
const { version } = JSON.parse(
  fs.readFileSync(new URL("node_modules/node-llama-cpp/package.json", import.meta.url)),
);
const llama = await getLlama({ build: "never", logLevel: "disabled", gpu: false });
const results = {};
for (const [name, files] of Object.entries(request.tokenizers)) {
  try {
    const model = await llama.loadModel({ modelPath: files.gguf, vocabOnly: true });
    const ids = request.lines.map((line) => Array.from(model.tokenize(line, false)));
    results[name] = { ids };
    await model.dispose();
  } catch (error) {
    results[name] = { error: String(error) };
  }
}
fs.writeFileSync(process.argv[3], JSON.stringify({ version, results }));
process.exit(0);
