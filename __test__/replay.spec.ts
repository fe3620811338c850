// `palimpsest replay` against an independent pricing of what it dumps, on the recorded sessions and on one written here.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { type ReplayedFile, type ReplayOptions, type ReplayReport, replayFile, replayReport } from "../index.js";
import { isEverything } from "../scripts/lib/tiers.js";
import { pinnedNode } from "../scripts/setup.js";
import { desk, program } from "./command.ts";
import { recordedData, temporaryFolder } from "./e2e/support.ts";
import { carriedText } from "./inspector/saved.ts";
import { dumped, type Figures, plainRequests, price, readTranscript, tables } from "./replay-pricing.ts";

/** Tokens of system prompt and tools where nobody says: all, and those that we add. */
const usual = { promptTokens: 4_276, overheadTokens: 276 };

const recordings = recordedData("transcripts");

/** Plants a link in the place of a file that a command is to write; returns a check that it was not followed. */
function plantLink(folder: string, name: string): () => void {
  const [victim, planted] = [join(folder, "victim"), join(folder, name)];
  writeFileSync(victim, "not ours");
  mkdirSync(dirname(planted), { recursive: true });
  symlinkSync(victim, planted);
  return () => {
    expect(readFileSync(victim, "utf8")).toBe("not ours");
    const found = lstatSync(planted);
    expect({ isFile: found.isFile(), forOthers: found.mode & 0o077 }).toEqual({ isFile: true, forOthers: 0 });
  };
}

interface Setting extends Pick<ReplayOptions, "window" | "layout" | "promptTokens" | "overheadTokens"> {
  prices: keyof typeof tables;
}

/** Both sides of a file as the command says them and as they are priced here. */
async function both(path: string, setting: Setting) {
  const { prices, window, promptTokens, overheadTokens } = { ...usual, ...setting };
  const dump = temporaryFolder();
  const file = await replayFile(path, { ...setting, dump });
  const transcript = readTranscript(path);
  const table = tables[prices];
  // What a compaction costs is not seen in what is sent.
  const compactions = file.series.reduce((sum, { ours }) => sum + ours.compaction, 0);
  const ours = price(transcript, dumped(join(dump, `${file.name}.jsonl.gz`)), table, promptTokens);
  const fixed = promptTokens - overheadTokens;
  const plain = price(transcript, plainRequests(transcript, fixed, window), table, fixed);
  return {
    said: sides(file),
    priced: { ours: { ...ours, cost: ours.cost + compactions }, plain },
  };
}

function sides(file: ReplayedFile) {
  const side = (name: "ours" | "plain", faults: ReplayedFile["faults"]): Figures => ({
    cost: file.bill[name],
    tokens: file.tokens[name],
    cached: file.cachedTokens[name],
    peak: file.peakWindow[name],
    raw: faults.raw,
    strict: faults.strict,
    ownWords: faults.ownWords,
  });
  return { ours: side("ours", file.faults), plain: side("plain", file.plainFaults) };
}

/** Expects sums of tokens and costs to agree: what a cache shares may end some characters later within a message. */
function expectAlike({ said, priced }: Awaited<ReturnType<typeof both>>) {
  for (const side of ["ours", "plain"] as const) {
    for (const [name, value] of Object.entries(priced[side])) {
      const difference = Math.abs(said[side][name as keyof Figures] - value);
      expect(difference, `${side} ${name}: ${value}`).toBeLessThanOrEqual(value * 2e-5);
    }
  }
}

/** The recorded sessions that are taken where not all are: short ones. */
const few = ["agentv-codex-c7baf3eb.jsonl.gz", "cli-claude-ce362a71.jsonl.gz"];

const settings: Setting[] = [{ prices: "anthropic" }, { prices: "openai", window: 200_000 }];

/**
 * A session of some steps, in the neutral form: outputs of every length, files read and edited again, an answer that quotes
 * what was shown long before, and pauses that outlive a cache.
 */
function writtenSession(steps: number): string[] {
  const messages: object[] = [{ role: "user", content: "Mend it. \u2602", timestamp: 1 }];
  const rows = (name: string, count: number) =>
    Array.from({ length: count }, (_, row) => `\t${row} of ${name}: "some words" to fill the line \\ ${row * 7}`);
  for (let step = 0; step < steps; step += 1) {
    const timestamp = 1_000 * (step + 1) + (step > 20 ? 400_000 : 0);
    const path = `src/part${step % 7}.ts`;
    const output = rows(step % 5 === 0 ? `log ${step}` : path, step % 9 === 4 ? 900 : 40);
    const quoted = rows(step % 2 === 0 ? `log ${5 * Math.floor(step / 10)}` : path, 25).slice(20);
    const id = `c${step}`;
    const call =
      step % 5 === 0
        ? { type: "toolCall", id, name: "bash", arguments: { command: `make part${step}`, note: quoted.join("\n") } }
        : { type: "toolCall", id, name: "read", arguments: { path, offset: step } };
    messages.push(
      { role: "assistant", content: [{ type: "thinking", thinking: quoted[0] }, call], timestamp },
      {
        role: "toolResult",
        toolCallId: id,
        toolName: call.name,
        content: [{ type: "text", text: output.join("\n") }],
        isError: false,
        timestamp: timestamp + 500,
      },
    );
  }
  messages.push({ role: "assistant", content: [{ type: "text", text: "Done." }], timestamp: 900_000 });
  return messages.map((message) => JSON.stringify(message));
}

/** Writes a session as a transcript. */
function transcriptIn(folder: string, name: string, messages: string[], cwd?: string): string {
  const path = join(folder, name);
  const text = [JSON.stringify({ session: { id: "x", cwd } }), ...messages, ""].join("\n");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, name.endsWith(".gz") ? gzipSync(text) : text);
  return path;
}

const shop = "/home/ann/shop";

/**
 * Opens a database of OpenClaw's schema as its gateway does, with sessions by their IDs: conversations that a `/new` parts, each of
 * messages as JSON.
 */
function openclawDatabase(path: string, sessions: Record<string, string[][]>): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(`pragma journal_mode = wal;
    create table schema_meta (meta_key text primary key, role text not null, schema_version integer not null) strict;
    create table transcript_events (session_id text not null, seq integer not null, event_json text, created_at integer not null,
      event_zstd blob, event_utf8_bytes integer, navigation_json text, primary key (session_id, seq)) strict;
    insert into schema_meta values ('primary', 'agent', 23)`);
  const insert = database.prepare("insert into transcript_events values (?, ?, ?, ?, ?, ?, ?)");
  let parentId: string | null = null;
  for (const [session, conversations] of Object.entries(sessions)) {
    let seq = 0;
    const put = (entry: object) => {
      const text = JSON.stringify(entry);
      const bytes = Buffer.from(text);
      const frame = bytes.length < 1_024 ? null : zstdCompressSync(bytes);
      insert.run(session, seq, frame === null ? text : null, seq, frame, bytes.length, frame === null ? null : "{}");
      seq += 1;
    };
    const add = (entry: object) => {
      const id = `${session}-${seq}`;
      put({ id, parentId, ...entry });
      parentId = id;
    };
    put({ type: "session", version: 4, id: session, timestamp: "2026-11-23T05:00:00.000Z", cwd: shop });
    parentId = null;
    for (const [at, messages] of conversations.entries()) {
      if (at > 0) {
        add({ type: "reset", reason: "new" });
      }
      for (const message of messages) {
        add({ type: "message", message: JSON.parse(message) });
      }
    }
  }
  return database;
}

describe("a replay costs what independent pricing says", () => {
  const cases: Setting[] = [
    ...settings,
    { prices: "gemini", layout: "pools" },
    { prices: "anthropic", window: 60_000 },
    { prices: "anthropic", window: 60_000, promptTokens: 15_000, overheadTokens: 900 },
  ];
  test.each(cases)("for a written session, setting %#", async (setting) => {
    const path = transcriptIn(temporaryFolder(), "made.jsonl", writtenSession(60));
    const figures = await both(path, setting);
    expectAlike(figures);
    expect(figures.said.ours.raw, "it must have faults for this to say something").toBeGreaterThan(0);
  });

  test.each([{ promptTokens: 275 }, { promptTokens: 899, overheadTokens: 900 }, { promptTokens: -1 }])(
    "but refuses %j",
    async (options) => {
      const path = transcriptIn(temporaryFolder(), "made.jsonl", writtenSession(2));
      await expect(replayFile(path, options)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("promptTokens"),
      });
    },
  );

  const recorded = recordings === undefined ? [] : readdirSync(recordings).filter((name) => name.endsWith(".jsonl.gz"));
  test.skipIf(recorded.length === 0).each(recorded.filter((name) => isEverything || few.includes(name)))(
    "for the recorded session %s",
    async (name) => {
      for (const setting of settings) {
        expectAlike(await both(join(recordings ?? "", name), setting));
      }
    },
    300_000,
  );
});

/** What stderr says besides how far it is, which a slow machine gets to hear. */
const problems = (stderr: string) => stderr.split("\n").filter((line) => line !== "" && !line.startsWith("replaying"));

describe("palimpsest replay", () => {
  test("prints each session and the sum", () => {
    const at = desk();
    transcriptIn(at.folder, "one.jsonl", writtenSession(30));
    transcriptIn(at.folder, "deep/two.jsonl.gz", writtenSession(3));
    at.write("other.txt", "no transcript");
    const { status, stdout, stderr } = at.run("replay", ".", "--prices", "openai", "--window", "200000");
    expect({ status, problems: problems(stderr) }).toEqual({ status: 0, problems: [] });
    const lines = stdout.split("\n");
    expect(lines.slice(0, 2)).toEqual([
      "openai prices, a window of 200k tokens",
      expect.stringMatching(/^input of 2 sessions cost as much as [\d.]+k uncached input tokens as we estimate$/),
    ]);
    expect(lines[2]).toMatch(/^with Palimpsest it would have cost as much as .* tokens, \d+ % less$/);
    expect(lines[3]).toMatch(/^something that was needed would have been missing in \d+ of 35 requests/);
    const table = lines.slice(4, 8).map((line) => line.split("\t"));
    expect(table.map((cells) => cells[0])).toEqual(["SESSION", "two", "one", "sum"]);
    expect(table.map((cells) => cells[1])).toEqual(["CALLS", "4", "31", "31"]);
    expect(new Set(table.map((cells) => cells.length)).size).toBe(1);
    expect(lines[8]).toMatch(
      /^faults: [\d.]+ % of calls, strict [\d.]+ %, own words [\d.]+ %; the host alone [\d.]+ %$/,
    );
    expect(lines[9]).toMatch(
      /^log, openai, a window of 200k tokens: bill 0\.\d{3} of plain.*; 1 of 2 sessions left out: fewer than 15 calls$/,
    );
  });

  test("does not call a rule of other programs Palimpsest's", () => {
    const at = desk();
    transcriptIn(at.folder, "one.jsonl", writtenSession(30));
    const { answer } = at.json<{ answer: object }>("replay", "one.jsonl", "--layout", "masking");
    expect(answer).toMatchObject({ layout: "masking", withPalimpsest: null, savedAMonth: null });
    expect(at.run("replay", "one.jsonl", "--layout", "masking").stdout).toMatch(
      /\nwith `masking` and without Palimpsest it would have cost as much as .* tokens, \d+ % (less|more)\n/,
    );
  });

  test("prints one document, and writes requests with --dump", () => {
    const at = desk();
    transcriptIn(at.folder, "one.jsonl.gz", writtenSession(30));
    const expectPrivate = plantLink(at.folder, join("out", "requests", "one.jsonl.gz"));
    const report = at.json<ReplayReport>("replay", "one.jsonl.gz", "--dump", "out/requests", "--layout", "plain");
    expect(report).toMatchObject({
      layout: "plain",
      prices: "anthropic",
      window: null,
      tokens: "characters",
      failed: [],
    });
    expect(report.sum).toMatchObject({ files: 1, leftOut: 0, calls: 31, bill: { ratio: 1 }, median: 1, worst: 1 });
    const requests = [...dumped(join(at.folder, "out", "requests", "one.jsonl.gz"))];
    expectPrivate();
    expect(requests.map(({ messages }) => messages.length)).toEqual(
      Array.from({ length: 31 }, (_, call) => 1 + 2 * call),
    );
    const again = at.json<ReplayReport>("replay", "one.jsonl.gz", "--tokens", "bundled", "--layout", "plain");
    expect(again.tokens).toBe("bundled");
    expect(again.sum.tokens.plain).not.toBe(report.sum.tokens.plain);
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("leaves no file of a session behind after %s", async (signal) => {
    const at = desk();
    transcriptIn(at.folder, "one.jsonl", writtenSession(2_000));
    const [scratch, requests] = ["scratch", "requests"].map((name) => join(at.folder, name));
    mkdirSync(scratch);
    const args = [program, "replay", "one.jsonl", "--dump", requests];
    const env = { ...at.env, TMPDIR: scratch };
    const child = spawn(pinnedNode(), args, { cwd: at.folder, env, stdio: "ignore" });
    const ended = once(child, "exit");
    const isWritten = () => existsSync(requests) && readdirSync(requests).length > 0;
    await vi.waitUntil(() => isWritten() && readdirSync(scratch).length > 0, { timeout: 30_000, interval: 2 });
    const [name] = readdirSync(scratch);
    expect(lstatSync(join(scratch, name)).mode & 0o777).toBe(0o700);
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    expect([...readdirSync(scratch), ...readdirSync(requests)]).toEqual([]);
  });

  test("writes a private page that has the report and loads nothing", () => {
    const at = desk();
    transcriptIn(at.folder, "<one>.jsonl", writtenSession(30));
    const expectPrivate = plantLink(at.folder, "page.html");
    const { status, stderr } = at.run("replay", "<one>.jsonl", "--html", "page.html");
    expect({ status, problems: problems(stderr) }).toEqual({ status: 0, problems: [] });
    const path = join(at.folder, "page.html");
    expectPrivate();
    const [markup] = readFileSync(path, "utf8").split("<script");
    expect(markup).toMatch(/^<!doctype html>[\s\S]*content="default-src 'none';/i);
    expect(JSON.parse(carriedText(path)).replays.files[0].name).toBe("<one>");
  });

  test("says so where there is nothing to sum", () => {
    const at = desk();
    transcriptIn(at.folder, "one.jsonl", writtenSession(3));
    const lines = at.run("replay", "one.jsonl").stdout.trimEnd().split("\n");
    expect(lines[5]).toMatch(/^one\t4\t/);
    expect(lines[6]).toBe("nothing to sum: 1 session of fewer than 15 calls");
    expect(lines[7]).toMatch(/^may differ from live use: /);
    expect(lines[8]).toBe("left out: no request; the files hold 4 requests and 3 calls, and all were read");
    expect(lines[9]).toBe("no session records what was counted, so all sizes are our estimate");
    expect(lines).toHaveLength(10);
  });

  test("goes on after a file that cannot be replayed", () => {
    const at = desk();
    transcriptIn(at.folder, "good.jsonl", writtenSession(20));
    at.write("bad.jsonl", "{}\nno JSON\n");
    const { status, stdout, stderr } = at.run("replay", "bad.jsonl", "good.jsonl", "gone.jsonl");
    expect(status).toBe(1);
    expect(stdout).toContain("\ngood\t");
    expect(stderr).toMatch(/bad\.jsonl/);
    expect(stderr).toMatch(/gone\.jsonl/);
    const { failed, files } = JSON.parse(at.run("replay", "bad.jsonl", "good.jsonl", "--json").stdout);
    expect(files).toHaveLength(1);
    expect(failed).toMatchObject([
      { file: join(at.folder, "bad.jsonl"), error: { message: expect.stringContaining("bad") } },
    ]);
  });

  test("tells what perfect foresight would cost when asked to", () => {
    const at = desk();
    transcriptIn(at.folder, "one.jsonl", writtenSession(30));
    const plain = at.json<ReplayReport>("replay", "one.jsonl");
    expect([plain.files[0], plain.sum].map((figures) => "oracle" in figures)).toEqual([false, false]);
    const { files, sum } = at.json<ReplayReport>("replay", "one.jsonl", "--oracle");
    expect(files[0]).toMatchObject(plain.files[0]);
    expect(files[0].oracle?.bill.plain).toBe(plain.sum.bill.plain);
    expect(sum.oracle).toMatchObject({ ...files[0].oracle, median: sum.oracle?.bill.ratio });
    const { stdout } = at.run("replay", "one.jsonl", "--oracle");
    const ratio = sum.oracle?.bill.ratio.toFixed(3);
    expect(stdout).toContain(`\none\t31\t${plain.sum.bill.ratio.toFixed(3)}\t${ratio}\t`);
    expect(stdout).toContain(`\noracle: bill ${ratio} of plain in sum`);
    const refused = at.failure("replay", "one.jsonl", "--oracle", "--layout", "pools");
    expect(refused).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("`--oracle`") });
  });

  test("replays each session of a database, or only a named one", () => {
    const at = desk();
    copyFileSync(new URL("../tests/fixtures/transcripts/opencode.db", import.meta.url), join(at.folder, "opencode.db"));
    const names = (...args: string[]) => at.json<ReplayReport>("replay", ...args).files.map(({ name }) => name);
    const all = names("opencode.db");
    expect(all).toEqual([expect.stringMatching(/^ses_/), expect.stringMatching(/^ses_/)]);
    expect(names(".")).toEqual(all);
    expect(names(`opencode.db#${all[1]}`)).toEqual([all[1]]);
    const { failed } = JSON.parse(at.run("replay", "opencode.db#ses_none", "--json").stdout);
    expect(failed).toMatchObject([{ error: { message: expect.stringContaining("`ses_none`") } }]);
  });

  test("replays a running OpenClaw's conversations like files", () => {
    const at = desk();
    const [long, short] = [writtenSession(30), writtenSession(16)];
    const database = openclawDatabase(join(at.folder, "agents/main/agent/openclaw-agent.sqlite"), {
      first: [long, short],
      second: [short],
    });
    const figures = (...args: string[]) =>
      at.json<ReplayReport>("replay", ...args).files.map(({ name, calls, bill }) => ({ name, calls, bill }));
    database.exec("begin immediate");
    const found = figures("agents");
    expect(found.map(({ name, calls }) => [name, calls])).toEqual([
      ["first.1", 31],
      ["first.2", 17],
      ["second", 17],
    ]);
    expect(figures("agents/main/agent/openclaw-agent.sqlite#first")).toEqual(found.slice(0, 2));
    database.exec("commit");
    database.close();
    transcriptIn(at.folder, "first.1.jsonl", long, shop);
    transcriptIn(at.folder, "second.jsonl", short, shop);
    expect(figures("first.1.jsonl", "second.jsonl")).toEqual([found[0], found[2]]);
    const { failed } = JSON.parse(at.run("replay", "agents/main/agent/openclaw-agent.sqlite#first.3", "--json").stdout);
    expect(failed).toMatchObject([{ error: { message: expect.stringContaining("`first.3`") } }]);
  });

  test.each([
    [["--prices", "nobody"], "prices"],
    [["--layout", "upside"], "layout"],
    [["--tokens", "words"], "tokens"],
  ])("says once what is wrong with %j", (options, named) => {
    const at = desk();
    transcriptIn(at.folder, "one.jsonl", writtenSession(2));
    const { code, message } = at.failure("replay", "one.jsonl", ...options);
    expect({ code, message }).toEqual({ code: "INVALID_ARGUMENT", message: expect.stringContaining(`\`--${named}\``) });
  });

  test("writes sessions of one name to dumps of their own", () => {
    const at = desk();
    for (const [path, steps] of [
      ["deep/one.jsonl.gz", 2],
      ["one-2.jsonl", 4],
      ["one.jsonl", 3],
      ["zoo/ONE.jsonl", 5],
    ] as const) {
      transcriptIn(at.folder, path, writtenSession(steps));
    }
    const { files } = at.json<ReplayReport>("replay", ".", "--dump", "out");
    const calls = { one: 3, "one-2": 5, "one-3": 4, "ONE-4": 6 };
    expect(Object.fromEntries(files.map((file) => [file.name, file.calls]))).toEqual(calls);
    for (const [name, count] of Object.entries(calls)) {
      expect([...dumped(join(at.folder, "out", `${name}.jsonl.gz`))]).toHaveLength(count);
    }
  });

  test("says what was left out, and fails where it may be a request", () => {
    const at = desk();
    const [first, ...rest] = writtenSession(16);
    transcriptIn(at.folder, "whole.jsonl", [first, ...rest]);
    transcriptIn(at.folder, "broken.jsonl", [first, "\0\0", ...rest]);
    at.write("history.jsonl", JSON.stringify({ session_id: "s", ts: 1, text: "Hi." }));
    at.write("empty.jsonl", "");
    const whole = at.run("replay", "whole.jsonl");
    expect(whole.status).toBe(0);
    expect(whole.stdout).toContain(
      "left out: no request; the files hold 17 requests and 16 calls, and all were read\n",
    );
    const all = at.run("replay", ".");
    expect(all.status).toBe(1);
    expect(all.stdout).toContain(
      "\nleft out: 1 line that cannot be read, and may have held requests; all else was read, 34 requests and 32 calls\n",
    );
    expect(all.stdout).toContain("\nbesides: lines that are not JSON objects left out: 1\n");
    expect(all.stdout).toMatch(/\npassed over: 2 files of the folders that are not sessions, such as `.*empty\.jsonl`/);
    expect(at.run("replay", "whole.jsonl", "empty.jsonl").status).toBe(0);
    expect(at.failure("replay", "empty.jsonl")).toMatchObject({ status: 2, message: "`empty.jsonl` is empty" });
    const { files, passedOver, failed } = JSON.parse(at.run("replay", ".", "--json").stdout);
    expect(files.map(({ name, unreadLines }: ReplayedFile) => [name, unreadLines])).toEqual([
      ["broken", 1],
      ["whole", 0],
    ]);
    expect({ passedOver: passedOver.length, failed }).toEqual({ passedOver: 2, failed: [] });
    const zipped = readFileSync(transcriptIn(at.folder, "zipped.jsonl.gz", [first, ...rest]));
    at.write("zipped.jsonl.gz", zipped.subarray(0, zipped.length / 2));
    const half = at.run("replay", "zipped.jsonl.gz");
    expect(half.status).toBe(1);
    expect(half.stdout).toMatch(/\nleft out: .*may have held/);
    expect(half.stdout).not.toContain("that the files hold");
    expect(half.stdout).toMatch(
      /\nbesides: .*compressed files that are damaged, of which only the beginning is read: 1\b/,
    );
    const failure = JSON.stringify({ role: "assistant", content: [], stopReason: "error" });
    transcriptIn(at.folder, "failed.jsonl", [first, ...rest, failure]);
    expect(at.run("replay", "failed.jsonl").stdout).toContain(
      "\nleft out: 1 request and 0 calls of the 18 requests and 16 calls that the files hold; 1 that failed, or whose calls have no result\n",
    );
    at.write("none/note.jsonl", "no session");
    expect(at.failure("replay", "none").message).toMatch(
      /^there is no session file in `none`, only 1 other file, such as `.*note\.jsonl`, which is not JSON: /,
    );
  });

  test("takes the host as recorded, unless options say otherwise", () => {
    const at = desk();
    const start = Date.UTC(2026, 6, 1);
    const words = (count: number) => "word ".repeat(count);
    const messages: object[] = [{ role: "user", content: "Go on.", timestamp: start }];
    // 20,000 tokens of system prompt and tools, 4,000 more with each step, of which 1,000 are thinking that is not shown; the host
    // compacts after 20 steps.
    for (let step = 0; step < 30; step += 1) {
      const since = step < 20 ? step : step - 20;
      const usage = { input: 10, output: 1_010, cacheRead: 20_000 + 4_000 * since, cacheWrite: 0 };
      const timestamp = start + (step + 1) * 86_400_000;
      messages.push(
        {
          role: "assistant",
          provider: "anthropic",
          model: "claude-opus-4-6",
          usage,
          content: [{ type: "toolCall", id: `c${step}`, name: "look", arguments: {} }],
          timestamp,
        },
        { role: "toolResult", toolCallId: `c${step}`, content: [{ type: "text", text: words(2_390) }], timestamp },
      );
    }
    const path = transcriptIn(
      at.folder,
      "one.jsonl",
      messages.map((message) => JSON.stringify(message)),
    );
    const { files, prices, window, answer } = at.json<ReplayReport & { answer: Record<string, number | string> }>(
      "replay",
      path,
    );
    const [{ recorded, series, plainCompactions }] = files;
    expect(recorded).toMatchObject({
      model: "claude-opus-4-6",
      prices: "anthropic",
      usdPerMillion: expect.closeTo(5),
      compactedAt: 96_010,
      requests: 30,
    });
    expect(prices).toBe("anthropic");
    expect(window).toBe(recorded.window);
    expect(recorded.fixedTokens).toBeGreaterThan(19_990);
    expect(recorded.hiddenTokens).toBeGreaterThan(27_000);
    expect(plainCompactions).toBe(1);
    for (const [step, { plain, recorded: counted }] of series.slice(0, 20).entries()) {
      expect(Math.abs(plain.tokens / (counted?.tokens ?? 0) - 1), `step ${step}`).toBeLessThan(0.01);
    }
    const cost = series.reduce((sum, { recorded: counted }) => sum + (counted?.cost ?? 0), 0);
    expect(answer.cost).toBeCloseTo((cost * 5) / 1e6, 6);
    expect(answer).toMatchObject({ unit: "dollars", days: 30, requests: 30 });
    const { stdout } = at.run("replay", path);
    expect(stdout).toMatch(
      /^anthropic prices \(claude-opus-4-6\), the host compacted at about 96k tokens; system prompt and tools of about 20k tokens\n/,
    );
    expect(stdout).toMatch(/\ninput of 1 session cost \$\d+\.\d\d as recorded\n/);
    expect(stdout).toMatch(/a month at this pace \(30 days\)\n/);
    expect(stdout).toMatch(/\nrecorded: [\d.]+M input tokens in 30 requests; we estimate/);
    const other = at.json<ReplayReport & { answer: Record<string, number> }>(
      "replay",
      path,
      "--prices",
      "openai",
      "--window",
      "500000",
    );
    expect(other.files[0]).toMatchObject({ plainCompactions: 0, recorded: { prices: "openai", window: 500_000 } });
    expect(other).toMatchObject({ prices: "openai", window: 500_000 });
    // What was paid says nothing of other prices, or of another window.
    const { bill, recorded: ofOther } = other.files[0];
    const dollars = (cost: number) => (cost * ofOther.scale * 5) / 1e6;
    expect(other.answer.cost).toBeCloseTo(dollars(bill.plain), 6);
    expect(other.answer.withPalimpsest).toBeCloseTo(dollars(bill.ours), 6);
    expect(other.answer.recorded).toBe(0);
    expect(at.failure("replay", path, "--window", "0")).toMatchObject({
      status: 2,
      message: expect.stringMatching(/^`--window` is `0`/),
    });
    // The addon follows what is recorded only when it is asked to.
    expect(at.run("replay", path, "--window", "500000").stdout).toMatch(
      /^anthropic prices .*, a window of 500k tokens/,
    );
  });

  test("counts once what Codex copied when a session was resumed", () => {
    const at = desk();
    const line = (type: string, payload: object) =>
      JSON.stringify({ timestamp: "2026-07-01T10:00:00Z", type, payload });
    const step = (name: string) => [
      line("response_item", { type: "function_call", call_id: name, name: "shell", arguments: "{}" }),
      line("response_item", { type: "function_call_output", call_id: name, output: `output of ${name}` }),
    ];
    const begins = (id: string) => line("session_meta", { id, cwd: "/w" });
    const parent = [begins("a"), ...["c1", "c2", "c3"].flatMap(step)];
    at.write("rollout-1-a.jsonl", [...parent, ...step("c4")].join("\n"));
    at.write("rollout-2-b.jsonl", [begins("b"), ...parent, ...["d1", "d2"].flatMap(step)].join("\n"));
    const said = (role: string, type: string, text: string) =>
      line("response_item", { type: "message", role, content: [{ type, text }] });
    const talk = [begins("t"), said("user", "input_text", "Hi."), said("assistant", "output_text", "Hello.")];
    at.write("talk/rollout-1-t.jsonl", talk.join("\n"));
    at.write(
      "talk/rollout-2-u.jsonl",
      [begins("u"), ...talk, said("user", "input_text", "And?"), said("assistant", "output_text", "So.")].join("\n"),
    );
    at.write("talk/rollout-3-v.jsonl", [begins("v"), ...talk.slice(1)].join("\n"));
    at.write("rollout-3-c.jsonl", [begins("c"), ...["e1"].flatMap(step)].join("\n"));
    const counts = (...paths: string[]) =>
      at
        .json<ReplayReport>("replay", ...paths)
        .files.map(({ calls, copied, series }) => [calls, copied, series.length]);
    expect(counts("talk"), "the third only begins alike").toEqual([
      [1, 0, 1],
      [1, 1, 1],
      [1, 0, 1],
    ]);
    expect(counts("rollout-1-a.jsonl", "rollout-2-b.jsonl", "rollout-3-c.jsonl")).toEqual([
      [4, 0, 4],
      [2, 3, 2],
      [1, 0, 1],
    ]);
    expect(counts("rollout-2-b.jsonl")).toEqual([[5, 0, 5]]);
    const { stdout, status } = at.run("replay", ".");
    expect(status).toBe(0);
    expect(stdout).toContain("\ncounted once: 4 requests that two of the sessions have\n");
  });

  test("counts once what a fork begins with, and a file named twice", () => {
    const at = desk();
    const begin = Date.UTC(2026, 6, 1);
    const session = (id: string, texts: string[]) => {
      const messages = texts.flatMap((text, step) => [
        { role: "user", content: `Say ${text}.`, timestamp: begin + 2_000 * step },
        { role: "assistant", content: [{ type: "text", text }], timestamp: begin + 2_000 * step + 1_000 },
      ]);
      const entries = messages.map((message, at) => ({
        type: "message",
        id: `m${at}`,
        parentId: at === 0 ? null : `m${at - 1}`,
        message,
      }));
      const lines = [{ type: "session", version: 3, id, timestamp: new Date(begin).toISOString() }, ...entries];
      at.write(`${id}.jsonl`, lines.map((line) => JSON.stringify(line)).join("\n"));
    };
    session("parent", ["one", "two", "three"]);
    session("fork", ["one", "two", "other"]);
    session("alike", ["four", "two", "three"]);
    symlinkSync(join(at.folder, "parent.jsonl"), join(at.folder, "link.jsonl"));
    const paths = ["parent.jsonl", "fork.jsonl", "./parent.jsonl", "alike.jsonl", "link.jsonl"];
    const { files } = at.json<ReplayReport>("replay", ...paths);
    expect(files.map(({ name, calls, copied }) => [name, calls, copied])).toEqual([
      ["parent", 3, 0],
      ["fork", 1, 2],
      ["alike", 3, 0],
    ]);
  });

  test("reports on more than a million values", async () => {
    const at = desk();
    const file = await replayFile(
      transcriptIn(at.folder, "one.jsonl", [JSON.stringify({ role: "user", content: "Go." })]),
    );
    const large = { ...file, notes: Array<string>(600_000).fill("left out: 1") };
    const { files } = await replayReport([large, large]);
    expect(files.map(({ notes }) => notes.length)).toEqual([600_000, 600_000]);
  });

  test("wants transcripts", () => {
    const { status, code } = desk().failure("replay", ".");
    expect({ status, code }).toEqual({ status: 2, code: "USAGE" });
  });
});
