// `palimpsest replay`: runs recorded sessions through the same code as live use and reports what they would have cost.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { plural } from "../../lib/describe.js";
import { piAgentDir } from "../../lib/places.js";
import { name as spelt } from "../../lib/terminal.js";
import { text, UsageError, wholeNumber } from "../lib/arguments.js";
import { printError } from "../lib/errors.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { writeTable } from "../lib/table.js";
import { transcripts } from "../lib/transcripts.js";

/**
 * @typedef {import("../../index.js").ReplayedFile} ReplayedFile
 * @typedef {import("../../index.js").ReplayReport} ReplayReport
 * @typedef {{ file: string, error: unknown }} Failure
 */

/** Transcripts that are replayed at once. */
const atOnce = 2;

/** @type {import("../lib/arguments.js").Command} */
export const replay = {
  name: "replay",
  usage:
    "FILE… [--layout log|pools|plain] [--prices NAME] [--window TOKENS] [--tokens characters|bundled] [--oracle] [--tree DIR] [--dump DIR] [--html FILE]",
  summary: "Report what recorded sessions would have cost",
  arguments: [1, Number.POSITIVE_INFINITY],
  options: {
    layout: {
      type: "string",
      value: "LAYOUT",
      text: "log, pools, or plain (as the host alone would send them); default: log",
    },
    prices: { type: "string", value: "NAME", text: "price table; default: anthropic" },
    window: { type: "string", value: "TOKENS", text: "the model's window, for both sides; default: no limit" },
    tokens: {
      type: "string",
      value: "HOW",
      text: "characters (four are a token) or bundled (the tokenizer); default: characters",
    },
    oracle: {
      type: "boolean",
      text: "also tell what perfect foresight would cost under the same rules; takes twice as long",
    },
    tree: {
      type: "string",
      value: "DIR",
      text: "snapshots of the working folder: DIR/NAME/call-N and DIR/NAME/result-ID, see above",
    },
    dump: { type: "string", value: "DIR", text: "write the requests to DIR/NAME.jsonl.gz, one line per call" },
    html: { type: "string", value: "FILE", text: "write an HTML page with windows, bills, epochs and faults" },
  },
  notes: [
    "FILE is a session file of Pi, Claude Code, Codex, Copilot CLI, Gemini CLI, OpenCode or OpenClaw, plain or compressed, the database of OpenCode (`opencode.db`, or `opencode.db#ID` for one of its sessions) or of an agent of OpenClaw (`openclaw-agent.sqlite`, `openclaw-agent.sqlite#ID`), or a folder with any of these. Stores nothing and reads no other file. The bill counts input only, in multiples of the price of one uncached input token, beside that of the plain host, which compacts if there is a window. A fault is a call that needed a line which was not in the window: strict faults are lines of outputs that came from one place, own faults are lines that the model or a person wrote. Sessions of fewer than 15 calls are left out of the sum, the median and the worst. Exit code 1 if a file could not be replayed; the others are replayed all the same.",
    "Columns: calls; bill as a share of plain; tokens sent, ours/plain; longest request, ours/plain; epochs; share of our tokens that was cached; faults, which are lines that the model quoted though they had left (raw: all), strict faults, own faults; faults of the plain host; session.",
    "With --oracle, each session is also played by the same rules with knowledge in the place of guesses: what no later call needs may leave at once, what is needed stays until then, or leaves and is brought back where that is cheaper. The column `oracle` and a line below the table have its bill as a ratio of plain: about what better guessing could still save.",
    "What a session file shows of files (whole reads, writes, and edits of known files) is laid in a folder for temporary files, and the session finds it there as it would live; no path of the session file is opened. What it does not show, such as a file that a command changed, is not known: the last line says how many tool calls may differ from live use for that. With snapshots nothing is unknown. DIR/NAME holds those of the session NAME (the last column): `call-N` is the working folder as it was when request N went out, from 0, and `result-ID` as it was when the tool call with that ID ended (write `_` for any character but letters, digits, `.`, `-` and `_`). Where only `result-ID` is missing, a command is taken to have left the folder as the next request found it. Links in snapshots are left out.",
  ],
  json: "ReplayReport & { failed: { file: string, error: { code, message, hint } }[] }",
  examples: [
    "palimpsest replay ~/.pi/agent/sessions",
    "palimpsest replay ~/.pi/agent/sessions --html replay.html",
    "palimpsest replay ~/.openclaw/agents",
    "palimpsest replay --prices openai --window 200000 --json a.jsonl",
  ],
  async run(given) {
    const addon = await import("../../index.js");
    const [dump, tree] = [text(given, "dump"), text(given, "tree")];
    const options = /** @type {import("../../index.js").ReplayOptions} */ ({
      layout: text(given, "layout"),
      prices: text(given, "prices"),
      window: wholeNumber(given, "window"),
      tokens: text(given, "tokens"),
      oracle: given.values.oracle === true,
      dump: dump === undefined ? undefined : resolve(dump),
      tree: tree === undefined ? undefined : resolve(tree),
      settings: await addon.loadSettings({ agentDir: piAgentDir() }),
    });
    // Wrong options are said once, not for every file.
    await addon.replayReport([], options);
    const found = await transcripts(addon, given.positionals);
    if (dump !== undefined || tree !== undefined) {
      refuseTwins(found.map(({ name }) => name));
    }
    const paths = found.map(({ path }) => path);
    for (const { name } of tree === undefined ? [] : found) {
      if (!existsSync(join(tree ?? "", name))) {
        await writeError(`palimpsest: there are no snapshots of \`${spelt(name)}\` in \`${spelt(tree ?? "")}\`\n`);
      }
    }
    const { files, failed } = await replayAll(paths, (file) => addon.replayFile(file, options));
    const report = await addon.replayReport(files, options);
    const html = text(given, "html");
    if (html !== undefined) {
      const { oneFile } = await import("../../inspector/server/one-file.js");
      await addon.writePrivate(resolve(html), await oneFile({ replays: report }));
    }
    if (given.json) {
      await writeJson({ ...report, failed: failed.map(({ file, error }) => ({ file, error: shown(error) })) });
    } else {
      for (const { error } of failed) {
        await printError(error, false);
      }
      if (files.length > 0) {
        await print(report);
      }
    }
    return failed.length === 0 ? 0 : 1;
  },
};

/**
 * Refuses transcripts whose requests would be written to one file, or whose snapshots would be the same.
 * @param {string[]} names
 */
function refuseTwins(names) {
  const twin = names.find((name, at) => names.indexOf(name) !== at);
  if (twin !== undefined) {
    throw new UsageError(`two transcripts are named \`${twin}\``, "replay them one by one");
  }
}

/**
 * Replays some at once; what fails does not stop the others.
 * @param {string[]} paths
 * @param {(path: string) => Promise<ReplayedFile>} replayFile
 */
async function replayAll(paths, replayFile) {
  /** @type {(ReplayedFile | undefined)[]} */
  const files = paths.map(() => undefined);
  /** @type {Failure[]} */
  const failed = [];
  let next = 0;
  let done = 0;
  await withProgress("replaying", async (say) => {
    const work = async () => {
      while (next < paths.length) {
        const at = next++;
        try {
          files[at] = await replayFile(paths[at]);
        } catch (error) {
          failed.push({ file: paths[at], error });
        }
        done += 1;
        say(`${done} of ${paths.length}`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  });
  return { files: files.filter((file) => file !== undefined), failed };
}

/** @param {unknown} error */
function shown(error) {
  const { code, message, hint } = /** @type {Partial<import("../../index.js").PalimpsestError>} */ (error ?? {});
  return { code: code ?? "INTERNAL", message: message ?? String(error), hint: hint ?? null };
}

const headings = [
  "calls",
  "bill",
  "tokens",
  "peak",
  "epochs",
  "cached",
  "raw",
  "strict",
  "own",
  "plain raw",
  "session",
];

/** @param {ReplayReport} report */
async function print(report) {
  const { files, sum, layout } = report;
  const rows = files.map((file) => row(file.name, file, file.epochs.length));
  const isSummed = sum.files > sum.leftOut;
  const table = [headings, ...rows, ...(isSummed ? [row("sum", sum, sum.epochs)] : [])];
  const foreseen = ["oracle", ...[...files, sum].map(({ oracle }) => (oracle ? ratio(oracle.bill.ratio) : ""))];
  const [first, ...rest] = sum.oracle ? table.map((cells, at) => cells.toSpliced(2, 0, foreseen[at])) : table;
  await writeTable(first, rest);
  await (isSummed
    ? writeSum(report)
    : write(`nothing to sum: ${plural(sum.files, "session")} of fewer than 15 calls\n`));
  const { all, unknownFiles, possibleChanges } = sum.toolCalls;
  if (layout !== "plain") {
    await write(
      `may differ from live use: ${unknownFiles} of ${all} tool calls, on files whose text is unknown; ${possibleChanges} more may have changed a file in the window\n`,
    );
  }
}

/** @param {ReplayReport} report */
async function writeSum({ sum, prices, layout, window }) {
  const limit = window === null ? "no window" : `a window of ${window} tokens`;
  const of = (/** @type {number} */ calls) => percent(sum.calls === 0 ? 0 : calls / sum.calls);
  await write(
    `faults: ${of(sum.faults.raw)} of calls, strict ${of(sum.faults.strict)}, own words ${of(sum.faults.ownWords)}; the host alone ${of(sum.plainFaults.raw)}\n`,
  );
  await write(
    `${layout}, ${prices}, ${limit}: bill ${ratio(sum.bill.ratio)} of plain in sum, median ${ratio(sum.median)}, worst ${ratio(sum.worst)}; ${sum.leftOut} of ${sum.files} sessions left out: fewer than 15 calls\n`,
  );
  if (sum.oracle) {
    const { bill, median, worst, faults } = sum.oracle;
    await write(
      `oracle: bill ${ratio(bill.ratio)} of plain in sum, median ${ratio(median)}, worst ${ratio(worst)}; faults ${of(faults.raw)} of calls, strict ${of(faults.strict)}, own words ${of(faults.ownWords)}\n`,
    );
  }
}

/**
 * @param {string} name
 * @param {Pick<ReplayedFile, "calls" | "bill" | "tokens" | "peakWindow" | "cachedShare" | "faults" | "plainFaults">} figures
 * @param {number} epochs
 */
function row(name, { calls, bill, tokens, peakWindow, cachedShare, faults, plainFaults }, epochs) {
  const pair = ({ ours, plain } = tokens) => `${thousands(ours)}/${thousands(plain)}`;
  const counts = [faults.raw, faults.strict, faults.ownWords, plainFaults.raw].map(String);
  return [
    String(calls),
    ratio(bill.ratio),
    pair(tokens),
    pair(peakWindow),
    String(epochs),
    percent(cachedShare.ours),
    ...counts,
    name,
  ];
}

const ratio = (/** @type {number} */ value) => value.toFixed(3);
const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(1)} %`;
const thousands = (/** @type {number} */ tokens) => `${Math.round(tokens / 1_000)}k`;
