// The demo's session in the real Pi, and what must hold over it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runChecks } from "../../scripts/lib/demo-report.js";
import { type DemoRun, playDemo } from "../../scripts/lib/demo-run.js";
import { measureCalls, unpairedCalls } from "../../scripts/lib/measure.js";
import { extension } from "./support.ts";

// A whole session, in one of them with a debug build of the addon.
const timeout = 240_000;

const parent = mkdtempSync(join(tmpdir(), "palimpsest-demo-"));
let plain: DemoRun;

beforeAll(async () => {
  plain = await playDemo({ parent });
}, timeout);

afterAll(() => rmSync(parent, { recursive: true, force: true }));

test("the plain session is one conversation of at least 40 calls", () => {
  expect(plain.bodies.length).toBeGreaterThanOrEqual(40);
  expect(plain.session.prompts).toHaveLength(5);
  expect(plain.bodies.flatMap(unpairedCalls)).toEqual([]);
  expect(measureCalls(plain.bodies).filter((call) => !call.grew)).toEqual([]);
});

test("everything that must hold holds with the extension", { timeout }, async () => {
  const ours = await playDemo({ parent, extension });
  expect(ours.stderr).toBe("");
  expect(runChecks(plain, ours).filter((check) => !check.holds)).toEqual([]);
});
