// The policy study: replays all recorded transcripts under several prices, with and without a window, and with one setting changed
// at a time. Writes Markdown tables to stdout; docs/policy.md explains them. Takes some minutes.
//
// Reads the folder `transcripts` of PALIMPSEST_DATA, or else of ../shared/data. Must not decide anything; it only replays.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { root, setUp } from "./setup.js";

setUp(import.meta.filename, { addon: "release" });
const { learnHazards, loadSettings, replayFile, replayReport } = await import("../index.js");

/**
 * @typedef {import("../index.js").Hazards} Hazards
 * @typedef {import("../index.js").ReplayedFile} ReplayedFile
 * @typedef {import("../index.js").ReplayOptions} ReplayOptions
 * @typedef {{ path: string, repository: string, kinds: Map<string, string>, messages: any[] }} Recording
 * @typedef {(recording: Recording) => ReplayOptions["settings"]} SettingsOf
 * @typedef {[name: string, settings: SettingsOf]} Variant
 */

/** Number of replays that run at the same time. */
const atOnce = 2;
const window = 200_000;

/** A base weight with which nothing of a kind ever leaves. */
const never = 100;

let written = 0;
const recordings = readRecordings();
const folder = mkdtempSync(join(tmpdir(), "policy-study-"));
try {
  await study();
} finally {
  rmSync(folder, { recursive: true });
}

async function study() {
  const shipped = /** @type {Hazards} */ (
    JSON.parse(readFileSync(join(root, "src", "context", "hazards.json"), "utf8"))
  );
  const defaults = await loadSettings({});
  heading("Prices and windows");
  tableHead("prices, window");
  /** @type {ReplayedFile[]} */
  let files = [];
  for (const limit of [undefined, window]) {
    for (const prices of ["anthropic", "openai", "gemini", "deepseek"]) {
      const replayed = await row(`${prices}, ${limit ?? "none"}`, { prices, window: limit }, () => ({}));
      files = prices === "anthropic" && limit === undefined ? replayed : files;
    }
  }
  faultsByKind(files);

  const changed = (/** @type {string} */ name, /** @type {(hazards: Hazards) => void} */ change) => {
    const hazards = structuredClone(shipped);
    change(hazards);
    const path = saved(name, hazards);
    return () => ({ hazards: path });
  };
  const { auc, weightsOf } = await byRepository();
  const halfOf = await byHalves();
  // Only the rates of needs are learned. How cautious to be is a separate choice.
  const learned = [shipped.caution, 3 * shipped.caution, 9 * shipped.caution].flatMap((caution) => [
    /** @type {Variant} */ ([`learned on the other half, caution ${caution}`, careful(halfOf, caution)]),
    /** @type {Variant} */ ([`learned on other repositories, caution ${caution}`, careful(weightsOf, caution)]),
  ]);
  /** @type {(key: "previewTokens" | "keepResults", values: number[]) => Variant[]} */
  const numbers = (key, values) =>
    values.filter((value) => value !== defaults[key]).map((value) => [`${key} ${value}`, () => ({ [key]: value })]);
  const cautions = [1, 5, 10, 20].filter((caution) => caution !== shipped.caution);
  /** @type {Variant[]} */
  const variants = [
    ["as shipped", () => ({})],
    ...numbers("previewTokens", [0, 1_000, 2_000, 4_000]),
    ["previewReads true", () => ({ previewReads: true })],
    ...numbers("keepResults", [5, 10, 20]),
    ["no folding", changed("steps", (hazards) => (hazards.steps.base = never))],
    ["no collapsing", changed("outputs", (hazards) => (hazards.outputs.base = never))],
    ...cautions.map((caution) => {
      const settings = changed(`caution-${caution}`, (hazards) => (hazards.caution = caution));
      return /** @type {Variant} */ ([`caution ${caution}`, settings]);
    }),
    ...learned,
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
  print(auc);
}

/** Weights for each recording, learned on the half that it is not in: recordings with even or odd numbers, in the order of names. */
async function byHalves() {
  const paths = recordings.map(({ path }) => path);
  const weights = await Promise.all(
    [0, 1].map(async (half) => {
      const others = paths.filter((_, at) => at % 2 !== half);
      return (await learnHazards(others)).hazards;
    }),
  );
  return (/** @type {Recording} */ recording) => weights[recordings.indexOf(recording) % 2];
}

/** Weights for each recording, learned on all other repositories, and a table of their quality. */
async function byRepository() {
  const rows = [
    "\n### Learned on the other repositories\n",
    "| repository | sessions | area under the curve, outputs | steps |",
    "|---|--:|--:|--:|",
  ];
  /** @type {Map<string, Hazards>} */
  const weights = new Map();
  for (const repository of new Set(recordings.map((recording) => recording.repository))) {
    const of = (/** @type {boolean} */ own) =>
      recordings.filter((recording) => (recording.repository === repository) === own).map(({ path }) => path);
    const tested = of(true);
    const { hazards, outputs, steps } = await learnHazards(of(false), { tested });
    weights.set(repository, hazards);
    const figure = (/** @type {number | null} */ auc) => auc?.toFixed(2) ?? "no need";
    rows.push(`| ${repository} | ${tested.length} | ${figure(outputs.auc)} | ${figure(steps.auc)} |`);
  }
  const all = await learnHazards(recordings.map(({ path }) => path));
  rows.push(
    `| all, on themselves | ${all.sessions} | ${all.outputs.auc?.toFixed(2)} | ${all.steps.auc?.toFixed(2)} |`,
    `\n${all.calls} calls; ${all.outputs.needs} needs of older outputs, ${all.steps.needs} of older steps. Learned on all:\n`,
    `\`\`\`json\n${JSON.stringify(all.hazards, null, 2)}\n\`\`\``,
  );
  const weightsOf = (/** @type {Recording} */ { repository }) => weights.get(repository) ?? all.hazards;
  return { auc: rows.join("\n"), weightsOf };
}

/**
 * Settings with the weights for each recording and with this caution.
 * @param {(recording: Recording) => Hazards} weightsOf
 * @param {number} caution
 * @returns {SettingsOf}
 */
function careful(weightsOf, caution) {
  return (recording) => ({ hazards: saved("careful", { ...weightsOf(recording), caution }) });
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
  const percent = (/** @type {number} */ calls) => `${((100 * calls) / sum.calls).toFixed(2)} %`;
  const cells = [
    name,
    ...[sum.bill.ratio, sum.median, sum.worst, sum.tokens.ours / sum.tokens.plain].map((ratio) => ratio.toFixed(3)),
    ...[sum.faults.raw, sum.faults.strict, sum.faults.ownWords, sum.plainFaults.raw].map(percent),
  ];
  print(`| ${cells.join(" | ")} |`);
  return files;
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
  const found = places.flatMap((place) => (place ? [join(place, "transcripts")] : [])).find(existsSync);
  if (found === undefined) {
    console.error("no transcripts: set PALIMPSEST_DATA to a folder that holds `transcripts`");
    process.exit(1);
  }
  const names = readdirSync(found).filter((name) => name.endsWith(".jsonl.gz"));
  return names.sort().map((name) => {
    const path = join(found, name);
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
