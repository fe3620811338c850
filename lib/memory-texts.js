// What `/memory` and `palimpsest memory` say of what there is and what is written, in plain lines. A heading stands in the first columns.
// Decides nothing.
import { plural } from "./describe.js";
import { name } from "./terminal.js";
import { byteSize } from "./words.js";

/**
 * @typedef {import("../index.js").MemoryOverview} Overview
 * @typedef {import("../index.js").MemoryWaiting} Waiting
 * @typedef {import("../index.js").MemoryFinding} Finding
 *
 * @typedef {Overview & {
 *   warnings: import("../index.js").MemoryWarning[],
 *   waiting: Waiting[],
 *   faults: import("../index.js").MemoryFaultCount[],
 * }} Whole
 */

/** Columns of headings. */
const head = 10;

/** Places that are shown of what an entry rests on. */
const shownPlaces = 4;

/** Characters of a page's first line in a list. */
const titleLength = 60;

/** A line with its heading. @param {string} heading @param {string} text */
export function row(heading, text) {
  return `${heading} `.padEnd(head) + text;
}

/**
 * @param {Whole} whole
 * @param {string} command how the command is typed
 * @param {boolean} off whether the person turned memory off in this session
 */
export function overviewText(whole, command, off) {
  const { scopes, warnings, waiting, faults, stale } = whole;
  const operations = waiting.flatMap((folder) => folder.operations);
  const proposed = operations.filter(({ status }) => status === "proposed").length;
  const staged = operations.length - proposed;
  const counted = faults.reduce((sum, { inSession }) => sum + inSession, 0);
  return [
    row("memory", stateText(whole, command, off)),
    ...(whole.trust === null ? [] : [row("trust", trustText(whole, command))]),
    ...scopes.flatMap(scopeRows),
    ...(scopes.length === 0 ? [row("", "there is no memory folder here")] : []),
    ...(staged > 0
      ? [row("waits", `${plural(staged, "entry").replace("entrys", "entries")} for \`${command} flush\``)]
      : []),
    ...(proposed > 0
      ? [
          row(
            "proposed",
            `${plural(proposed, "entry").replace("entrys", "entries")} for your decision: \`${command} waiting\``,
          ),
        ]
      : []),
    ...(stale > 0 ? [row("stale", `${plural(stale, "page")} whose cited files changed: \`${command} verify\``)] : []),
    // What an empty memory cannot have told is no fault of it.
    ...(counted > 0 && whole.pages.length > 0
      ? [row("faults", `${plural(counted, "memory fault")} in this session: \`${command} faults\``)]
      : []),
    ...warnings.map(({ path, problem }) => row("warning", path === "" ? problem : `\`${name(path)}\` ${problem}`)),
  ].join("\n");
}

/** @param {Whole} whole @param {string} command @param {boolean} off */
function stateText({ settings, pages, section }, command, off) {
  if (!settings.enabled) {
    return "off by the setting `enabled`: the model sees none";
  }
  if (off) {
    return `off here: the model sees none. \`${command} on\` turns it on again`;
  }
  const resident = pages.filter((page) => page.resident !== null).length;
  const whole = `on · ${plural(pages.length, "page")}`;
  if (section === null) {
    return whole;
  }
  const of = settings.pageTableInjection
    ? `${resident} in the system prompt, ${count(section.pageTokens)} of ${count(settings.maxMemoryTokens)} tokens`
    : `the first lines of each index in the system prompt, ${count(section.pageTokens)} tokens`;
  const changes = section.changes > 0 ? `, ${plural(section.changes, "change")} told since` : "";
  return `${whole}, ${of} (${count(section.tokens)} with its rules, ${byteSize(section.bytes)})${changes}`;
}

/** What the person said of the project, and whether it counts in this run. @param {Whole} whole @param {string} command */
function trustText({ trust, scopes }, command) {
  const isUsed = scopes.some(({ scope, denied }) => scope === "project" && !denied);
  switch (trust) {
    case "trusted":
      return `you trust this project${isUsed ? "" : ", but it is not used in this run"}`;
    case "own":
      return `this project holds only what your own sessions wrote${isUsed ? "" : "; it is not used in this run"}`;
    case "denied":
      return `you do not trust this project: \`${command} trust\` changes that`;
    case "changed":
      return `another project stands where you trusted one: \`${command} trust\` trusts this one`;
    default:
      return `you have not said that you trust this project: \`${command} trust\``;
  }
}

/** @param {Overview["scopes"][number]} scope */
function scopeRows({ scope, folder, denied, exists, files, table }) {
  if (denied) {
    return scope === "local" ? [] : [row(scope, `${name(folder)} · not looked at: this project is not trusted`)];
  }
  if (scope === "local") {
    // It has its page table with the project's.
    return files.map((file) => row(scope, `${fileText({ ...file, file: file.path })} · yours, not the repository's`));
  }
  if (!exists) {
    return [row(scope, `${name(folder)} does not exist yet: the first entry makes it`)];
  }
  const tables = {
    none: "no page table yet",
    current: "page table current",
    outdated: "page table outdated",
    damaged: "page table damaged",
  };
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const said = `${plural(files.length, "file")}, ${byteSize(bytes)} · ${tables[table]}`;
  return [row(scope, `${name(folder)} · ${said}`), ...files.map((file) => row("", fileText(file)))];
}

/** @param {Overview["scopes"][number]["files"][number]} file */
function fileText({ file, bytes, lines, pages, index, linked, archived, beyondLimits }) {
  const kind = archived
    ? "archived: recalled only"
    : index || linked
      ? plural(pages, "page")
      : "no index leads to it: recalled only";
  const beyond = beyondLimits > 0 ? ` · ${byteSize(beyondLimits)} beyond the limits of an index` : "";
  return `${name(file)} · ${byteSize(bytes)}, ${plural(lines, "line")} · ${kind}${beyond}`;
}

/** @param {Overview} whole */
export function pagesText({ pages, settings, section }) {
  if (pages.length === 0) {
    return "There are no pages: entries of a MEMORY.md, and sections of files that it links to.";
  }
  // Before the first session has shown any, nobody knows.
  const isKnown = section !== null || !settings.enabled || pages.some(({ resident }) => resident !== null);
  const unshown = isKnown ? "not shown" : "";
  const rows = pages.map(({ id, scope, file, line, kind, resident, tokens, title, pinned, stale }) => {
    const fidelities = ["pointer", "structured", "compressed", "full"];
    const shown = resident === null ? unshown : `${resident}, ${tokens[fidelities.indexOf(resident)]} tokens`;
    const marks = [pinned ? "pinned" : "", stale ? "stale" : ""].filter((mark) => mark !== "").join(", ");
    return [id, `${scope} ${name(file)}:${line}`, kind, shown, marks, shortened(title)];
  });
  const full = pages.reduce((sum, { tokens }) => sum + tokens[3], 0);
  const note = `${plural(pages.length, "page")}, ${count(full)} tokens in full; at most ${count(settings.maxMemoryTokens)} go into the system prompt.`;
  return [...columns(rows), note].join("\n");
}

/** @param {import("../index.js").RememberedEntry} entry @param {string} command */
export function rememberedText({ id, scope, findings, restsOn }, command) {
  const said = `Staged as ${id} for ${scope} memory: \`${command} flush\` writes it, and so does the end of the session.`;
  return [said, ...restsText(restsOn), ...findings.map(findingText)].join("\n");
}

/** The places that an entry rests on. @param {string[]} places */
function restsText(places) {
  const more = places.length > shownPlaces ? ` and ${count(places.length - shownPlaces)} more` : "";
  return places.length === 0 ? [] : [`  rests on ${places.slice(0, shownPlaces).map(name).join(", ")}${more}`];
}

/** @param {Waiting[]} waiting @param {string} command */
export function waitingText(waiting, command) {
  const rows = waiting.flatMap(({ operations }) =>
    operations.map(({ id, scope, status, text, origin, by, reason }) => {
      const from = by === "person" ? "" : ` (${by}${origin === undefined ? "" : ` from ${name(origin)}`})`;
      return [id, scope, status, `${shortened(text)}${from}${reason === undefined ? "" : ` · ${reason}`}`];
    }),
  );
  const hints = [
    ...(rows.some(([, , status]) => status === "proposed")
      ? [`\`${command} accept ID\` or \`withdraw ID\` decides a proposal.`]
      : []),
    ...waiting
      .filter(({ interrupted }) => interrupted)
      .map(({ scope }) => `A flush of ${scope} memory was interrupted: \`${command} flush\` ends it.`),
  ];
  return rows.length + hints.length === 0 ? "Nothing waits." : [...columns(rows), ...hints].join("\n");
}

/** @param {string} id @param {string} scope @param {boolean} accepts @param {string} command */
export function decidedText(id, scope, accepts, command) {
  return accepts
    ? `${id} is accepted for ${scope} memory: \`${command} flush\` writes it.`
    : `${id} is withdrawn: ${scope} memory stays as it is.`;
}

/** @param {import("../index.js").MemoryFlush[]} done @param {string} command */
export function flushText(done, command) {
  const lines = done.flatMap(({ scope, committed, refused, held, proposed, resumed, findings, failed }) => [
    ...(resumed ? [`${scope}: ended a flush that was interrupted`] : []),
    ...committed.map(({ id, scope, file, line, text, findings: own, restsOn = [] }) =>
      [
        `${scope}: ${id} is in ${name(file)}${line === null ? "" : `:${line}`} · ${shortened(text)}`,
        ...restsText(restsOn),
        ...own.map(findingText),
      ].join("\n"),
    ),
    ...refused.map(
      ({ id, scope, text, reason }) =>
        `${scope}: ${id} is refused: ${reason ?? "no reason given"} · ${shortened(text)}`,
    ),
    ...held.map(
      ({ id, scope, text, reason }) =>
        `${scope}: ${id} still waits: ${reason ?? "no reason given"} · ${shortened(text)}`,
    ),
    ...[...new Set(proposed.map(({ scope }) => scope))].map((of) => {
      const number = proposed.filter(({ scope }) => scope === of).length;
      return `${of}: ${number} wait for your decision: \`${command} waiting\``;
    }),
    ...findings.map(findingText),
    ...(failed === null ? [] : [`${scope}: nothing could be written: ${failed.words}`]),
  ]);
  return lines.length === 0 ? "Nothing waited." : lines.join("\n");
}

/** @param {Finding} finding */
export function findingText({ words, file, line }) {
  const place = file === null ? "" : `${name(file)}${line === null ? "" : `:${line}`}: `;
  return `  ${place}${words}`;
}

/** The first line of a text, cut. @param {string} text */
export function shortened(text) {
  const line =
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? "";
  const characters = [...line];
  return characters.length > titleLength ? `${characters.slice(0, titleLength - 1).join("")}…` : line;
}

/** Cells in columns, as wide as they need; the last is not padded. @param {string[][]} rows */
export function columns(rows) {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((cells) => (cells[at] ?? "").length)));
  return rows.map((cells) =>
    cells
      .map((cell, at) => (at === cells.length - 1 ? cell : cell.padEnd(widths[at])))
      .filter((cell) => cell !== "")
      .join("  ")
      .trimEnd(),
  );
}

/** @param {number} tokens */
export function count(tokens) {
  return tokens.toLocaleString("en");
}
