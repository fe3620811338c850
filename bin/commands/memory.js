// `palimpsest memory`: memory that survives sessions, outside of one. What it does and says is that of `/memory`.
import { resolve } from "node:path";
import { describe } from "../../lib/failures.js";
import { isIncomplete, memoryParts, runPart } from "../../lib/memory-command.js";
import { piAgentDir } from "../../lib/places.js";
import { shellWord } from "../../lib/program.js";
import { untrustedText } from "../../lib/trust.js";
import { text, UsageError } from "../lib/arguments.js";
import { noteNothing, write, writeError, writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { oneLine } from "../lib/table.js";

/** Options among the words of a part, which it reads itself. */
const among = ["--sessions", "--files", "--global", "--project", "--local", "--apply", "--all-of", "--remove"];

/** @type {import("../lib/arguments.js").Command} */
export const memory = {
  name: "memory",
  usage:
    "[PART…] [--folder PATH] [--sessions] [--files] [--global] [--project] [--local] [--apply] [--all-of] [--remove]",
  summary: "Show, search and write memory that outlives sessions",
  arguments: [0, Number.POSITIVE_INFINITY],
  options: {
    folder: { type: "string", value: "PATH", text: "the project's folder; default: the working folder" },
    sessions: { type: "boolean", text: "`recall`: search past sessions too" },
    files: { type: "boolean", text: "`recall`: rank whole files" },
    global: { type: "boolean", text: "`recall`: only memory of all projects" },
    project: { type: "boolean", text: "`recall`: only the project's memory" },
    local: { type: "boolean", text: "`recall`: only your memory of the project" },
    apply: { type: "boolean", text: "`import`: stage what is to be taken" },
    "all-of": { type: "boolean", text: "`confirm`: all marked pages that cite the file" },
    remove: { type: "boolean", text: "`trust`: take it back" },
  },
  notes: [
    `PART is ${[...memoryParts].map(([name, { usage, summary }]) => `\`${`${name} ${usage}`.trim()}\` (${summary})`).join(", ")}. Without one it is \`overview\`.`,
    "This looks at the project that you name, whether you trust it or not, and says on stderr where no session uses its memory. Exit code 1: `recall` could not search what was asked for, or `flush` could not write.",
  ],
  json: "MemoryOverview (with warnings, waiting and faults), MemoryPageOverview[], RecallAnswer, RememberedEntry, MemoryWaiting[], { id: string, scope: MemoryScope, accepted: boolean } of accept and withdraw, MemoryFlush[], { pages: number, warnings: MemoryWarning[], stale: StaleReport[] } of verify, string of confirm, StalePage[], MemoryImport, MemoryFaultCount[], MemoryTrace[], or MemoryTrace",
  examples: [
    "palimpsest memory",
    "palimpsest memory recall why does the build need python --sessions",
    "palimpsest memory remember project Tests need a running database",
    "palimpsest memory flush",
  ],
  async run(given) {
    const [name = "overview", ...said] = given.positionals;
    // A version before another one, `-1`, comes as `@-1`; here it is a word.
    const words = said.map((word) => word.replace(/^@(?=-\d+$)/, ""));
    const part = memoryParts.get(name);
    if (part === undefined) {
      throw new UsageError(`\`${name}\` is not a part of memory`, "`palimpsest memory --help` lists them");
    }
    const options = among.filter((option) => given.values[option.slice(2)] === true);
    if (name === "remember" && options.length > 0) {
      throw new UsageError(
        `\`${options[0]}\` is not an option of \`remember\``,
        "where it is a word of the entry, put `--` before the text: `palimpsest memory remember project -- TEXT`",
      );
    }
    const typed = [...words, ...options].join(" ");
    if (isIncomplete(part, words.join(" "))) {
      throw new UsageError(
        `an argument is missing: palimpsest memory ${name} ${part.usage}`,
        "`palimpsest memory --help` lists them",
      );
    }
    const { openMemory, projectTrust, trustProject } = await import("../../index.js");
    const folder = text(given, "folder");
    const places = { agentDir: piAgentDir(), project: resolve(folder ?? ".") };
    // What is named acts on the folder that was looked at.
    const command = ["palimpsest memory", ...(folder === undefined ? [] : ["--folder", shellWord(folder)])].join(" ");
    const say = (/** @type {boolean | null} */ trusted) => trustProject(places, trusted);
    const unknown = async (/** @type {unknown} */ error) =>
      void (await writeError(`palimpsest: ${oneLine(describe(error))}\n`));
    const found = name === "trust" ? undefined : await projectTrust(places).catch(unknown);
    if (found && !found.counts) {
      await writeError(`palimpsest: ${oneLine(untrustedText(found, "run"))}\n`);
    }
    const run = (/** @type {import("../../index.js").Store | undefined} */ store) =>
      runPart(part, { memory: openMemory({ ...places, trusted: true }, store), say, command, store }, typed);
    // What a cited file said before stands in the store, too.
    const answer = await (["stale", "verify"].includes(name) || options.includes("--sessions")
      ? withStoreIfAny(given, run)
      : run(undefined));
    if (given.json) {
      await writeJson(answer.value);
    } else if (answer.text === "") {
      await noteNothing("nothing found");
    } else {
      await write(`${answer.text}\n`);
    }
    return answer.failed === true ? 1 : undefined;
  },
};

/**
 * Runs work with the store; without it where there is none.
 * @template T
 * @param {import("../lib/arguments.js").Given} given
 * @param {(store: import("../../index.js").Store | undefined) => Promise<T>} work
 */
async function withStoreIfAny(given, work) {
  let isOpen = false;
  try {
    return await withStore(
      given,
      (store) => {
        isOpen = true;
        return work(store);
      },
      { access: "refresh" },
    );
  } catch (error) {
    if (!isOpen && /** @type {{ code?: unknown }} */ (error).code === "STORE_UNAVAILABLE") {
      return work(undefined);
    }
    throw error;
  }
}
