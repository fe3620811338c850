// `npm run overhead`: the tokens that the extension adds to every request, by the bundled tokenizer: system prompt and tools of
// the real Pi's first request with the extension, minus those without. Exits 1 if this is above the limit, or above what replays
// assume.
import { fileURLToPath } from "node:url";
import { root, setUp } from "./setup.js";

setUp(fileURLToPath(import.meta.url), { addon: "debug", pi: true });

const { join } = await import("node:path");
const { fixedTexts } = await import("./lib/measure.js");
const { createSandbox, runPi } = await import("./lib/pi.js");
const { startScriptedModel } = await import("./lib/scripted-model.js");
const { countTokens, replayReport } = await import("../index.js");

const limit = 450;

/** @param {string[]} args */
async function firstRequest(args) {
  const model = await startScriptedModel([{ text: "ok" }]);
  const sandbox = createSandbox({ baseUrl: model.baseUrl });
  try {
    const { code, stderr } = await runPi(sandbox, [...args, "-p", "hi"]);
    if (code !== 0 || stderr !== "") {
      throw new Error(`pi ended with code ${code}\n${stderr}`);
    }
    return fixedTexts(model.requests[0].body).map((text) => text.replaceAll(sandbox.dir, "/sandbox"));
  } finally {
    await model.close();
    sandbox.remove();
  }
}

/** @param {string[]} texts */
async function count(texts) {
  const counts = await Promise.all(texts.map(countTokens));
  return counts.reduce((sum, tokens) => sum + tokens, 0);
}

const plain = await count(await firstRequest([]));
const ours = await count(await firstRequest(["-e", join(root, "extensions", "index.ts")]));
const overhead = ours - plain;
console.log(
  `fixed overhead: ${overhead} tokens (limit ${limit}); system prompt and tools ${plain} plain, ${ours} with`,
);
const { overheadTokens: counted } = await replayReport([]);
if (counted < overhead) {
  console.log(`replays count ${counted}: set \`OVERHEAD_TOKENS\` of src/replay/measure.rs`);
}
process.exitCode = overhead <= Math.min(limit, counted) ? 0 : 1;
