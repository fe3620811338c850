// A context engine that writes down what OpenClaw gives it: the smallest plugin that has every part that Palimpsest's has, so that the
// tests see what the host does, without Palimpsest's own doing in between.
// @ts-nocheck The host's types are not among the packages that everyone installs.
import { appendFileSync } from "node:fs";

// OpenClaw evaluates copies of this file; this is one for all of them.
globalThis[Symbol.for("palimpsest.test.probe")] ??= { keys: new Set() };
const shared = globalThis[Symbol.for("palimpsest.test.probe")];
const transcriptSemantics = {
  currentTurnFence: "before-current-turn-entry-v1",
  turnAdvancementIdempotency: "atomic-idempotent-v1",
};
const text = (value) => [{ type: "text", text: value }];

/** A note in front, and references in place of the results of earlier turns. */
function rewritten(messages) {
  const note = { role: "custom", customType: "probe", display: false, content: "[note]", timestamp: 1 };
  const short = (message) =>
    message.role === "toolResult" ? { ...message, content: text(`[earlier ${message.toolName}]`) } : message;
  return [note, ...messages.filter(({ customType }) => customType !== "probe").map(short)];
}

export default {
  id: "probe",
  name: "Probe",
  description: "What OpenClaw does with a context engine",
  register(api) {
    const record = (event, { sessionKey, ...value }) =>
      appendFileSync(api.pluginConfig.records, `${JSON.stringify({ event, sessionKey, ...value })}\n`);
    record("register", { mode: api.registrationMode, rootDir: api.rootDir, url: import.meta.url });

    api.registerTool({
      name: "probe_note",
      catalogMode: "direct-only",
      description: "Notes a word.",
      parameters: { type: "object", properties: { word: { type: "string" } } },
      execute: async (_id, { word }) => ({ content: text(`noted ${word}`), details: {} }),
    });
    api.registerCommand({
      name: "probe",
      description: "Says that the probe is there.",
      handler: async () => ({ text: "the probe is there" }),
    });
    api.registerAgentToolResultMiddleware(
      ({ toolCallId, toolName, result }, { sessionKey }) => {
        record("middleware", { sessionKey, toolCallId, toolName, content: result.content });
        return toolName === "ls" ? { result: { ...result, content: text("[files]") } } : undefined;
      },
      { runtimes: ["openclaw"] },
    );
    api.registerContextEngine("probe", () => ({
      info: { id: "probe", name: "Probe", ownsCompaction: true, transcriptSemantics },
      ingest: async () => ({ ingested: false }),
      compact: async () => ({ ok: true, compacted: false, reason: "engine-managed" }),
      async commitTurn({ advancementKey, messages, sessionKey }) {
        record("commitTurn", { sessionKey, messages });
        const known = shared.keys.has(advancementKey);
        shared.keys.add(advancementKey);
        return { status: known ? "duplicate" : "committed" };
      },
      async assemble({ messages, tokenBudget, prompt, sessionKey }) {
        record("assemble", { sessionKey, tokenBudget, prompt, messages });
        const isPlain = sessionKey.includes("plain");
        return {
          messages: isPlain ? messages : rewritten(messages),
          estimatedTokens: 100,
          systemPromptAddition: "[addition]",
        };
      },
    }));
  },
};
