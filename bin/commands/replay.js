// `palimpsest replay`: runs recorded sessions through the same code as live use and reports what they would have cost.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { plural } from "../../lib/describe.js";
import { shortCount } from "../../lib/figures.js";
import { piAgentDir } from "../../lib/places.js";
import { name as spelt } from "../../lib/terminal.js";
import { text, wholeNumber } from "../lib/arguments.js";
import { printError } from "../lib/errors.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { answer, answerText, compared, estimated, leftOut, lost, terms } from "../lib/replayed.js";
import { writeTable } from "../lib/table.js";
import { distinct, transcripts } from "../lib/transcripts.js";

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
    "FILE… [--layout LAYOUT] [--prices NAME] [--window TOKENS] [--tokens characters|bundled] [--oracle] [--tree DIR] [--dump DIR] [--html FILE]",
  summary: "Report what recorded sessions would have cost",
  arguments: [1, Number.POSITIVE_INFINITY],
  options: {
    layout: {
      type: "string",
      value: "LAYOUT",
      text: "log, pools, or as the host alone sends them: plain, or made smaller by a rule of other programs: masking, clearing, pruning; default: log",
    },
    prices: { type: "string", value: "NAME", text: "price table; default: that of the recorded model" },
    window: {
      type: "string",
      value: "TOKENS",
      text: "the model's window, for both sides; default: as far as the host let it grow",
    },
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
    "FILE is a session file of Pi, Claude Code, Codex, Copilot CLI, Gemini CLI, Qwen Code, OpenCode or OpenClaw, or messages of Anthropic's or OpenAI's API, one per line, as a list or as a request, plain or compressed, the database of OpenCode (`opencode.db`, or `opencode.db#ID` for one of its sessions) or of an agent of OpenClaw (`openclaw-agent.sqlite`, `openclaw-agent.sqlite#ID`), or a folder with any of these. Stores nothing and reads no other file. The bill counts input only, in multiples of the price of one uncached input token, beside that of the plain host, which compacts if there is a window. A fault is a call that needed a line which was not in the window: strict faults are lines of outputs that came from one place, own faults are lines that the model or a person wrote. Sessions of fewer than 15 calls are left out of the sum, the median and the worst. What is not a session in a folder is passed over and counted. Exit code 1 if a file could not be replayed, or holds requests or lines that could not be read; the others are replayed all the same.",
    "Where a file records usage, the host alone is what really went out: the prices of the recorded model, system prompt and tools as large as the first request says, thinking that the file does not show, and a window as far as the host let its own grow before it compacted. --prices and --window override that. The first line says what was taken. The last lines say what was left out, in words, and how far our estimate is from what the providers counted.",
    "Columns: session; calls; bill as a share of plain; tokens sent, ours/plain; longest request, ours/plain; epochs; share of our tokens that was cached; faults, which are calls that quote a line that had left, strict faults, own faults; faults of the plain host; our estimate of the host's requests by what the provider counted.",
    "With --oracle, each session is also played by the same rules with knowledge in the place of guesses: what no later call needs may leave at once, what is needed stays until then, or leaves and is brought back where that is cheaper. The column ORACLE and a line below the table have its bill as a ratio of plain: about what better guessing could still save.",
    "What a session file shows of files (whole reads, writes, and edits of known files) is laid in a folder for temporary files, and the session finds it there as it would live; no path of the session file is opened. What it does not show, such as a file that a command changed, is not known: the last line says how many tool calls may differ from live use for that. With snapshots nothing is unknown. DIR/NAME holds those of the session NAME (the first column): `call-N` is the working folder as it was when request N went out, from 0, and `result-ID` as it was when the tool call with that ID ended (write `_` for any character but letters, digits, `.`, `-` and `_`). Where only `result-ID` is missing, a command is taken to have left the folder as the next request found it. Links in snapshots are left out.",
  ],
  json: "ReplayReport & { answer, failed: { file: string, error: { code, message, hint } }[], passedOver: { file, problem }[] }",
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
      recorded: true,
      oracle: given.values.oracle === true,
      dump: dump === undefined ? undefined : resolve(dump),
      tree: tree === undefined ? undefined : resolve(tree),
      settings: await addon.loadSettings({ agentDir: piAgentDir() }),
    });
    // Wrong options are said once, not for every file.
    await addon.replayReport([], options);
    const { found, passedOver } = await transcripts(addon, given.positionals);
    const names = distinct(found.map(({ name }) => name));
    const paths = found.map(({ path }) => path);
    for (const name of tree === undefined ? [] : names) {
      if (!existsSync(join(tree ?? "", name))) {
        await writeError(`palimpsest: there are no snapshots of \`${spelt(name)}\` in \`${spelt(tree ?? "")}\`\n`);
      }
    }
    const { files, failed } = await replayAll(paths, (file, at) =>
      addon.replayFile(file, { ...options, name: names[at] }),
    );
    const report = await addon.replayReport(files, options);
    const html = text(given, "html");
    if (html !== undefined) {
      const { oneFile } = await import("../../inspector/server/one-file.js");
      await addon.writePrivate(resolve(html), await oneFile({ replays: report }));
    }
    if (given.json) {
      await writeJson({
        ...report,
        answer: answer(report, options),
        failed: failed.map(({ file, error }) => ({ file, error: shown(error) })),
        passedOver: passedOver.map(({ path, problem }) => ({ file: path, problem })),
      });
    } else {
      for (const { error } of failed) {
        await printError(error, false);
      }
      if (files.length > 0) {
        await write(terms(report, options));
        await write(answerText(answer(report, options)));
        await print(report);
        await write(leftOut(report.files, passedOver));
        await write(compared(report.files));
      }
    }
    const isWhole = report.files.every((file) => lost(file) === 0 && file.unreadLines === 0);
    return failed.length === 0 && isWhole ? 0 : 1;
  },
};

/**
 * Replays some at once; what fails does not stop the others.
 * @param {string[]} paths
 * @param {(path: string, at: number) => Promise<ReplayedFile>} replayFile
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
          files[at] = await replayFile(paths[at], at);
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

const headings = "SESSION CALLS BILL TOKENS LONGEST EPOCHS CACHED FAULTS STRICT OWN PLAIN ESTIMATE".split(" ");
const units =
  "BILL as a share of plain's; TOKENS and LONGEST, ours/plain; FAULTS to PLAIN in calls; ESTIMATE by what was counted";

/** @param {ReplayReport} report */
async function print(report) {
  const { files, sum, layout } = report;
  const rows = files.map((file) => row(spelt(file.name), file, file.epochs.length));
  const isSummed = sum.files > sum.leftOut;
  const table = [headings, ...rows, ...(isSummed ? [row("sum", sum, sum.epochs)] : [])];
  const foreseen = ["ORACLE", ...[...files, sum].map(({ oracle }) => (oracle ? ratio(oracle.bill.ratio) : ""))];
  const [first, ...rest] = sum.oracle ? table.map((cells, at) => cells.toSpliced(3, 0, foreseen[at])) : table;
  await writeTable(first, rest, { alwaysHeaded: true, units });
  await (isSummed
    ? writeSum(report)
    : write(`nothing to sum: ${plural(sum.files, "session")} of fewer than 15 calls\n`));
  const { all, unknownFiles, possibleChanges } = sum.toolCalls;
  if (layout === "log" || layout === "pools") {
    await write(
      `may differ from live use: ${unknownFiles} of ${all} tool calls, on files whose text is unknown; ${possibleChanges} more may have changed a file in the window\n`,
    );
  }
}

/** @param {ReplayReport} report */
async function writeSum({ sum, prices, layout, window, files }) {
  const isVaried = window === null && files.some(({ recorded }) => recorded.window !== null);
  const limit = isVaried
    ? "windows as recorded"
    : window === null
      ? "no window"
      : `a window of ${shortCount(window)} tokens`;
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
 * @param {Pick<ReplayedFile, "calls" | "bill" | "tokens" | "peakWindow" | "cachedShare" | "faults" | "plainFaults"> & Partial<Pick<ReplayedFile, "recorded">>} figures
 * @param {number} epochs
 */
function row(name, { calls, bill, tokens, peakWindow, cachedShare, faults, plainFaults, recorded }, epochs) {
  const pair = ({ ours, plain } = tokens) => `${shortCount(ours)}/${shortCount(plain)}`;
  const counts = [faults.raw, faults.strict, faults.ownWords, plainFaults.raw].map(String);
  const share = recorded === undefined ? null : estimated({ recorded });
  return [
    name,
    String(calls),
    ratio(bill.ratio),
    pair(tokens),
    pair(peakWindow),
    String(epochs),
    percent(cachedShare.ours),
    ...counts,
    share === null ? "-" : share.toFixed(2),
  ];
}

const ratio = (/** @type {number} */ value) => value.toFixed(3);
const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(1)} %`;
