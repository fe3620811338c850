// The demo's session in the real Pi, and what must hold over it.
import { expect, test } from "vitest";
import { runChecks } from "../../scripts/lib/demo-report.js";
import { playDemo } from "../../scripts/lib/demo-run.js";
import { measureCalls, unpairedCalls } from "../../scripts/lib/measure.js";
import { extension, temporaryFolder } from "./support.ts";

// Two whole sessions, with a debug build of the addon in one of them.
const timeout = 240_000;

test("the plain session is a growing conversation of at least 40 calls", { timeout }, async () => {
  const { bodies, session } = await playDemo({ parent: temporaryFolder() });
  expect(bodies.length).toBeGreaterThanOrEqual(40);
  expect(session.prompts).toHaveLength(5);
  expect(bodies.flatMap(unpairedCalls)).toEqual([]);
  expect(measureCalls(bodies).filter((call) => !call.grew)).toEqual([]);
});

test("everything that must hold holds with the extension", { timeout }, async () => {
  const plain = await playDemo({ parent: temporaryFolder() });
  const ours = await playDemo({ parent: temporaryFolder(), extension });
  expect(ours.stderr).toBe("");
  expect(runChecks(plain, ours).filter((check) => !check.holds)).toEqual([]);
});
