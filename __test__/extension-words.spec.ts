// What the person in front of Pi reads: the status line, `/context`, notices.
import { afterEach, describe, expect, test, vi } from "vitest";
import type { LedgerFaults, SharingStatus } from "../index.js";
import { dollars, shortCount } from "../lib/figures.js";
import { nameItems } from "../lib/objects.js";
import { plainRequestText } from "../lib/plain-request.js";
import { contextReport, settingsText } from "../lib/report.js";
import { sharingLines, sharingMark, watchSharing } from "../lib/sharing.js";
import { age, cameWith } from "../lib/words.js";
import type { Ledger, Session, SessionSets, SessionStatus } from "../pi-extension/addon.ts";
import { adding, setsWhileTyping } from "../pi-extension/completions.ts";
import { offByError, offBySettings, swallowed } from "../pi-extension/live.ts";
import { welcome } from "../pi-extension/welcome.ts";
import { checkingLine, noticeOf, offLine, statusLine } from "../pi-extension/words.ts";

const none = { count: 0, cost: 0 };
const noFaults: LedgerFaults = {
  ...none,
  charged: 0,
  kinds: { asked: none, reread: none, repeated: none, failedEdit: none, quoted: none },
};
const noHostCalls = { calls: 0, failed: 0, sent: 0, cost: 0, plainCost: 0, dollars: 0 };
const noneLeft = { calls: 0, cost: 0, plainCost: 0, dollars: 0, plainDollars: 0 };

const status: SessionStatus = {
  calls: 42,
  epoch: 1,
  windowTokens: 31_120,
  plainTokens: 60_000,
  savedShare: 0.412,
  requestTokens: 34_120,
  plainRequestTokens: 63_000,
  billDollars: 1.08,
  plainBillDollars: 1.35,
  billRatio: 0.8,
  hostRequestTokens: 63_400,
  hostRequestDollars: 0.24,
  faults: noFaults,
  activeObjects: 12,
  indexedObjects: 20,
  namedFiles: 3,
  pinnedObjects: 1,
  silentPlaces: [],
};
const unpriced = { ...status, billDollars: null, plainBillDollars: null };

describe("the status line", () => {
  const line = (changes: Partial<SessionStatus>) => statusLine({ ...status, ...changes }, 200_000);

  test("says what is saved and how full the window is", () => {
    expect(line({})).toBe("palimpsest $0.27 saved (20 %) · 34.1k of 200k");
    for (const unknown of [undefined, 0]) {
      expect(statusLine(status, unknown)).toBe("palimpsest $0.27 saved (20 %) · 34.1k tokens");
    }
    expect(line({ billDollars: 1.4 })).toBe("palimpsest $0.05 more than plain Pi (4 %) · 34.1k of 200k");
    expect(line({ billDollars: 1.346 })).toBe("palimpsest on · 34.1k of 200k");
  });

  test("counts shares where nobody knows a price", () => {
    expect(statusLine(unpriced, 200_000)).toBe("palimpsest 20 % saved · 34.1k of 200k");
    expect(statusLine({ ...unpriced, billRatio: 1.03 }, 200_000)).toBe(
      "palimpsest 3 % more than plain Pi · 34.1k of 200k",
    );
    expect(statusLine({ ...unpriced, billRatio: 1.001 }, 200_000)).toBe("palimpsest on · 34.1k of 200k");
  });

  test("says only that it is on while a session is small", () => {
    const small = { requestTokens: 2_600, plainRequestTokens: 2_100, billRatio: 5.6 };
    expect(statusLine({ ...unpriced, ...small }, 200_000)).toBe("palimpsest on");
    expect(line({ ...small, billDollars: 0.012, plainBillDollars: 0.01 })).toBe("palimpsest on");
    expect(line({ ...small, calls: 0, billRatio: null, billDollars: null, plainBillDollars: null })).toBe(
      "palimpsest on",
    );
    // What was saved in a large one stays in sight.
    expect(line({ requestTokens: 12_000 })).toBe("palimpsest $0.27 saved (20 %) · 12k of 200k");
    expect(line(small)).toBe("palimpsest $0.27 saved (20 %) · 2.6k of 200k");
  });

  test("has no size once the list of the newest request is another", () => {
    expect(statusLine(status, 200_000, { rewritten: true })).toBe("palimpsest $0.27 saved (20 %)");
    expect(statusLine({ ...status, billDollars: 1.346 }, 200_000, { rewritten: true })).toBe("palimpsest on");
  });

  test("says that calls fail and why, and no figure of before", () => {
    const failed =
      "cannot write to `/home/u/.pi/agent/palimpsest/store.sqlite`: disk full (FILE); hint: free some space";
    expect(statusLine(status, 200_000, { failed })).toBe(
      "palimpsest failing: cannot write to `store.sqlite`: disk full",
    );
  });

  test("ends with what else is wrong", () => {
    const silent = { ...unpriced, requestTokens: 0, plainRequestTokens: 0, silentPlaces: ["/mnt/a", "/mnt/b"] };
    expect(statusLine(silent, 200_000)).toBe("palimpsest on · no answer from /mnt/a, /mnt/b");
    expect(statusLine(status, 200_000, { aside: "in memory" })).toBe(
      "palimpsest $0.27 saved (20 %) · 34.1k of 200k · in memory",
    );
    expect(statusLine(status, 200_000, { sharing: "↑ 14 waiting" })).toBe(
      "palimpsest $0.27 saved (20 %) · 34.1k of 200k · ↑ 14 waiting",
    );
  });

  test("says why it is off, in the room of a line", () => {
    const wrong =
      "settings in `/home/a person/.pi/agent/palimpsest.json`: `layuot` is not a setting, `layout` is (INVALID_SETTINGS); hint: x";
    expect(offLine(wrong)).toBe("palimpsest off: palimpsest.json: `layuot` is not a setting, `layout` is");
    expect(offLine(`a ${"very ".repeat(40)}long reason`)).toMatch(/^palimpsest off: a very .*very…$/);
    expect(offLine(`a ${"very ".repeat(40)}long reason`).length).toBeLessThan(90);
    const hostile = "\u001b]0;mine\u0007\u202e";
    expect(offLine(`\`${hostile}\` is not a setting`)).toBe(
      "palimpsest off: `\\u001b]0;mine\\u0007\\u202e` is not a setting",
    );
    expect(line({ silentPlaces: [`/mnt/${hostile}`] })).toContain("no answer from /mnt/\\u001b]0;mine\\u0007\\u202e");
    expect(checkingLine(1_200, 5_000)).toBe("palimpsest checking files 1.2k of 5k");
  });
});

test("figures are short, and small ones are not rounded to zero", () => {
  expect([0, 812, 1_200, 9_949, 9_950, 34_120, 999_499, 999_500, 2_345_678].map(shortCount)).toEqual([
    "0",
    "812",
    "1.2k",
    "9.95k",
    "9.95k",
    "34.1k",
    "999k",
    "1M",
    "2.35M",
  ]);
  expect([0, 0.0001, 0.0123, 0.27, 12.345].map(dollars)).toEqual(["$0.00", "$0.00010", "$0.012", "$0.27", "$12.35"]);
});

test("where it is off there is a way to turn it on", () => {
  expect(offBySettings("/a").turnOn).toContain("`/a/palimpsest.json`");
  expect(offByError(Object.assign(new Error("gone"), { code: "FORGOTTEN" })).why).toBe(
    "you had this session forgotten",
  );
  const { why, turnOn } = offByError(Object.assign(new Error("odd"), { code: "FILE", hint: "look" }));
  expect({ why, turnOn }).toEqual({ why: "odd (FILE); hint: look", turnOn: "put that right, then `/context on`" });
  const noAddon = Object.assign(new Error("not built"), { code: "NO_ADDON" });
  expect(offByError(noAddon).turnOn).toBe("put that right, then start Pi again");
});

test("the first notice says what is on, and how to turn it off", () => {
  expect(welcome("/h/u/.pi/store.sqlite", "/h/u")).toMatch(
    /^Palimpsest is on: .*\n.* this machine, in `~\/\.pi\/store\.sqlite`\.\n`\/context` .*`\/context off` /,
  );
  expect(welcome("/h/user/store.sqlite", "/h/u")).toContain("`/h/user/store.sqlite`");
});

describe("the report of /context", () => {
  const sums = (sent: number, cached: number, cost: number) => ({ sent, cached, written: sent - cached, cost });
  const ledger: Ledger = {
    calls: 42,
    failedCalls: 1,
    epoch: 2,
    prices: { name: "model", prices: { read: 0.1, write: 1.25 }, usdPerMillion: 3 },
    bill: 250_000,
    plainBill: 500_000,
    overhead: 4_000,
    ours: sums(900_000, 810_000, 240_000),
    plain: sums(2_000_000, 1_900_000, 480_000),
    plainCompactions: 1,
    warming: { requests: 2, cost: 10_000, plainCost: 20_000 },
    hostCalls: { calls: 3, failed: 1, sent: 90_000, cost: 20_000, plainCost: 20_000, dollars: 0.06 },
    left: { calls: 2, cost: 5_000, plainCost: 9_000, dollars: 0.015, plainDollars: 0.027 },
    faults: {
      count: 4,
      cost: 3_000,
      charged: 0,
      kinds: { ...noFaults.kinds, asked: { count: 3, cost: 2_000 }, failedEdit: { count: 1, cost: 1_000 } },
    },
    savedOtherwise: 247_600,
    savedOtherwiseDollars: -0.032,
    reported: {
      calls: 42,
      input: 90_000,
      cacheRead: 810_000,
      cacheWrite: 0,
      output: 9_000,
      cost: 245_000,
      estimatedCost: 240_000,
    },
    dollars: {
      calls: 40,
      bill: 1.08,
      plainBill: 1.35,
      overhead: 0.012,
      warming: 0.03,
      faults: 0.009,
      reported: 1.1,
      estimated: 1.04,
    },
    epochs: [
      {
        number: 1,
        call: 30,
        reason: "the cache is cold: 9k tokens need not be written again",
        freed: 9_000,
        cost: 0,
        saved: 5_000,
        savedDollars: 0.31,
      },
      {
        number: 2,
        call: 41,
        reason: "window pressure: 90k tokens, 30k of them can go",
        freed: 30_700,
        cost: 3_000,
        saved: -2_600,
        savedDollars: -0.008,
      },
    ],
    // 39 reports of 40 calls with a price, and two without.
    perCall: Array.from({ length: 42 }, (_, at) => ({
      usdPerMillion: at < 40 ? 3 : null,
      reported: at === 7 ? null : {},
    })) as Ledger["perCall"],
  };

  const kinds = { prompt: 3_100, person: 400, model: 8_000, outputs: 20_000, files: 0, references: 900, notes: 0 };
  const window = {
    host: "Pi",
    contextWindow: 200_000,
    layout: "log",
    thrift: "balanced",
    faultTokens: 0,
    kinds,
  } as const;

  test("describes the window, the cost and the savings in words", () => {
    expect(contextReport(status, ledger, window)).toBe(
      [
        "window    34.1k tokens in the last request, of 200k that the model takes; plain Pi 63k",
        "          by kind, as we count: outputs 20k (62 %), the model's words and calls 8k (25 %), system prompt and tools 3.1k (10 %), lines in the place of outputs 900 (3 %), your words and Pi's 400 (1 %)",
        "          files and outputs met: 17 (and 3 files by name only); with their text in the window: 12; pinned: 1",
        "          thrift `balanced`: with it recorded sessions cost 0.41 of plain, and 1.2 % of their calls missed something",
        "cost      $1.08 for input so far; plain Pi $1.35, so 20 % saved",
        "          in it: $0.012 for our tools and guidance",
        "          in it: $0.030 for 2 requests that kept the cache warm",
        "          the provider reports $1.10 for the input of 39 calls, estimated before at $1.04",
        "          not in it: 2 calls to models that are free or whose price is not known",
        "          each call at the prices of its model; those of the newest: from Pi's model data",
        "          in it: $0.060 for 3 calls with Pi's own messages, 1 call of them because something failed",
        "          in it: $0.015 for 2 calls on branches that were left; plain Pi $0.027",
        "tokens    900k sent in 42 calls, 90 % from the cache; plain Pi 2M, 95 % from the cache",
        "          the provider reports 900k for 42 calls",
        "          plain Pi would have compacted once",
        "missing   the model needed what had left 4 times: it asked for it 3 times, failed once to edit it",
        "          in the bill for that: about $0.0090",
        "epochs    content left the window 2 times:",
        "          1, at call 30: freed 9k tokens; saved $0.31 so far (the cache is cold: 9k tokens need not be written again)",
        "          2, at call 41: freed 30.7k tokens; its rewrite has yet to earn back $0.0080 (window pressure: 90k tokens, 30k of them can go)",
        "          otherwise $0.032 more: outputs shown in part from the start, and plain Pi's compactions, less what we add",
      ].join("\n"),
    );
  });

  test("says of epochs in which nothing left that it did not", () => {
    const [first, second] = ledger.epochs;
    const empty = { ...second, freed: 0, saved: 0, savedDollars: 0, reason: "the host rewrote its list (compaction)" };
    const text = contextReport(status, { ...ledger, plainCompactions: 0, epochs: [first, empty] }, window);
    expect(text).toContain("epochs    content left the window once:\n");
    expect(text).toContain("\n          2, at call 41: nothing left (the host rewrote its list (compaction))\n");
    expect(text).toMatch(/shown in part from the start, less what we add$/);
    expect(contextReport(status, { ...ledger, epochs: [empty] }, window)).toContain(
      "epochs    nothing left the window so far:\n",
    );
  });

  test("counts in tokens if no price is known, and says so", () => {
    const epochs = ledger.epochs.map((epoch) => ({ ...epoch, savedDollars: null }));
    const prices = { name: "openai", prices: { read: 0.1, write: 1 } };
    const text = contextReport(
      unpriced,
      { ...ledger, dollars: null, prices, epochs, savedOtherwiseDollars: null },
      window,
    );
    expect(text).toContain(
      "cost      no price in dollars is known; as much as 250k new input tokens, plain Pi 500k, so 50 % saved\n",
    );
    expect(text).toContain("its rewrite has yet to earn back as much as 2.6k new input tokens (");
    expect(text).not.toMatch(/\$|-\d/);
  });

  test("says what a fresh session has", () => {
    expect(contextReport(status, { ...ledger, calls: 0 }, window)).toBe("Palimpsest is on. No call to the model yet.");
    const without = { faults: noFaults, hostCalls: noHostCalls, left: noneLeft, failedCalls: 0, epochs: [] };
    const fresh = contextReport(status, { ...ledger, ...without }, window);
    expect(fresh).not.toMatch(/in it: .*(own messages|branches)/);
    expect(contextReport(status, { ...ledger, ...without, failedCalls: 1 }, window)).toContain(
      "          not in it yet: 1 call that went out with Pi's own messages\n",
    );
    expect(fresh).toContain("missing   nothing: the model never had to ask for what had left\nepochs    none: ");
  });

  test("names an unusual layout, and leaves out unknown figures", () => {
    const text = contextReport(status, ledger, {
      ...window,
      contextWindow: undefined,
      kinds: undefined,
      layout: "pools",
    });
    expect(text).toContain(
      "window    34.1k tokens in the last request; plain Pi 63k\n          files and outputs met: 17 (and 3 files by name only);",
    );
    expect(text).toContain("          layout `pools`\n");
    const weighed = contextReport(status, ledger, { ...window, faultTokens: 300_000 });
    expect(weighed).toContain("a need of what has left weighs 300k tokens, by your setting `faultTokens`\n");
  });
});

test("settings are listed with their origin, changed ones first", () => {
  const values = [
    { key: "enabled", value: true, source: "default" },
    { key: "layout", value: "log", source: "default" },
    { key: "store", value: "/s.sqlite", source: "environment", place: "PALIMPSEST_STORE" },
    { key: "keepResults", value: 3, source: "project", place: "/p/.pi/palimpsest.json" },
  ] as const;
  expect(settingsText(values, "")).toBe(
    [
      'store                  "/s.sqlite"  (set by the environment, `PALIMPSEST_STORE`)',
      "keepResults            3  (set by the project's file, `/p/.pi/palimpsest.json`)",
      "enabled                true  (default)",
      'layout                 "log"  (default)',
    ].join("\n"),
  );
  const chosen = { key: "layout", value: "pools", source: "session", place: "/context layout" } as const;
  expect(settingsText([chosen], "LAY")).toBe('layout                 "pools"  (set here by `/context layout`)');
  const configured = { key: "layout", value: "pools", source: "config", place: "openclaw.json" } as const;
  expect(settingsText([configured], "")).toBe('layout                 "pools"  (set in `openclaw.json`)');
  expect(settingsText(values, "lauout")).toBe("No setting fits `lauout`.");
});

test("the row of a call says what came, not what was asked for", () => {
  const came = (name: string, text: string, images = 0) =>
    cameWith(name, {
      content: [
        { type: "text", text },
        ...Array.from({ length: images }, () => ({ type: "image" as const, data: "", mimeType: "image/png" })),
      ],
      details: { tokens: 1_234 },
    });
  expect(came("t17", "[t17] bash · lines 40-80 of 412\none\n")).toBe("bash · lines 40-80 of 412 · 1.23k tokens");
  expect(came("src/a.rs", "[f3] src/a.rs · line 1 of 1\none")).toBe("f3 · line 1 of 1 · 1.23k tokens");
  expect(came("a.rs", "[f3] src/a.rs · line 1 of 1\none")).toBe("f3 · src/a.rs · line 1 of 1 · 1.23k tokens");
  expect(came("t3", "[t3] shot · 1 image · line 1 of 1", 1)).toBe("shot · 1 image · line 1 of 1 · 1.23k tokens");
  expect(came("t17", "[t17] bash · no line matches `x`")).toBe("bash · no line matches `x`");
  expect(came("t17", "done: t17, 1,649 tokens")).toBe("1,649 tokens");
  expect(came("t17", "done: [t17] bash · lines 1-2 of 2, 12 tokens")).toBe("bash · lines 1-2 of 2 · 12 tokens");
  expect(came("t17", "done: t17")).toBe("done");
  expect(came("t1", `[t1] ${"\u001b[31m\u202e\n".slice(0, 6)} ${"😀".repeat(99)}`)).toMatch(
    /^\\u001b\[31m\\u202e 😀+…$/u,
  );
});

test("a completion describes its name in one harmless line", () => {
  const index = [{ handle: "f1", path: `/p/a\u001b[31m\n${"b".repeat(200)}`, tool: null, type: "file", id: "x" }];
  const sets = { index, active: [], pinned: [] } as unknown as SessionSets;
  const [item] = nameItems("/q", sets, "f", "all");
  expect(item.name).toBe("f1");
  expect(item.description).toMatch(/^\/p\/a\\u001b\[31m\\u000ab+…$/);
});

test("a completion goes on from what was typed", () => {
  const file = (handle: string, path: string) => ({ handle, path, tool: null, type: "file", id: handle });
  const index = [
    file("f1", "/p/src/main.rs"),
    file("f2", "/p/f1.txt"),
    { ...file("t1", ""), path: null, tool: "bash", type: "toolcall" },
  ];
  const sets = { index, active: ["f2"], pinned: [] } as unknown as SessionSets;
  const names = (typed: string, of: "all" | "active" = "all") =>
    nameItems("/p", sets, typed, of).map(({ name }) => name);
  expect(names("ma")).toEqual(["src/main.rs"]);
  expect(names("ain")).toEqual([]);
  expect(names("/p/s")).toEqual(["/p/src/main.rs"]);
  expect(names("f", "active")).toEqual(["f2"]);
  expect(names("t")).toEqual(["t1"]);
});

test("a whole name is never completed to another object's", () => {
  const index = Array.from({ length: 120 }, (_, at) => ({
    handle: `t${at + 1}`,
    path: null,
    tool: "bash",
    type: "toolcall",
  }));
  const file = { handle: "f1", path: "/p/f1.txt", tool: null, type: "file" };
  const sets = { index: [...index, file], active: ["t12", "f1"], pinned: [] } as unknown as SessionSets;
  const offered = (typed: string, of: "all" | "active" = "all") => nameItems("/p", sets, typed, of).length;
  // The newest thirty that begin so do not have it, and neither has the set.
  expect(offered("t1")).toBe(0);
  expect(offered("t1", "active")).toBe(0);
  expect(offered("f1")).toBe(0);
  expect(offered("f1.txt")).toBe(0);
  expect(offered("t")).toBe(30);
  expect(offered("f1.t")).toBe(1);
});

test("names are asked for once while a line is typed", async () => {
  let asked = 0;
  const session = () => ({ sets: async () => ++asked }) as unknown as Session;
  const one = session();
  const first = setsWhileTyping(one, true);
  expect(setsWhileTyping(one, false)).toBe(first);
  expect(await setsWhileTyping(one, true)).toBe(2);
  expect(await setsWhileTyping(session(), false)).toBe(3);
  const broken = { sets: () => Promise.reject(new Error("no disk")) } as unknown as Session;
  await expect(setsWhileTyping(broken, false)).rejects.toThrow("no disk");
  expect(await setsWhileTyping(one, false)).toBe(4);
});

test("nothing is offered in the place of what is whole", () => {
  const items = ["off", "offer"].map((value) => ({ value, label: value }));
  expect(adding("of", items)).toEqual(items);
  expect(adding("off", items)).toBe(null);
  expect(adding(" off", items)).toBe(null);
  expect(adding("offe", items.slice(1))).toEqual(items.slice(1));
  expect(adding("pin ", items)).toBe(null);
  expect(adding("x", [])).toBe(null);
});

test("what Pi took for the value of `--no-context` is known", () => {
  expect(swallowed(["pi", "-p", "--no-context", "hi"])).toBe("hi");
  expect(swallowed(["pi", "-p", "--no-context", "--continue"])).toBe(undefined);
  expect(swallowed(["pi", "-p", "hi", "--no-context"])).toBe(undefined);
  expect(swallowed(["pi", "hi"])).toBe(undefined);
});

describe("what is shared", () => {
  const now = Date.parse("2026-11-23T10:00:00Z");
  const ago = (seconds: number) => new Date(now - 1_000 * seconds).toISOString();
  const alike: SharingStatus = {
    url: "http://box:3000",
    storeId: "s",
    outbox: 0,
    oldest: null,
    behind: null,
    last: ago(12),
    error: null,
    ahead: 0,
    restored: null,
    sessions: false,
  };
  const away = (seconds: number) => ({
    code: "XTDB_UNAVAILABLE",
    message: "the XTDB server `http://box:3000` cannot be used now: no connection",
    since: ago(seconds),
  });

  test("is described by address, queue, age and cause", () => {
    const lines = (changes: Partial<SharingStatus>) => sharingLines({ ...alike, ...changes }, now);
    expect(lines({})).toEqual([
      "http://box:3000: nothing waits; last sent 12 s ago",
      "files are shared, sessions stay here",
    ]);
    expect(lines({ last: null, sessions: true })).toEqual([
      "http://box:3000: nothing was shared yet",
      "files and sessions are shared",
    ]);
    expect(lines({ outbox: 14, oldest: ago(130), behind: 3, ahead: 1, error: away(7_300) })).toEqual([
      "http://box:3000: 14 transactions wait to be sent, the oldest for 2 min; 3 transactions of others to be fetched",
      "files are shared, sessions stay here",
      "1 version of others not taken yet: by this machine's clock they are from the future",
      "not working for 2 h: the XTDB server `http://box:3000` cannot be used now: no connection (XTDB_UNAVAILABLE)",
    ]);
    expect(lines({ outbox: 1, oldest: ago(1) })[0]).toBe(
      "http://box:3000: 1 transaction waits to be sent, the oldest for 1 s",
    );
  });

  test("says for a day that the shared store had lost something", () => {
    const lines = (restored: SharingStatus["restored"]) => sharingLines({ ...alike, restored }, now).slice(2);
    const lost = { noticed: ago(120), isOther: false, versions: 3, done: null };
    expect(lines(lost)).toEqual([
      "it was found put back to an older state 2 min ago; what it lacks is sent again, 3 so far",
    ]);
    expect(lines({ ...lost, isOther: true, versions: 1, done: ago(60) })).toEqual([
      "it was found empty 2 min ago; 1 version was sent again",
    ]);
    expect(lines({ ...lost, done: ago(90_000) })).toEqual([]);
  });

  test("stands in the status line only where it takes long or fails", () => {
    const mark = (changes: Partial<SharingStatus>) => sharingMark({ ...alike, ...changes }, now);
    expect(mark({})).toBeUndefined();
    expect(mark({ outbox: 14, oldest: ago(9) })).toBeUndefined();
    expect(mark({ outbox: 14, oldest: ago(9), error: away(9) })).toBeUndefined();
    expect(mark({ outbox: 14, oldest: ago(10) })).toBe("↑ 14 waiting");
    expect(mark({ outbox: 14, oldest: ago(10), error: away(11) })).toBe("↑ 14 waiting (XTDB does not answer)");
    expect(mark({ error: away(11) })).toBe("XTDB does not answer");
    expect(mark({ error: { ...away(11), code: "XTDB_REFUSED" } })).toBe("XTDB refuses us");
    expect(mark({ error: { ...away(11), code: "NOT_PRIVATE" } })).toBe("not shared: NOT_PRIVATE");
  });

  test("does nothing to a terminal, whatever a server says", () => {
    const error = { ...away(11), message: "a\u001b]0;mine\u0007\nb" };
    expect(sharingLines({ ...alike, error }, now).at(-1)).toBe(
      "not working for 11 s: a\\u001b]0;mine\\u0007 b (XTDB_UNAVAILABLE)",
    );
  });

  test("has its times in one unit", () => {
    const times = [0, 119, 120, 7_199, 7_200, 172_799, 172_800].map((seconds) => age(1_000 * seconds));
    expect(times).toEqual(["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 d"]);
    expect(age(-5_000)).toBe("0 s");
  });

  describe("is looked at from time to time", () => {
    afterEach(() => void vi.useRealTimers());

    /** What a person is told while the status changes. */
    function watched(first: SharingStatus | null) {
      vi.useFakeTimers({ now });
      const seen: { marks: (string | undefined)[]; notices: string[]; looks: number } = {
        marks: [],
        notices: [],
        looks: 0,
      };
      let status = first;
      const end = watchSharing(
        async () => {
          seen.looks += 1;
          return status;
        },
        { changed: (mark) => seen.marks.push(mark), notice: (text) => seen.notices.push(text) },
      );
      const become = (next: SharingStatus) => {
        status = next;
        return vi.advanceTimersByTimeAsync(20_000);
      };
      return { seen, end, become };
    }

    test("and told once for each failure, and when it works again", async () => {
      const { seen, end, become } = watched(alike);
      await become({ ...alike, error: away(0) });
      await become({ ...alike, outbox: 2, oldest: ago(0), error: away(0) });
      await become(alike);
      await become({ ...alike, error: away(0) });
      end();
      expect(seen.notices).toEqual([
        "nothing is shared for now, and what waits is kept: the XTDB server `http://box:3000` cannot be used now: no connection",
        "the shared store http://box:3000 works again",
        "nothing is shared for now, and what waits is kept: the XTDB server `http://box:3000` cannot be used now: no connection",
      ]);
      expect(seen.marks).toEqual([
        "XTDB does not answer",
        "↑ 2 waiting (XTDB does not answer)",
        undefined,
        "XTDB does not answer",
      ]);
      const before = seen.looks;
      await vi.advanceTimersByTimeAsync(60_000);
      expect(seen.looks).toBe(before);
    });

    test("and told once that a server had lost something", async () => {
      const { seen, end, become } = watched({
        ...alike,
        restored: { noticed: ago(900), isOther: false, versions: 1, done: ago(800) },
      });
      const restored = { noticed: ago(-1), isOther: false, versions: 14, done: null };
      await become({ ...alike, restored });
      expect(seen.notices).toEqual([]);
      await become({ ...alike, restored: { ...restored, done: ago(-25) } });
      await become({ ...alike, restored: { ...restored, done: ago(-25) } });
      end();
      expect(seen.notices).toEqual([
        expect.stringMatching(
          /^the shared store http:\/\/box:3000 was found put back to an older state \d+ s ago; 14 versions were sent again$/,
        ),
      ]);
    });

    test("but not where nothing is shared", async () => {
      const { seen } = watched(null);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(seen).toEqual({ marks: [], notices: [], looks: 1 });
    });
  });
});

test("a provider whose reports count for nothing is named", () => {
  for (const why of ["none", "constant", "implausible", "uncached"] as const) {
    expect(noticeOf({ type: "usage_ignored", why })).toMatch(
      /provider reports.*; (sizes and costs are by our own count|costs assume .*: if it has none, set `prices` to `none`)/,
    );
  }
});

describe("before Pi's own messages go out", () => {
  const long = { host: "Pi", tokens: 209_000, dollars: 0.78, contextWindow: 200_000, before: 34_000 };

  test("a person reads size, price and a possible compaction", () => {
    expect(plainRequestText(long)).toBe(
      "The next request has about 209k tokens instead of 34k, 105 % of the 200k that the model takes. The first call costs about $0.78, since no cache holds it. Pi may compact before it.",
    );
    expect(plainRequestText({ host: "Pi", tokens: 64_000, contextWindow: 200_000 })).toBe(
      "The next request has about 64k tokens, 32 % of the 200k that the model takes.",
    );
    expect(plainRequestText({ ...long, dollars: null, contextWindow: 0 })).toBe(
      "The next request has about 209k tokens instead of 34k.",
    );
  });

  test("nothing is said of a small request", () => {
    expect(plainRequestText({ ...long, tokens: 19_000 })).toBeUndefined();
  });
});
