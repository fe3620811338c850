// Virtual models in the real Pi 1.5: another extension chooses a model for each request. Ours counts with the prices and the window of
// the model that answered, and a change of model is one.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startPiRpc } from "../../../scripts/lib/pi.js";
import type { Step } from "../../../scripts/lib/scripted-model.js";
import { extension, ledgerOf, palimpsest, start } from "../support.ts";

/** Stays on a model during a turn, and takes the larger one from the second turn on. */
const router = `
export default function (pi) {
  pi.registerVirtualModel({
    provider: "router", id: "auto", name: "Auto",
    route({ reason, previous, failed, messages }, ctx) {
      const sticky = failed ?? previous;
      const id = messages.some(({ role }) => role === "assistant") ? "large" : "small";
      const model = reason !== "user" && sticky ? sticky.model : ctx.modelRegistry.find("scripted", id);
      return { model, thinkingLevel: "off" };
    },
  });
}
`;

test("prices, window and caches are the answering model's", async () => {
  const list = (n: number): Step => ({ calls: [{ name: "bash", args: { command: `seq ${n} ${n + 400}` } }] });
  const done: Step = { text: "Done." };
  const { model, sandbox } = await start([list(1), list(2), done, list(3), list(4), done], { palimpsest: {} });
  const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
  const models = ["small", "large"].map((id) => ({ id, contextWindow: 200_000, maxTokens: 8_000, cost }));
  const provider = { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "none", models };
  const write = (name: string, value: unknown) => writeFileSync(join(sandbox.agentDir, name), JSON.stringify(value));
  write("models.json", { providers: { scripted: provider } });
  write("settings.json", { defaultProvider: "router", defaultModel: "auto", quietStartup: true });
  const path = join(sandbox.dir, "router.js");
  writeFileSync(path, router);
  const pi = startPiRpc(sandbox, ["-e", path, "-e", extension]);
  await pi.prompt("go");
  await pi.prompt("and on");
  const shown = pi.waitFor((record) => record.type === "extension_ui_request" && record.method === "notify");
  await pi.send({ type: "prompt", message: "/context" });
  expect((await shown).message).toMatch(/^window .* 200k/);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(model.requests.map(({ body }) => body.model)).toEqual(["small", "small", "small", "large", "large", "large"]);

  const { perCall, dollars } = ledgerOf(sandbox);
  // Pi says which model it was only with the answer: what a call goes to is known from the one before.
  expect(perCall.map(({ model }) => model)).toEqual([
    "router/auto",
    ...Array(3).fill("scripted/small"),
    ...Array(2).fill("scripted/large"),
  ]);
  expect(perCall.map(({ warm }) => warm)).toEqual([false, false, true, true, false, true]);
  expect(perCall.slice(1).map(({ usdPerMillion }) => usdPerMillion)).toEqual(Array(5).fill(3));
  expect(dollars?.calls).toBe(5);
  const recorded = palimpsest<{ contextWindow: number | null }>(sandbox, "context", "latest", "--call", "2");
  expect(recorded.contextWindow).toBe(200_000);
});
