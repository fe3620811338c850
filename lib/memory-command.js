// The parts of `/memory` and of `palimpsest memory`: what each takes, does and answers. Where that is shown is the caller's; what it means
// is the addon's.
import { existsSync } from "node:fs";
import { plural } from "./describe.js";
import { faultsText, importText, recallText, staleText, tracesText, traceText, verifyText } from "./memory-reports.js";
import { decidedText, flushText, overviewText, pagesText, rememberedText, waitingText } from "./memory-texts.js";
import { homeFolder } from "./places.js";
import { trustedText } from "./trust.js";

/**
 * @typedef {import("../index.js").Memory} Memory
 * @typedef {import("../index.js").MemoryScope} MemoryScope
 *
 * @typedef {object} Surroundings what a part may know besides memory
 * @property {Memory} memory
 * @property {(trusted: boolean | null) => Promise<import("../index.js").ProjectTrust>} say remembers what the person says of the project
 * @property {string} command how the command is typed: `/memory`, `palimpsest memory`
 * @property {import("../index.js").Store} [store] where past sessions are
 * @property {string} [session] ID of the open session
 * @property {boolean} [isConfined] whether others than the user read the answer
 * @property {boolean} [off] whether the person turned memory off in this session
 *
 * @typedef {object} Answer
 * @property {unknown} value what `--json` prints
 * @property {string} text
 * @property {boolean} [failed] whether what was asked for could not be done
 *
 * @typedef {object} Part
 * @property {string} usage what it takes; what is needed stands in capitals
 * @property {string} summary
 * @property {import("./authority.js").May} [may] who else than the user, in a conversation of their own, may use it: authority.js
 * @property {import("./authority.js").Declared["options"]} [options] among its words
 * @property {import("./authority.js").Declared["takesText"]} [takesText]
 * @property {number} indent columns at the start of a line of its answer that hold the line's heading
 * @property {(around: Surroundings) => Promise<[value: string, description: string][]>} [completes] what may stand first behind its name
 * @property {(around: Surroundings, given: string) => Promise<Answer>} run
 */

/** The scopes of memory. @type {MemoryScope[]} */
export const scopes = ["global", "project", "local"];

/** The options that `recall` takes among its words. @type {ReadonlyMap<string, { description: string, may?: import("./authority.js").May }>} */
const recallOptions = new Map([
  ["--sessions", { description: "past sessions too" }],
  ["--files", { description: "whole files", may: "read" }],
  ...scopes.map((scope) => /** @type {const} */ ([`--${scope}`, { description: `only ${scope} memory` }])),
]);

/** The option of those that show first what they would take. */
const applyOption = new Map([["--apply", {}]]);
/** The option of `trust`. */
const removeOption = new Map([["--remove", {}]]);

/** By name, in the order of the help. @type {ReadonlyMap<string, Part>} */
export const memoryParts = new Map(
  Object.entries(
    /** @type {Record<string, Part>} */ ({
      overview: {
        usage: "",
        summary: "what there is, what the model has of it, and what is wrong",
        indent: 10,
        run: overview,
      },
      pages: {
        may: "read",
        usage: "",
        summary: "list the pages, and how much of each the model has",
        indent: 0,
        run: pages,
      },
      recall: {
        may: "read",
        options: recallOptions,
        takesText: true,
        usage: "TEXT",
        summary: "search memory and its archive; `--sessions` past sessions too",
        indent: 6,
        completes: async () => [...recallOptions].map(([option, { description }]) => [option, description]),
        run: recall,
      },
      remember: {
        may: "change",
        takesText: true,
        usage: `${scopes.join("|")} TEXT`,
        summary: "stage an entry, which the next flush writes",
        indent: 0,
        completes: async () => scopes.map((scope) => [scope, scopeWords[scope]]),
        run: remember,
      },
      waiting: {
        may: "change",
        usage: "",
        summary: "list what waits for a flush, or for your decision",
        indent: 0,
        run: waiting,
      },
      accept: {
        may: "change",
        usage: "ID",
        summary: "accept a proposal, which the next flush writes",
        indent: 0,
        completes: (around) => operations(around, ["proposed"]),
        run: (around, id) => decide(around, id, true),
      },
      withdraw: {
        may: "change",
        usage: "ID",
        summary: "turn a proposal down, or take back what waits",
        indent: 0,
        completes: (around) => operations(around, ["proposed", "staged", "held"]),
        run: (around, id) => decide(around, id, false),
      },
      flush: { may: "change", usage: "", summary: "check what waits, and write it", indent: 0, run: flush },
      verify: {
        usage: "",
        summary: "rebuild the page tables; list what is invalid, and pages whose cited files changed",
        indent: 0,
        run: verify,
      },
      confirm: {
        may: "change",
        usage: "ID | --all-of FILE",
        summary: "say that a page is right, or all marked ones that cite a file: it counts as written today",
        indent: 0,
        completes: pageIds,
        run: confirm,
      },
      stale: { usage: "", summary: "suggest pages to look at; changes nothing", indent: 0, run: stale },
      import: {
        options: applyOption,
        usage: "[claude|notes|PATH] [SCOPE] [--apply]",
        summary: "show what another program remembers; `--apply` stages it",
        indent: 0,
        completes: async () => [
          ["claude", "Claude Code's memory of this project"],
          ["notes", "CLAUDE.md and the like"],
          ["--apply", "stage it, and not only show it"],
        ],
        run: importFrom,
      },
      take: {
        options: applyOption,
        usage: "[CONVERSATION] [SCOPE] [--apply]",
        summary: "show what a conversation with others remembers; `--apply` stages it; without a name, list them",
        indent: 0,
        completes: async ({ memory }) => (await memory.conversations()).map(({ id, name }) => [name || id, id]),
        run: take,
      },
      trust: {
        options: removeOption,
        usage: "[--remove]",
        summary: "say that you trust the project's memory and settings, or take it back",
        indent: 0,
        completes: async () => [["--remove", "take it back: you are asked again"]],
        run: trust,
      },
      faults: { usage: "", summary: "count the memory faults", indent: 0, run: faults },
      traces: { usage: "", summary: "list the newest decisions about memory", indent: 0, run: traces },
      trace: { usage: "ID", summary: "show one of them whole", indent: 0, completes: traceIds, run: trace },
    }),
  ),
);

/** @type {Record<string, string>} */
const scopeWords = {
  global: "yours, in all projects",
  project: "the project's, in its repository",
  local: "yours, in this project",
};

/**
 * What the words behind a part's name may be completed to.
 * @param {Surroundings} around
 * @param {string} name
 * @param {string} given
 */
export async function memoryCompletions(around, name, given) {
  const items =
    (await memoryParts
      .get(name)
      ?.completes?.(around)
      .catch(() => [])) ?? [];
  return items.filter(([value]) => value.startsWith(given)).map(([value, description]) => ({ value, description }));
}

/**
 * Runs a part. Its errors name the command as it is typed here.
 * @param {Part} part
 * @param {Surroundings} around
 * @param {string} given what stands behind its name
 * @returns {Promise<Answer>}
 */
export async function runPart(part, around, given) {
  if (part.usage === "" && given !== "") {
    throw wordTooMany(given.split(/\s+/)[0]);
  }
  return part.run(around, given).catch((error) => {
    const hint = error?.hint?.replaceAll("`/memory ", `\`${around.command} `);
    throw hint === undefined ? error : Object.assign(error, { hint });
  });
}

/** @param {string} word */
function wordTooMany(word) {
  return Object.assign(new Error(`there is one word too many: \`${word}\``), { code: "INVALID_ARGUMENT" });
}

/**
 * Whether a part lacks what it needs.
 * @param {Part} part
 * @param {string} given
 */
export function isIncomplete({ usage }, given) {
  return given === "" && /^[A-Z]|^\w+\|/.test(usage);
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function overview({ memory, command, off = false }) {
  const value = {
    ...(await memory.overview()),
    warnings: await memory.check(),
    waiting: await memory.waiting(),
    faults: await memory.faults(),
  };
  return { value, text: overviewText(value, command, off) };
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function pages({ memory }) {
  const whole = await memory.overview();
  return { value: whole.pages, text: pagesText(whole) };
}

/** @param {Surroundings} around @param {string} given @returns {Promise<Answer>} */
async function recall({ memory, store, session, isConfined = false }, given) {
  // A word that begins with two dashes excludes nothing: those that are options are taken as such.
  const words = given.split(/\s+/);
  const options = words.filter((word) => recallOptions.has(word));
  const query = words.filter((word) => !recallOptions.has(word)).join(" ");
  const value = await memory.recall(
    query,
    {
      scopes: scopes.filter((scope) => options.includes(`--${scope}`)),
      byFile: options.includes("--files"),
      sessions: options.includes("--sessions"),
      currentSession: session,
    },
    store,
  );
  // A problem names the place of what was not searched.
  const said = isConfined ? { ...value, problems: [] } : value;
  return { value, text: recallText(said), failed: !["ok", "weak", "no_match"].includes(value.reason) };
}

/** @param {Surroundings} around @param {string} given @returns {Promise<Answer>} */
async function remember({ memory, command }, given) {
  const [, scope = "", text = ""] = /^(\S*)\s*(.*)$/s.exec(given) ?? [];
  const value = await memory.remember(/** @type {MemoryScope} */ (scope.toLowerCase()), text);
  return { value, text: rememberedText(value, command) };
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function waiting({ memory, command }) {
  const value = await memory.waiting();
  return { value, text: waitingText(value, command) };
}

/** @param {Surroundings} around @param {string} id @param {boolean} accepts @returns {Promise<Answer>} */
async function decide({ memory, command }, id, accepts) {
  const scope = await (accepts ? memory.accept(id) : memory.withdraw(id));
  return { value: { id, scope, accepted: accepts }, text: decidedText(id, scope, accepts, command) };
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function flush({ memory, command }) {
  const value = await memory.flush();
  const isLeft = value.some(({ failed, held }) => failed !== null || held.length > 0);
  return { value, text: flushText(value, command), failed: isLeft };
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function verify({ memory, command }) {
  const stale = await memory.verify();
  const value = { pages: (await memory.overview()).pages.length, warnings: await memory.check(), stale };
  return { value, text: verifyText(value, command) };
}

/** @param {Surroundings} around @param {string} given @returns {Promise<Answer>} */
async function confirm({ memory }, given) {
  const words = given.split(/\s+/);
  if (words.includes("--all-of")) {
    const file = words.filter((word) => word !== "--all-of").join(" ");
    if (file === "") {
      throw Object.assign(new Error("`--all-of` names no file"), { code: "INVALID_ARGUMENT" });
    }
    const value = await memory.confirmAllOf(file);
    const none = `No marked page cites \`${file}\`.`;
    const many = `${value.map((id) => `\`${id}\``).join(", ")} count as written today, with the files that they cite as they are now.`;
    return { value, text: value.length === 0 ? none : many };
  }
  const value = await memory.confirm(given);
  return { value, text: `\`${value}\` counts as written today, with the files that it cites as they are now.` };
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function stale({ memory, command }) {
  const value = await memory.stale();
  return { value, text: staleText(value, command) };
}

/** @param {Surroundings} around @param {string} given @returns {Promise<Answer>} */
async function importFrom({ memory, command }, given) {
  const { scope, apply, from = "claude" } = wantedOf(given);
  const source = from === "claude" || from === "notes" ? { from } : { path: from.replace(/^~(?=[/\\])/, homeFolder()) };
  const value = await memory.importFrom({ .../** @type {object} */ (source), scope, apply });
  return { value, text: importText(value, apply, command) };
}

/** @param {Surroundings} around @param {string} given @returns {Promise<Answer>} */
async function trust({ say }, given) {
  if (given !== "" && given !== "--remove") {
    throw wordTooMany(given);
  }
  const value = await say(given === "" ? true : null);
  return { value, text: trustedText(value) };
}

/** @param {Surroundings} around @param {string} given @returns {Promise<Answer>} */
async function take({ memory, command }, given) {
  const { scope, apply, from } = wantedOf(given);
  if (from === undefined) {
    const value = await memory.conversations();
    const names = value.map(({ id, name }) => `${id}  ${name}`);
    const none = "No conversation with others has memory of its own.";
    return {
      value,
      text: names.length === 0 ? none : [...names, `\`${command} take NAME\` shows what one remembers.`].join("\n"),
    };
  }
  const value = await memory.takeFrom(from, { scope, apply }).catch((error) => {
    const hint = error?.code === "UNKNOWN_NAME" ? `\`${command} take\` lists those that have memory` : error?.hint;
    throw Object.assign(error, { hint });
  });
  return { value, text: importText(value, apply, command) };
}

/** `[FROM] [SCOPE] [--apply]`, where FROM may have blanks. @param {string} given */
function wantedOf(given) {
  const words = given.split(/\s+/).filter((word) => word !== "");
  const apply = words.includes("--apply");
  const rest = words.filter((word) => word !== "--apply");
  // A path that begins or ends like a scope is meant as a whole.
  const ends = rest.length > 1 && existsSync(rest.join(" ")) ? [] : [rest.length - 1, 0];
  const at = ends.find((end) => scopes.some((known) => known === rest[end]?.toLowerCase()));
  const scope = at === undefined ? undefined : /** @type {MemoryScope} */ (rest.splice(at, 1)[0].toLowerCase());
  const from = rest.join(" ").replace(/^(["'])(.+)\1$/, "$2");
  return { scope, apply, from: from === "" ? undefined : from };
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function faults({ memory, command }) {
  const value = await memory.faults();
  return { value, text: faultsText(value, command) };
}

/** @param {Surroundings} around @returns {Promise<Answer>} */
async function traces({ memory, command }) {
  const value = await memory.traces();
  return { value, text: tracesText(value, command) };
}

/** @param {Surroundings} around @param {string} id @returns {Promise<Answer>} */
async function trace({ memory }, id) {
  const value = await memory.trace(id);
  return { value, text: traceText(value) };
}

/**
 * @param {Surroundings} around @param {string[]} statuses
 * @returns {Promise<[string, string][]>}
 */
async function operations({ memory }, statuses) {
  const waiting = (await memory.waiting()).flatMap(({ operations }) => operations);
  return waiting
    .filter(({ status }) => statuses.includes(status))
    .map(({ id, scope, text }) => [id, `${scope}: ${firstLine(text)}`]);
}

/** @param {Surroundings} around @returns {Promise<[string, string][]>} */
async function pageIds({ memory }) {
  return (await memory.overview()).pages.map(({ id, title }) => [id, title]);
}

/** @param {Surroundings} around @returns {Promise<[string, string][]>} */
async function traceIds({ memory }) {
  return (await memory.traces()).slice(0, 50).map((trace) => [trace.id, trace.kind]);
}

/** @param {string} text */
function firstLine(text) {
  const lines = text.split("\n");
  return lines.length > 1 ? `${lines[0]} … ${plural(lines.length - 1, "line")} more` : lines[0];
}
