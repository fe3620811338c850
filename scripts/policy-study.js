// The policy study: replays all recorded transcripts under several prices, with and without a window, and with one setting changed
// at a time; then how well memory's marks follow the history of this repository. Writes Markdown tables to stdout, and the curve of bill
// against faults to docs/curve.svg; docs/policy.md explains them. Takes an hour; `npm run study -- curve` draws the curve alone.
//
// Reads the folders `transcripts` and `transcripts-2` of PALIMPSEST_DATA, or else of ../shared/data. Must not decide anything; it
// only replays.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { curvePicture } from "./lib/curve.js";
import { historyTables, walkHistory } from "./lib/marks-study.js";
import { root, setUp } from "./setup.js";

setUp(import.meta.filename, { addon: "release" });
const { learnHazards, loadSettings, openMemory, replayFile, replayReport } = await import("../index.js");

/**
 * @typedef {import("../index.js").Hazards} Hazards
 * @typedef {import("../index.js").ReplayedFile} ReplayedFile
 * @typedef {import("../index.js").ReplayOptions} ReplayOptions
 * @typedef {{ path: string, repository: string, kinds: Map<string, string>, messages: any[] }} Recording
 * @typedef {(recording: Recording) => NonNullable<ReplayOptions["settings"]>} SettingsOf
 * @typedef {[name: string, settings: SettingsOf]} Variant
 */

/** Number of groups of repositories, each of which gets weights that are learned on the others. */
const groupCount = 4;
/** Number of replays that run at the same time. */
const atOnce = 2;
const window = 200_000;

/** A base weight with which nothing of a kind ever leaves. */
const never = 100;

/** What a fault weighs at the points of the curve, in tokens that stay for one call. */
const weighed = [100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000];

let written = 0;
const recordings = readRecordings();
const folder = mkdtempSync(join(tmpdir(), "policy-study-"));
try {
  const { table, weightsOf } = await learnedOnOthers();
  /** @type {SettingsOf} */
  const unseen = (recording) => ({ hazards: saved("unseen", weightsOf(recording)) });
  if (process.argv[2] !== "curve") {
    await study(table, unseen);
  }
  await curve(unseen);
} finally {
  rmSync(folder, { recursive: true });
}

/** @returns {Hazards} */
function shippedHazards() {
  return JSON.parse(readFileSync(join(root, "crates", "context", "src", "hazards.json"), "utf8"));
}

/**
 * @param {string} name
 * @param {(hazards: Hazards) => void} change
 * @returns {SettingsOf}
 */
function changed(name, change) {
  const hazards = shippedHazards();
  change(hazards);
  const path = saved(name, hazards);
  return () => ({ hazards: path });
}

/**
 * The bill against faults: ours at several weights of a fault, beside what other programs do, foresight, and the host alone.
 * @param {SettingsOf} unseen
 */
async function curve(unseen) {
  /** @type {import("./lib/curve.js").Panel[]} */
  const panels = [];
  for (const [prices, limit] of /** @type {[string, number | undefined][]} */ ([
    ["openai", undefined],
    ["anthropic", undefined],
    ["openai", 131_072],
  ])) {
    const name = `${prices}, ${limit === undefined ? "no window" : `window of ${limit.toLocaleString("en")}`}`;
    heading(`The curve: ${name}`);
    tableHead("policy");
    const options = { prices, window: limit };
    const point = async (
      /** @type {string} */ label,
      /** @type {SettingsOf} */ settingsOf,
      /** @type {ReplayOptions} */ more = {},
    ) => {
      const { sum } = await row(label, { ...options, ...more }, settingsOf);
      return { label, bill: sum.bill.ratio, faults: sum.faults.raw / sum.calls };
    };
    const ours = [];
    for (const faultTokens of weighed) {
      ours.push(
        await point(`a fault weighs ${faultTokens.toLocaleString("en")}`, (recording) => ({
          ...unseen(recording),
          faultTokens,
        })),
      );
    }
    const others = [];
    for (const keepResults of [5, 10, 20]) {
      const label = `masking ${keepResults}`;
      others.push(await point(label, () => ({ keepResults }), { layout: "masking" }));
    }
    others.push(await point("clearing", () => ({}), { layout: "clearing" }));
    others.push(await point("pruning", () => ({}), { layout: "pruning" }));
    const { sum } = await row("as shipped", { ...options, oracle: true }, unseen);
    if (sum.oracle !== undefined) {
      const { bill, median, worst, tokens, faults } = sum.oracle;
      const ratios = [bill.ratio, median, worst, tokens / sum.tokens.plain].map((ratio) => ratio.toFixed(3));
      const shares = [faults.raw, faults.strict, faults.ownWords, sum.plainFaults.raw].map(percentOf(sum.calls));
      print(`| foresight | ${[...ratios, ...shares].join(" | ")} |`);
      others.push({ label: "foresight", bill: bill.ratio, faults: faults.raw / sum.calls });
    }
    others.push({ label: "the host alone", bill: 1, faults: sum.plainFaults.raw / sum.calls });
    panels.push({ name, ours, others });
  }
  writeFileSync(join(root, "docs", "curve.svg"), curvePicture(panels));
}

/**
 * @param {string} table how well weights tell what is needed from the rest
 * @param {SettingsOf} unseen
 */
async function study(table, unseen) {
  const defaults = await loadSettings({});
  /** @type {ReplayedFile[]} */
  let files = [];
  heading("Prices and windows, weights learned on other repositories");
  tableHead("prices, window");
  for (const limit of [undefined, window, 131_072, 65_536]) {
    for (const prices of ["anthropic", "openai", "gemini", "deepseek"]) {
      const replayed = await row(`${prices}, ${limit ?? "none"}`, { prices, window: limit }, unseen);
      files = prices === "anthropic" && limit === undefined ? replayed.files : files;
    }
  }
  faultsByKind(files);

  /** @type {(key: "previewTokens" | "keepResults", values: number[]) => Variant[]} */
  const numbers = (key, values) =>
    values.filter((value) => value !== defaults[key]).map((value) => [`${key} ${value}`, () => ({ [key]: value })]);
  const thrifts = /** @type {const} */ (["careful", "thrifty"]);
  /** @type {Variant[]} */
  const variants = [
    ["as shipped", () => ({})],
    ["learned on other repositories", unseen],
    ...numbers("previewTokens", [0, 2_000, 4_000]),
    ["previewReads true", () => ({ previewReads: true })],
    ...numbers("keepResults", [2, 4, 6, 10]),
    ["no folding", changed("steps", (hazards) => (hazards.steps.base = never))],
    ["no collapsing", changed("outputs", (hazards) => (hazards.outputs.base = never))],
    ...thrifts.map((thrift) => /** @type {Variant} */ ([`thrift ${thrift}`, () => ({ thrift })])),
    ...[
      [0.003, 1_000],
      [0.03, 3_000],
      [0.03, 10_000],
    ].map(([extraShare, extraTokens]) => {
      const name = `extraShare ${extraShare}, extraTokens ${extraTokens}`;
      return /** @type {Variant} */ ([name, () => ({ extraShare, extraTokens })]);
    }),
  ];
  for (const [prices, limit] of /** @type {[string, number | undefined][]} */ ([
    ["anthropic", undefined],
    ["openai", window],
  ])) {
    heading(`Variants: ${prices}, ${limit === undefined ? "no window" : `a window of ${limit}`}`);
    tableHead("variant");
    for (const [name, settingsOf] of variants) {
      await row(name, { prices, window: limit }, settingsOf);
    }
  }
  print(table);
  heading("Marks of memory, on the history of this repository");
  const history = await walkHistory(openMemory, { repository: root });
  print(history === undefined ? "The history here is too short." : historyTables(history));
}

/**
 * Weights for each recording, learned without any session of its repository, and a table of their quality. The repositories are
 * parted into groups of about as many sessions; the weights of a group are learned on all others.
 */
async function learnedOnOthers() {
  const groups = grouped();
  const rows = [
    "\n### Learned on the other repositories\n",
    "| repositories | sessions | needs of outputs | area under the curve | needs of steps | area under the curve |",
    "|---|--:|--:|--:|--:|--:|",
  ];
  /** @type {Map<string, Hazards>} */
  const weights = new Map();
  const figure = (/** @type {number | null} */ auc) => auc?.toFixed(2) ?? "no need";
  for (const group of groups) {
    const of = (/** @type {boolean} */ own) =>
      recordings.filter(({ repository }) => group.includes(repository) === own).map(({ path }) => path);
    const { hazards } = await learnHazards(of(false), { tested: of(true) });
    const { outputs, steps } = hazards.learned;
    for (const repository of group) {
      weights.set(repository, hazards);
    }
    const cells = [of(true).length, outputs.needs, figure(outputs.auc), steps.needs, figure(steps.auc)];
    rows.push(`| ${group.join(", ")} | ${cells.join(" | ")} |`);
  }
  const { hazards: all } = await learnHazards(recordings.map(({ path }) => path));
  const { sessions, calls, outputs, steps } = all.learned;
  const cells = [sessions, outputs.needs, figure(outputs.auc), steps.needs, figure(steps.auc)];
  rows.push(
    `| all, on themselves | ${cells.join(" | ")} |`,
    `\nThe needs are those learned from. ${calls} calls. Learned on all:\n`,
    `\`\`\`json\n${JSON.stringify(all, null, 2)}\n\`\`\``,
  );
  const weightsOf = (/** @type {Recording} */ { repository }) => weights.get(repository) ?? all;
  return { table: rows.join("\n"), weightsOf };
}

/** The repositories in groups, the largest first into the smallest group. */
function grouped() {
  const size = (/** @type {string} */ wanted) => recordings.filter(({ repository }) => repository === wanted).length;
  const repositories = [...new Set(recordings.map(({ repository }) => repository))].sort();
  repositories.sort((a, b) => size(b) - size(a));
  /** @type {{ repositories: string[], sessions: number }[]} */
  const groups = Array.from({ length: groupCount }, () => ({ repositories: [], sessions: 0 }));
  for (const repository of repositories) {
    const [smallest] = [...groups].sort((a, b) => a.sessions - b.sessions);
    smallest.repositories.push(repository);
    smallest.sessions += size(repository);
  }
  return groups.map((group) => group.repositories);
}

/**
 * Replays all and prints a row.
 * @param {string} name
 * @param {ReplayOptions} options
 * @param {SettingsOf} settingsOf
 */
async function row(name, options, settingsOf) {
  /** @type {ReplayedFile[]} */
  const files = [];
  let next = 0;
  const work = async () => {
    while (next < recordings.length) {
      const at = next++;
      const recording = recordings[at];
      files[at] = await replayFile(recording.path, { ...options, settings: settingsOf(recording) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const { sum } = await replayReport(files, options);
  const cells = [
    name,
    ...[sum.bill.ratio, sum.median, sum.worst, sum.tokens.ours / sum.tokens.plain].map((ratio) => ratio.toFixed(3)),
    ...[sum.faults.raw, sum.faults.strict, sum.faults.ownWords, sum.plainFaults.raw].map(percentOf(sum.calls)),
  ];
  print(`| ${cells.join(" | ")} |`);
  return { files, sum };
}

/** @param {number} all @returns {(part: number) => string} */
function percentOf(all) {
  return (part) => `${((100 * part) / all).toFixed(2)} %`;
}

/** @param {string} first */
function tableHead(first) {
  print(`| ${first} | bill, sum | median | worst | tokens | faults | strict | own words | plain faults |`);
  print("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
}

/**
 * What faults missed, by the kind of tool or the role that was the source.
 * @param {ReplayedFile[]} files
 */
function faultsByKind(files) {
  /** @type {Map<string, { messages: number, characters: number, faults: number }>} */
  const kinds = new Map();
  for (const [at, { series }] of files.entries()) {
    const { messages, kinds: toolKinds } = recordings[at];
    const kind = (/** @type {any} */ { role, toolName }) =>
      role === "toolResult" ? (toolKinds.get(toolName) ?? "other") : `(${role})`;
    const counted = (/** @type {any} */ message) => {
      const of = kinds.get(kind(message)) ?? { messages: 0, characters: 0, faults: 0 };
      kinds.set(kind(message), of);
      return of;
    };
    for (const message of messages) {
      const of = counted(message);
      of.messages += 1;
      of.characters += JSON.stringify(message.content ?? "").length;
    }
    for (const source of series.flatMap(({ ours }) => ours.fault?.sources ?? [])) {
      counted(messages[source]).faults += 1;
    }
  }
  heading("What faults missed, anthropic, no window");
  print("| kind of tool, or role | messages | million characters | missed by calls |");
  print("|---|--:|--:|--:|");
  const sorted = [...kinds].sort(([, a], [, b]) => b.characters - a.characters);
  for (const [kind, { messages, characters, faults }] of sorted) {
    print(`| ${kind} | ${messages} | ${(characters / 1e6).toFixed(2)} | ${faults} |`);
  }
}

/**
 * Writes weights to a file of their own.
 * @param {string} name
 * @param {Hazards} hazards
 */
function saved(name, hazards) {
  const path = join(folder, `${name}-${written++}.json`);
  writeFileSync(path, JSON.stringify(hazards));
  return path;
}

/** @returns {Recording[]} */
function readRecordings() {
  const places = [process.env.PALIMPSEST_DATA, join(root, "..", "shared", "data")];
  const data = places.find((place) => place && existsSync(join(place, "transcripts")));
  if (data === undefined) {
    console.error("no transcripts: set PALIMPSEST_DATA to a folder that holds `transcripts`");
    process.exit(1);
  }
  const folders = ["transcripts", "transcripts-2"].map((name) => join(data, name)).filter(existsSync);
  const paths = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  const recorded = paths.filter((path) => path.endsWith(".jsonl.gz")).sort();
  return recorded.map((path) => {
    const name = basename(path);
    const [{ session }, ...messages] = gunzipSync(readFileSync(path))
      .toString()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
    const tools = /** @type {Record<string, { kind: string }>} */ (session.tools ?? {});
    const kinds = new Map(Object.entries(tools).map(([tool, { kind }]) => [tool, kind]));
    return { path, repository: session.source_repo ?? name, kinds, messages };
  });
}

/** @param {string} text */
function heading(text) {
  print(`\n### ${text}\n`);
}

/** @param {string} text */
function print(text) {
  console.log(text);
}
