// Whose work is in the addon, and that nobody's licence was overlooked.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAllowed, thirdParties } from "../scripts/lib/licences.js";
import { root } from "../scripts/setup.js";

test("THIRD-PARTY.md is that of Cargo.lock", () => {
  const written = readFileSync(join(root, "THIRD-PARTY.md"), "utf8");
  expect(thirdParties(root) === written, "run `node scripts/licences.js`").toBe(true);
  for (const part of ["SQLite", "tiktoken", "gitleaks", "| rusqlite |", "Zstandard"]) {
    expect(written).toContain(part);
  }
});

test("a licence is allowed where one of its choices is", () => {
  for (const [expression, allowed] of [
    ["MIT", true],
    ["MIT OR Apache-2.0 OR LGPL-2.1-or-later", true],
    ["MIT/Apache-2.0", true],
    ["(MIT OR Apache-2.0) AND Unicode-3.0", true],
    ["GPL-3.0-only", false],
    ["MIT AND GPL-3.0-only", false],
    ["none", false],
  ] as const) {
    expect([expression, isAllowed(expression)]).toEqual([expression, allowed]);
  }
});
