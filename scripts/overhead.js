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

const limits = { without: 450, with: 650 };

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

const extension = join(root, "extensions", "index.ts");
const plain = await count(await firstRequest([]));
const overheads = {
  without: (await count(await firstRequest(["-e", extension, "--no-memory"]))) - plain,
  with: (await count(await firstRequest(["-e", extension]))) - plain,
};
console.log(`system prompt and tools of plain Pi: ${plain} tokens`);
for (const memory of /** @type {const} */ (["without", "with"])) {
  console.log(`fixed overhead ${memory} an empty memory: ${overheads[memory]} tokens (limit ${limits[memory]})`);
}
const { overheadTokens: counted } = await replayReport([]);
if (counted < overheads.without) {
  console.log(`replays count ${counted}: set \`OVERHEAD_TOKENS\` of crates/replay/src/measure.rs`);
}
const isWithin = overheads.without <= Math.min(limits.without, counted) && overheads.with <= limits.with;
process.exitCode = isWithin ? 0 : 1;
