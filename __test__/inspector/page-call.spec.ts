// What the page of a call says: why pieces stand as they do, what they cost, what changed. Without a browser.
import { describe, expect, it } from "vitest";
import type { LedgerCall, MessageAbout } from "../../index.js";
import { changesAgainstPlain, changesSince, sums } from "../../inspector/page/call/changes.js";
import { gistOf, mayBeCut, partsOf, speakerOf } from "../../inspector/page/call/parts.js";
import { kindOf, pieceCosts, wayOf, whyText } from "../../inspector/page/call/why.js";
import { diffLines } from "../../inspector/page/elements/diff-lines.js";
import { savedText } from "../../inspector/page/elements/numbers.js";
import { startEnd } from "../../inspector/page/elements/text.js";
import type { Comparison, MessageView } from "../../inspector/protocol.js";

function about(some: Partial<MessageAbout> = {}): MessageAbout {
  return {
    position: 0,
    tokens: 10,
    object: null,
    handle: null,
    fileHandle: null,
    path: null,
    shown: null,
    sinceCall: null,
    sinceEpoch: null,
    reason: null,
    notes: [],
    folds: [],
    withheld: null,
    digest: null,
    ...some,
  };
}

function view(some: Partial<MessageAbout> = {}, message: unknown = { role: "user", content: "hello" }): MessageView {
  return { message, length: 40, cut: false, about: about(some) };
}

const reference = { shown: { as: "reference" }, sinceCall: 15, sinceEpoch: 1, reason: "the cache is cold" };

describe("why a piece stands as it does", () => {
  it("names the call, the epoch and its reason", () => {
    expect(whyText(about(reference))).toBe(
      "Its text left the window; this line stands for it, since call 15, when epoch 1 began: the cache is cold.",
    );
  });

  it("counts the lines of an excerpt", () => {
    const pieces = [{ shown: [1, 9] }, { between: [10, 80] }, { standing: [81, 90], at: 12, first: 40 }];
    expect(whyText(about({ shown: { as: "excerpt", pieces }, sinceCall: 7 }))).toBe(
      "Shown in part, 9 of 90 lines; 10 stand elsewhere in the window, from its first call on, 7.",
    );
  });

  it("takes the stored name preview for an excerpt", () => {
    expect(wayOf(about({ shown: { as: "preview" } }))).toBe("excerpt");
  });

  it("says of a message outside the chat that Palimpsest added it", () => {
    expect(whyText(about({ position: null }))).toBe("Not in the chat: Palimpsest added it.");
  });

  it("says of a forgotten message that the model saw another one", () => {
    expect(whyText(about({ withheld: "forgotten", ...reference }))).toContain("not what the model saw");
  });

  it("colours a result by what stands there", () => {
    expect(kindOf(about(reference), "toolResult")).toBe("references");
    expect(kindOf(about({ fileHandle: "f1", shown: { as: "given" } }), "toolResult")).toBe("files");
    expect(kindOf(about({ shown: { as: "given" } }), "toolResult")).toBe("outputs");
    expect(kindOf(about(), "assistant")).toBe("model");
  });
});

describe("what a piece costs", () => {
  const prices = { read: 0.1, write: 1.25 };
  const call = { ours: { sent: 100, cached: 60, written: 40, cost: 56 } } as LedgerCall;

  it("reads the start of the request from the cache", () => {
    const costs = pieceCosts([30, 40], call, prices);
    expect(costs?.map(({ cached }) => cached)).toEqual([1, 1, 0]);
    expect(costs?.map(({ cost }) => Number(cost.toFixed(6)))).toEqual([3, 3, 50]);
  });

  it("sums to what the ledger says of the call", () => {
    const dear = { ours: { ...call.ours, cost: 112 } } as LedgerCall;
    const sum = pieceCosts([30, 40], dear, prices)?.reduce((all, { cost }) => all + cost, 0);
    expect(sum).toBeCloseTo(112);
  });

  it("is not known of a call that is in no bill", () => {
    expect(pieceCosts([30], undefined, prices)).toBeNull();
  });
});

describe("the size beside plain", () => {
  it("is a share, with more digits where next to nothing is left", () => {
    expect(savedText(30, 100)).toBe("70\u00a0% less than plain");
    expect(savedText(120, 100)).toBe("20\u00a0% more than plain");
    expect(savedText(2, 1_000)).toBe("99.80\u00a0% less than plain");
    expect(savedText(100, 100)).toBe("the same as plain");
  });
});

describe("since the call before", () => {
  const messages = [
    view({ position: 0 }),
    view({ position: 4, ...reference }),
    view({ position: 6, shown: { as: "given" } }),
    view({ position: 2 }),
    view({ position: 9 }),
    view({ position: null }),
  ];
  const before: Comparison = {
    count: 4,
    tokens: 400,
    changes: [
      { change: "kept", old: 0, new: 0, count: 1, diff: null },
      { change: "changed", old: 1, new: 1, count: 1, diff: "@@ -1 +1 @@\n-a\n+b\n" },
      { change: "changed", old: 2, new: 2, count: 1, diff: "@@ -1 +1 @@\n-b\n+a\n" },
      { change: "removed", old: 3, new: null, count: 1, diff: null },
      { change: "inserted", old: null, new: 3, count: 1, diff: null },
      { change: "inserted", old: null, new: 4, count: 1, diff: null },
      { change: "inserted", old: null, new: 5, count: 1, diff: null },
    ],
    messages: {
      1: view({ position: 4, tokens: 300 }),
      2: view({ position: 6, ...reference }),
      3: view({ position: 8, tokens: 90 }),
    },
  };

  it("tells new, left, collapsed and came back apart", () => {
    expect(changesSince(messages, before, 15).map(({ fate }) => fate)).toEqual([
      "kept",
      "collapsed",
      "back",
      "left",
      "back",
      "new",
      "new",
    ]);
  });

  it("says that a message left because it was folded in this call", () => {
    const fold = { line: "[t1] 1 step", sinceCall: 15, sinceEpoch: 1, reason: null };
    const folded = [view({ position: 0, folds: [fold] }), ...messages.slice(1)];
    const left = (call: number) => changesSince(folded, before, call).find(({ fate }) => fate === "left")?.words;
    expect(left(15)).toContain("Folded");
    expect(left(16)).not.toContain("Folded");
  });

  it("sums the tokens of each fate, at their size before", () => {
    const found = sums(changesSince(messages, before, 15), messages, before);
    expect(found.get("left")).toEqual({ count: 1, tokens: 90, was: 0 });
    expect(found.get("new")).toEqual({ count: 2, tokens: 20, was: 0 });
    expect(found.get("collapsed")).toEqual({ count: 1, tokens: 10, was: 300 });
  });

  it("says against plain what is shorter and what is left out", () => {
    const fates = changesAgainstPlain(messages, before, null).map(({ fate, words }) => [fate, words]);
    expect(fates[1]).toEqual(["collapsed", "300 tokens in plain’s request, 10 in ours"]);
    expect(fates[3]).toEqual(["left", "Plain would have sent it"]);
  });
});

describe("against a plain host that would have compacted", () => {
  const messages = [0, 1, 4, 5].map((position) => view({ position }));
  const plain: Comparison = {
    count: 6,
    tokens: 240,
    changes: [
      { change: "kept", old: 0, new: 0, count: 2, diff: null },
      { change: "removed", old: 2, new: null, count: 1, diff: null },
      { change: "removed", old: 3, new: null, count: 1, diff: null },
      { change: "changed", old: 4, new: 2, count: 1, diff: "@@ -1 +1 @@\n-a\n+b\n" },
      { change: "kept", old: 5, new: 3, count: 1, diff: null },
    ],
    messages: { 2: view({ position: 2, tokens: 90 }), 3: view({ position: 3, tokens: 70 }), 4: view({ position: 4 }) },
  };
  const fates = (from: number) =>
    changesAgainstPlain(messages, plain, from).map(({ fate, count }) => `${count} ${fate}`);

  it("older messages are in the plain host's summary", () => {
    expect(fates(5)).toEqual(["2 stays", "2 neither", "1 new", "1 kept"]);
    expect(fates(3)).toEqual(["2 stays", "1 neither", "1 left", "1 changed", "1 kept"]);
    expect(fates(0)).toEqual(["2 kept", "1 left", "1 left", "1 changed", "1 kept"]);
  });

  it("runs have the tokens of all of their messages", () => {
    const found = sums(changesAgainstPlain(messages, plain, 5), messages, plain);
    expect(found.get("neither")).toEqual({ count: 2, tokens: 160, was: 0 });
    expect(found.get("stays")).toEqual({ count: 2, tokens: 20, was: 0 });
  });
});

describe("a difference", () => {
  it("does not show a line twice that only got a line end", () => {
    const unified = "@@ -1 +1,2 @@\n-one\n\\ No newline at end of file\n+one\n+two\n\\ No newline at end of file\n";
    expect(diffLines(unified)).toEqual([
      { kind: "same", text: "one" },
      { kind: "added", text: "two" },
    ]);
  });

  it("says where its lines are and what became of them", () => {
    const lines = diffLines("--- a\n+++ b\n@@ -10,2 +12,3 @@\n same\n-old\n+new\n+more\n");
    expect(lines[0]).toEqual({ kind: "place", text: "line 10 → line 12" });
    expect(lines.slice(1).map(({ kind }) => kind)).toEqual(["same", "removed", "added", "added"]);
  });
});

describe("a long text", () => {
  it("stands whole where little would be left out", () => {
    expect(startEnd("a\n".repeat(14))).toBe(28);
  });

  it("begins with twelve lines", () => {
    expect(startEnd("a\n".repeat(400))).toBe(24);
  });

  it("splits no pair of surrogates", () => {
    expect(startEnd(`a${"😀".repeat(5_000)}`)).toBe(1_199);
  });
});

describe("a message", () => {
  it("has its texts, thoughts and calls as parts", () => {
    const content = [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "I look." },
      { type: "toolCall", id: "c", name: "bash", arguments: { command: "a\nb", timeout: 3 } },
    ];
    expect(partsOf({ role: "assistant", content })).toEqual([
      { label: "thinks", text: "hm" },
      { label: null, text: "I look." },
      { label: "calls bash", text: "command: a\nb\ntimeout: 3" },
    ]);
  });

  it("of an unknown form is shown as JSON", () => {
    expect(partsOf(7)).toEqual([{ label: "JSON", text: "7" }]);
    expect(speakerOf(null)).toBe("message");
  });

  it("says that a tool failed", () => {
    expect(speakerOf({ role: "toolResult", toolName: "bash", isError: true })).toBe("failed bash");
  });

  it("may be cut where a string has the length of a cut one", () => {
    expect(mayBeCut({ arguments: { a: "x".repeat(2_000) } })).toBe(true);
    expect(mayBeCut({ arguments: { a: "x" } })).toBe(false);
  });

  it("has a gist", () => {
    expect(gistOf({ role: "user", content: [{ type: "text", text: "please" }] })).toBe("please");
  });
});
