// The memory of a session's folder: its pages and how much of each the model has, those to look at again, memory faults.
import { name as spelt } from "../../../lib/terminal.js";
import { difference } from "../elements/difference.js";
import { element, fill, put } from "../elements/dom.js";
import { headingPart, keptParts } from "../elements/kept-parts.js";
import { longText } from "../elements/long-text.js";
import { counted, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { citedFor, doubtText, FIDELITIES, pagesByFile, UNSHOWN } from "./memory-words.js";

/** @typedef {import("../../protocol.js").MemoryView} MemoryView */
/** @typedef {import("../../../index.js").CitedFile} CitedFile */

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function memoryView(context, route) {
  const id = /** @type {string} */ (route.id);
  context.title("Memory");
  const place = element("div", { class: "fill" });
  const above = element("a", { href: hashOf({ view: "session", id }) }, "Session");
  const content = element("div", { class: "fill" });
  const show = keptParts(content);
  const load = (keeps = false) =>
    fill(
      place,
      context.signal,
      async () => {
        const memory = context.source.memory(id);
        // Memory is there to be read where the session is not.
        const known = await context.source.session(id).catch(() => null);
        return { memory: await memory, known };
      },
      ({ memory, known }) => {
        put(above, oneLine(known?.info.title ?? "Session", 80));
        const files = known?.timeline.objects.filter(({ type }) => type === "file") ?? [];
        const hrefOf = (/** @type {string} */ path) => {
          // Global memory names files by their whole paths.
          const file = files.find(({ name }) => name === path || `${known?.info.cwd}/${name}` === path);
          return file === undefined ? null : hashOf({ view: "object", id: file.id, options: { session: id } });
        };
        show(memoryParts(memory, hrefOf));
        return content;
      },
      { keeps },
    );
  const node = element(
    "div",
    { class: "view memory" },
    element("p", { class: "above" }, above),
    element("h1", { tabindex: "-1" }, "Memory"),
    place,
  );
  return { node, ready: load(), refresh: () => void load(true) };
}

/**
 * A cited file that is no more as it was when the page was confirmed, and how it changed.
 * @param {CitedFile} cited
 * @param {string | null} href where the session's own view of it is
 */
function citedNode({ path, change, diff }, href) {
  return element(
    "div",
    { class: "cited" },
    href === null ? element("code", {}, spelt(path)) : element("a", { href }, spelt(path)),
    diff === null ? element("p", { class: "faint" }, UNSHOWN[change]) : difference(diff),
  );
}

/**
 * @param {MemoryView} memory
 * @param {(path: string) => string | null} hrefOf where the view of a file is
 * @returns {(import("../elements/kept-parts.js").Part | null)[]}
 */
function memoryParts({ pages, stale, faults, problems }, hrefOf) {
  const resident = pages.filter((page) => page.resident).length;
  const files = pagesByFile(pages);
  const part = (/** @type {string} */ name, /** @type {unknown} */ of, /** @type {() => Element} */ build) => ({
    name,
    of,
    build,
  });
  const none = (/** @type {string} */ name, /** @type {string} */ kind, /** @type {string} */ text) =>
    part(name, null, () => element("p", { class: kind }, text));
  return [
    problems.length === 0 ? null : part("problems", problems, () => problemsNode(problems)),
    part("count", [pages.length, resident], () =>
      element(
        "p",
        {},
        `${counted(pages.length, "page")}, of which the model has ${whole(resident)} in its system prompt.`,
      ),
    ),
    headingPart("To look at again"),
    stale.length === 0
      ? none("no doubt", "faint", "No page is in doubt.")
      : part("stale", [stale, stale.flatMap(({ cited }) => cited.map(({ path }) => hrefOf(path)))], () =>
          element("ul", { class: "pages" }, ...stale.map((one) => staleNode(one, hrefOf))),
        ),
    headingPart("Pages"),
    ...(pages.length === 0
      ? [none("no pages", "empty", "There is no memory for this folder yet.")]
      : files.map((file) => part(`file ${file.scope} ${file.file}`, file, () => fileNode(file)))),
    headingPart("Faults"),
    part("faults", faults, () => faultsTable(faults)),
  ];
}

/** @param {string[]} problems */
function problemsNode(problems) {
  return element(
    "div",
    { class: "failure" },
    element("strong", {}, "Something is wrong with this memory"),
    element("ul", {}, ...problems.map((problem) => element("li", {}, problem))),
  );
}

/** @param {ReturnType<typeof pagesByFile>[number]} file */
function fileNode({ scope, file, pages }) {
  return element(
    "section",
    { class: "memory-file" },
    element("h3", {}, `${scope} · `, element("code", {}, file)),
    element("ul", { class: "pages" }, ...pages.map(pageNode)),
  );
}

/** @param {MemoryView["pages"][number]} page */
function pageNode({ id, heading, text, fidelity, resident }) {
  const words = fidelity === null ? "not in the prompt" : (FIDELITIES[fidelity] ?? fidelity);
  return element(
    "li",
    {},
    element(
      "div",
      { class: "tools" },
      element("code", { class: "faint" }, id),
      heading === null ? null : element("span", { class: "faint" }, heading),
      element("span", { class: `chip ${resident ? "resident" : ""}` }, words),
    ),
    longText(text, { label: `page ${id}` }),
  );
}

/**
 * @param {MemoryView["stale"][number]} stale
 * @param {(path: string) => string | null} hrefOf
 */
function staleNode({ page, facts, reasons, cited }, hrefOf) {
  return element(
    "li",
    {},
    element(
      "div",
      { class: "tools" },
      element("code", { class: "faint" }, page.id),
      element("span", { class: "faint" }, `${page.file}, last confirmed ${facts.confirmed}`),
    ),
    longText(page.text, { label: `page ${page.id}` }),
    ...reasons.flatMap((reason) => [
      element("p", {}, element("strong", {}, doubtText(reason))),
      ...citedFor(reason, cited).map((file) => citedNode(file, hrefOf(file.path))),
    ]),
  );
}

/** @param {MemoryView["faults"]} faults */
function faultsTable(faults) {
  const head = ["fault", "times"].map((name) => element("th", { scope: "col" }, name));
  const rows = faults.map(({ fault, count }) =>
    element("tr", {}, element("th", { scope: "row" }, fault.replaceAll("_", " ")), element("td", {}, whole(count))),
  );
  return element(
    "table",
    { class: "counts" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows),
  );
}
