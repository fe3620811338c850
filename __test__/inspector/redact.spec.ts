// What was found once is taken out wherever it stands, in whatever order it was met. Must not open a store.
import { expect, test } from "vitest";
import { Redaction } from "../../inspector/server/redact.js";

const shared = "Zk3vQ9x1LmT7sWc5RyB2nH8d";
const longer = `ghp_${shared}J4fG6aPqE0Ua`;
/** Lines with secrets of which one ends in the midst of the other. */
const lines = [`Authorization: Bearer q8H${shared.slice(2)}`, `git clone with ${longer} today`];

test.each([lines, [...lines].reverse()])(
  "of two secrets with a part in common, neither is left in pieces",
  async (...met) => {
    const redaction = new Redaction();
    for (const line of met) {
      await redaction.text(line);
    }
    redaction.settle();
    const shown = await redaction.text(`cut: ${longer.slice(2)}; whole: ${longer}; its end: ${longer.slice(-16)}`);
    expect(shown).not.toContain(longer.slice(-12));
    expect(shown).not.toContain(shared.slice(0, 12));
    expect(shown).toMatch(/^cut: \S*\[redacted:\w+\]; whole: \[redacted:github_token\]; its end: \[redacted:\w+\]$/);
  },
);
