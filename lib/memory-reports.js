// What `/memory` and `palimpsest memory` say of what was found: recalls, stale pages, memory faults, traces, imports. Decides nothing.
import { plural } from "./describe.js";
import { columns, count, findingText, row, shortened } from "./memory-texts.js";
import { name, line as spelt } from "./terminal.js";

/**
 * @typedef {import("../index.js").MemoryPage} Page
 * @typedef {import("../index.js").MemoryTrace} Trace
 */

/** Traces that are listed. */
const listed = 30;

/** What a hit says of the files that it cites. @param {string | null} stale */
function staleMark(stale) {
  return stale === "contradicted" ? "(cited file changed)" : stale === "gone" ? "(cited file gone)" : "";
}

/** What became of a cited file. @param {import("../index.js").CitedFile} cited */
function changeText({ path, place, change, movedTo }) {
  switch (change) {
    case "contradicted":
      return `\`${name(place)}\` changed, and no longer says what the entry says`;
    case "touched":
      return `\`${name(place)}\` changed; what the entry names is still there`;
    case "moved":
      return `\`${name(path)}\` is \`${name(movedTo ?? "")}\` now`;
    case "gone":
      return `\`${name(path)}\` is gone`;
  }
}

/** Hits shown of what hardly answers. */
const WEAK_HITS = 3;

/** @param {import("../index.js").RecallAnswer} found */
export function recallText({ reason, hits, problems }) {
  const worth = reason === "weak" ? hits.slice(0, WEAK_HITS) : hits;
  const shown = worth.map(({ scope, file, line, archived, stale, session, item, alike, headings, lines }) => {
    const place = session === null ? `${scope} ${name(file ?? "")}:${line}` : `${session}, message ${item}`;
    const said = [place, ...(archived ? ["archived"] : []), staleMark(stale), spelt(headings.join(" › "))];
    const places = alike.map((other) => `${other.scope} ${name(other.file)}:${other.line}`);
    said.push(places.length > 0 ? `also ${places.join(", ")}` : "");
    return [
      said.filter((text) => text !== "").join(" · "),
      ...lines.map(({ line, text }) => `${String(line).padStart(5)} ${spelt(text.trim())}`),
    ].join("\n");
  });
  const why = {
    ok: [],
    weak: ["weak: these share words with the question, but hardly answer it."],
    no_match: ["no_match: everything asked for was searched, and nothing in it matches."],
    malformed: ["malformed: the search cannot be understood."],
    denied: ["denied: what was asked for may not be looked at."],
    unavailable: ["unavailable: not all that was asked for could be searched."],
    backend_error: ["backend_error: the store failed."],
  }[reason];
  // What follows is not to be taken for an answer before it is said.
  const said = reason === "weak" ? [...why, ...shown] : [...shown, ...why];
  return [...said, ...problems.map(({ message }) => `Not searched: ${message}`)].join("\n");
}

/** Lines of a difference that are shown in a list of stale pages. */
const listedLines = 12;

/**
 * What became of a cited file, with the old and new lines where they are known.
 * @param {import("../index.js").CitedFile} cited
 * @param {number} [most] lines of them
 */
function citedLines(cited, most = Number.POSITIVE_INFINITY) {
  const lines = cited.diff === null ? [] : cited.diff.trimEnd().split("\n");
  const more = lines.length > most ? [`… ${count(lines.length - most)} more lines: \`verify\` has them`] : [];
  return [
    `  ${changeText(cited)}${lines.length === 0 ? "" : ":"}`,
    ...[...lines.slice(0, most), ...more].map((line) => `    ${spelt(line)}`),
  ];
}

/**
 * @param {{
 *   pages: number,
 *   warnings: import("../index.js").MemoryWarning[],
 *   stale: import("../index.js").StaleReport[],
 * }} found
 * @param {string} command
 */
export function verifyText({ pages, warnings, stale }, command) {
  const reports = stale.flatMap(({ page, cited }) => [
    `stale ${pageText(page)}`,
    ...cited.flatMap((file) => citedLines(file)),
  ]);
  const invalid = warnings.map(({ path, problem }) => `warning ${path === "" ? "" : `\`${name(path)}\` `}${problem}`);
  return [
    `${plural(pages, "page")} in the page tables, made anew from the Markdown.`,
    ...(stale.length + warnings.length === 0 ? ["All are valid, and no cited file changed."] : []),
    ...invalid,
    ...reports,
    ...(stale.length > 0
      ? [
          `\`${command} confirm ID\` says that a page is right as it is, \`confirm --all-of FILE\` that all are which cite a file.`,
        ]
      : []),
  ].join("\n");
}

/** @param {import("../index.js").StalePage[]} found @param {string} command */
export function staleText(found, command) {
  if (found.length === 0) {
    return "No page looks stale.";
  }
  const lines = found.flatMap(({ page, facts, reasons, cited }) => {
    const why = reasons.flatMap((doubt) => {
      switch (doubt.reason) {
        case "old":
          return `  neither confirmed nor used for ${plural(doubt.days, "day")}`;
        case "checked_by_model":
          return `  the model checked it on ${doubt.day} and its mark was removed; nobody has confirmed it`;
        case "never_used":
          return `  never used in ${plural(doubt.days, "day")}`;
        default:
          return [];
      }
    });
    const files = cited.flatMap((file) => citedLines(file, listedLines));
    return [`${pageText(page)} (confirmed ${facts.confirmed})`, ...files, ...why];
  });
  return [...lines, `Nothing was changed. \`${command} confirm ID\` keeps a page; edit or archive the others.`].join(
    "\n",
  );
}

/** @param {import("../index.js").MemoryFaultCount[]} counts @param {string} command */
export function faultsText(counts, command) {
  const rows = counts.map(({ fault, inSession, inTraces, newest }) => [
    fault.replaceAll("_", " "),
    `${inSession} in this session`,
    `${inTraces} in the traces`,
    newest === null ? "" : `newest ${newest}`,
  ]);
  const hint = counts.some(({ newest }) => newest !== null) ? [`\`${command} trace ID\` shows one.`] : [];
  return [...columns([["memory fault", "", "", ""], ...rows]).slice(1), ...hint].join("\n");
}

/** @param {Trace[]} traces @param {string} command */
export function tracesText(traces, command) {
  if (traces.length === 0) {
    return "There are no traces yet.";
  }
  const rows = traces.slice(0, listed).map((trace) => [trace.id, when(trace.at), trace.kind, gist(trace)]);
  const more = traces.length > listed ? [`… ${count(traces.length - listed)} older ones`] : [];
  return [...columns(rows), ...more, `\`${command} trace ID\` shows one whole.`].join("\n");
}

/** @param {Trace} trace */
export function traceText(trace) {
  const { id, at, kind, ...rest } = trace;
  const lines = Object.entries(rest).flatMap(([name, value]) => {
    if (!Array.isArray(value)) {
      return [row(name, String(value))];
    }
    return value.map((item, place) => row(place === 0 ? name : "", typeof item === "string" ? item : fields(item)));
  });
  return [row("trace", `${id} · ${when(at)} · ${kind}`), ...lines].join("\n");
}

/** @param {import("../index.js").MemoryImport} found @param {boolean} applied @param {string} command */
export function importText({ items, files, findings }, applied, command) {
  const rows = items.map(({ verdict, id, scope, origin, text, reason }) => {
    const what = verdict === "take" ? (id ?? "take") : verdict;
    return [what, scope, origin, `${shortened(text)}${reason === undefined ? "" : ` · ${reason}`}`];
  });
  const taken = items.filter(({ verdict }) => verdict === "take").length;
  const last =
    taken === 0
      ? files.length === 0
        ? "Nothing was read."
        : "There is nothing new."
      : applied
        ? `${taken} are staged: \`${command} flush\` writes them.`
        : `Nothing was changed. With \`--apply\` the ${taken} to take are staged.`;
  return [
    `${plural(files.length, "file")} read${files.length === 0 ? "" : `: ${files.map(name).join(", ")}`}`,
    ...columns(rows),
    ...findings.map(findingText),
    last,
  ].join("\n");
}

/** @param {Page} page */
function pageText({ id, scope, file, line, text }) {
  return `${id} · ${scope} ${name(file)}:${line} · ${shortened(text)}`;
}

/** What a trace says in a few words. @param {Trace} trace */
function gist(trace) {
  switch (trace.kind) {
    case "residency":
      return `${plural(trace.count, "page")} resident, ${trace.evicted.length} evicted`;
    case "flush":
      return `${trace.scope}: ${trace.operations.map(({ id, status }) => `${id} ${status}`).join(", ")}`;
    case "recall":
      return `${trace.code} · ${shortened(trace.query)} · ${plural(trace.pages.length, "page")}`;
    case "fault":
      return `${trace.fault.replaceAll("_", " ")}: ${trace.words}`;
    default:
      return "";
  }
}

/** @param {object} item */
function fields(item) {
  return Object.values(item)
    .filter((value) => value !== undefined)
    .join(" · ");
}

/** Such as `2030-01-31 12:00 UTC`. @param {string} at */
function when(at) {
  return `${at.slice(0, 16).replace("T", " ")} UTC`;
}
