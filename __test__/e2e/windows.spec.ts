// A model with a small window in the real Pi: 30 calls with outputs that plain Pi has to compact.
import { expect, test } from "vitest";
import { runPiJson } from "../../scripts/lib/pi.js";
import { type Step, usageWithCache } from "../../scripts/lib/scripted-model.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { extension, isSummary, start } from "./support.ts";

const calls = 30;
const contextWindow = 40_000;
/** What a request may take: a quarter of a small window is for the answer. */
const most = (contextWindow * 3) / 4;
const timeout = 240_000;

/** Runs a session in which each call but the last brings an output of this many lines of about 12 tokens. */
async function play(args: string[], lines: number) {
  let done = 0;
  const usage = usageWithCache();
  const { model, sandbox } = await start(
    ({ body }): Step => {
      if (isSummary(body)) {
        return { text: "What happened so far: commands ran." };
      }
      done += 1;
      const command = `for i in $(seq 1 ${lines}); do echo "run ${done} case $i is as it was before"; done`;
      const step = done < calls ? { calls: [{ name: "bash", args: { command } }] } : { text: "Done." };
      return { ...step, usage: usage(body) };
    },
    { contextWindow },
  );
  const { code, stderr, events } = await runPiJson(sandbox, [...args, "-p", "go"], { deadlineMs: timeout });
  const compactions = events.filter((event) => event.type === "compaction_end" && event.aborted !== true).length;
  const tokens = model.requests.map(({ body }) => Math.ceil(JSON.stringify(body.messages).length / 4));
  return { code, stderr, errors: model.errors, calls: done, compactions, largest: Math.max(...tokens) };
}

test("plain Pi compacts", { timeout }, async () => {
  const plain = await play([], 250);
  expect(plain).toMatchObject({ code: 0, errors: [], calls });
  expect(plain.compactions).toBeGreaterThan(0);
});

test.each(isEverything ? [60, 250, 600] : [250])(
  "outputs of %d lines leave before Pi would compact",
  { timeout },
  async (lines) => {
    const ours = await play(["-e", extension], lines);
    expect(ours).toMatchObject({ code: 0, stderr: "", errors: [], calls, compactions: 0 });
    expect(ours.largest).toBeLessThan(most);
  },
);
