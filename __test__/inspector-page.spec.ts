// The parts of the inspector's page that need no browser.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { budget } from "../scripts/build-page.js";
import { root } from "../scripts/setup.js";

test("the built script is within its budget", () => {
  const script = readFileSync(join(root, "inspector", "dist", "page.js"));
  expect(script.length).toBeLessThanOrEqual(budget.bytes);
  expect(gzipSync(script).length).toBeLessThanOrEqual(budget.gzipBytes);
});
