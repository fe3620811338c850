// What caches hold, in the real Pi: after `/tree` both sides find what any earlier request left there, and a model that is served
// from loopback is a local one.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startPiRpc } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { extension, ledgerOf, start } from "./support.ts";

/** An extension with a command that moves Pi to the message before a person's, as `/tree` does. */
const jumpExtension = `
export default function (pi) {
  pi.registerCommand("jump", {
    description: "go back to before a message of the person, by its text",
    handler: async (args, ctx) => {
      const isIt = (entry) => entry.type === "message" && JSON.stringify(entry.message.content ?? "").includes(args);
      const target = ctx.sessionManager.getEntries().find((entry) => isIt(entry) && entry.message.role === "user");
      await ctx.navigateTree(target.id, { summarize: false });
      ctx.ui.notify("jumped");
    },
  });
}
`;

/** A turn of two calls; its output has some thousand tokens and is no other's. */
function turn(name: string): Step[] {
  const command = `for i in $(seq 1 60); do echo "${name} case $i of sixty, with some words"; done`;
  return [
    { calls: [{ name: "bash", args: { command } }], usage: null },
    { text: `${name} done.`, usage: null },
  ];
}

test.each(["anthropic", "openai"])("after a tree jump both sides pay for new content: %s", async (prices) => {
  const script = [...turn("first"), ...turn("second"), ...turn("third"), ...turn("fourth")];
  const { model, sandbox } = await start(script, { palimpsest: { prices } });
  const jump = join(sandbox.dir, "jump.js");
  writeFileSync(jump, jumpExtension);
  const pi = startPiRpc(sandbox, ["-e", extension, "-e", jump]);
  for (const prompt of ["one", "two", "three"]) {
    await pi.prompt(`Turn ${prompt}: go on.`);
  }
  const jumped = pi.waitFor((record) => record.type === "extension_ui_request" && record.method === "notify");
  await pi.send({ type: "prompt", message: "/jump Turn two" });
  expect((await jumped).message).toBe("jumped");
  await pi.prompt("Turn two, another way.");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(model.requests).toHaveLength(8);
  expect(JSON.stringify(model.requests[6].body)).not.toContain("Turn two: go on.");

  const { perCall, plain, ours, overhead } = ledgerOf(sandbox);
  const [before, back] = [perCall[1], perCall[6]];
  for (const side of ["plain", "ours"] as const) {
    // All of the last request of turn one, maybe its answer; then a short question is new.
    expect(back[side].cached, side).toBeGreaterThanOrEqual(before[side].sent);
    expect(back[side].written, side).toBeLessThan(60);
  }
  // Nothing is collapsed so early: but for our overhead both sides cost the same.
  expect(ours.cost - overhead).toBeCloseTo(plain.cost, 0);
});

test("a model on loopback without prices is a local one", async () => {
  const { sandbox } = await start(turn("first"), { palimpsest: {} });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("Go on.");
  const shown = pi.waitFor((record) => record.type === "extension_ui_request" && record.method === "notify");
  await pi.send({ type: "prompt", message: "/context" });
  expect((await shown).message).toContain("nothing, by the preset `local`; if you pay");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  const { prices, plain } = ledgerOf(sandbox);
  expect(prices).toMatchObject({ name: "local", prices: { read: 0, write: 1 } });
  // The price is what was read anew: the last request is all that there is, and each token of it was read once.
  expect(plain.cost).toBe(plain.written);
});
