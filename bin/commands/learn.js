// `palimpsest learn`: learns from recorded sessions how likely outputs and steps are needed again.
import { resolve } from "node:path";
import { plural } from "../../lib/describe.js";
import { text } from "../lib/arguments.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { transcripts } from "../lib/transcripts.js";

/** @type {import("../lib/arguments.js").Command} */
export const learn = {
  name: "learn",
  usage: "FILE… [--out FILE]",
  summary: "Learn from recorded sessions what is needed again",
  arguments: [1, Number.POSITIVE_INFINITY],
  options: {
    out: { type: "string", value: "FILE", text: "write the weights to this file instead of stdout" },
  },
  notes: [
    "FILE is a session file of Pi, Claude Code, Codex, Copilot CLI, Gemini CLI, OpenCode or OpenClaw, plain or compressed, a database of the last two, or a folder; files that are not sessions are skipped. Stores nothing and reads no other file. To use the weights, name their file in the setting `hazards` of palimpsest.json. Statistics go to stderr: the number of needs, and the area under the ROC curve on the same sessions (0.5: chance, 1: perfect).",
  ],
  json: "LearnedHazards",
  examples: [
    "palimpsest learn ~/.pi/agent/sessions --out ~/.pi/agent/hazards.json",
    "palimpsest learn --json a.jsonl b.jsonl",
  ],
  async run(given) {
    const addon = await import("../../index.js");
    const { found, passedOver } = await transcripts(addon, given.positionals);
    // What is not a session is skipped there, and said.
    const paths = [...found, ...passedOver].map(({ path }) => path);
    const learned = await withProgress("learning", () => addon.learnHazards(paths));
    const out = text(given, "out");
    const weights = `${JSON.stringify(learned.hazards, null, 2)}\n`;
    if (out !== undefined) {
      await addon.writePrivate(resolve(out), weights);
    }
    if (given.json) {
      await writeJson(learned);
      return;
    }
    if (out === undefined) {
      await write(weights);
    }
    await writeError(said(learned));
  },
};

/** @param {import("../../index.js").LearnedHazards} learned */
function said({ hazards, skipped }) {
  const { sessions, calls, outputs, steps } = hazards.learned;
  const of = (/** @type {string} */ what, /** @type {import("../../index.js").HazardQuality} */ { needs, auc }) =>
    `${what}: ${plural(needs, "need")}, area under the curve ${auc?.toFixed(3) ?? "unknown"}\n`;
  return [
    `learned from ${plural(sessions, "session")}, ${plural(calls, "call")}\n`,
    of("outputs", outputs),
    of("steps", steps),
    ...skipped.map(({ problem }) => `skipped: ${problem}\n`),
  ].join("");
}
