// The marks of memory on the history of this repository, in fewer steps than `npm run study` takes: what is marked has changed, and no entry
// that needs an edit is missed.
import { join } from "node:path";
import { expect, test } from "vitest";
import { openMemory } from "../index.js";
import { figuresOf, historyTables, walkHistory } from "../scripts/lib/marks-study.js";
import { isEverything } from "../scripts/lib/tiers.js";

test.runIf(isEverything)(
  "marks follow a history and miss nothing",
  async ({ skip }) => {
    const repository = join(import.meta.dirname, "..");
    const history = await walkHistory(openMemory, { repository, steps: 3, perKind: 22 });
    if (history === undefined) {
      skip("the history here is too short");
      return;
    }
    const tables = historyTables(history);
    for (const seen of [history.kept, history.reviewed]) {
      const all = figuresOf(seen);
      expect(all, tables).toMatchObject({ missed: 0 });
      expect(all.marks, tables).toBeGreaterThan(20);
      expect(all.changed, tables).toBeGreaterThanOrEqual(0.95);
      expect(all.needed, tables).toBeGreaterThanOrEqual(0.75);
      const lines = figuresOf(seen.filter(({ citing }) => citing === "lines"));
      expect([lines.changed, lines.needed], tables).toEqual([1, 1]);
    }
    expect(new Set(history.kept.map(({ entry }) => entry.claim)).size).toBeGreaterThanOrEqual(60);
    expect(2 * history.needed, tables).toBeGreaterThanOrEqual(history.reviews);
  },
  900_000,
);
