// The memory of a session's folder: its pages and how much of each the model has, those to look at again, memory faults.
import { difference } from "./difference.js";
import { button, element, fill, put } from "./dom.js";
import { longText } from "./long-text.js";
import { doubtText, FIDELITIES, pagesByFile, versionThen } from "./memory-words.js";
import { clock, counted, whole } from "./numbers.js";
import { hashOf } from "./routes.js";
import { oneLine } from "./text.js";

/** @typedef {import("../protocol.js").MemoryView} MemoryView */

/**
 * @param {import("./main.js").Context} context
 * @param {import("./main.js").Route} route
 * @returns {import("./main.js").View}
 */
export function memoryView(context, route) {
  const id = /** @type {string} */ (route.id);
  context.title("Memory");
  const place = element("div", { class: "fill" });
  const above = element("a", { href: hashOf({ view: "session", id }) }, "Session");
  const load = () =>
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
        return memoryNodes(memory, (path, day) => {
          const file = files.find(({ name }) => name === path);
          return file === undefined ? element("code", {}, path) : citedFile(context, id, file, day);
        });
      },
    );
  const node = element(
    "div",
    { class: "view memory" },
    element("p", { class: "above" }, above),
    element("h1", { tabindex: "-1" }, "Memory"),
    place,
  );
  return { node, ready: load(), refresh: () => void load() };
}

/**
 * A file that a page cites: where it is shown, and what changed in it since that day.
 * @param {import("./main.js").Context} context
 * @param {string} session
 * @param {import("../../index.js").TimelineObject} file
 * @param {string} day
 */
function citedFile({ source, signal }, session, { id, name }, day) {
  const place = element("div", { class: "fill" });
  const ask = async () => {
    const { versions, disk } = await source.object(id, session);
    const then = versionThen(versions, day);
    return {
      then,
      isNewer: disk?.state === "changed",
      unified: then && (await source.diff(id, then.txId, versions[0].txId)),
    };
  };
  const show = () =>
    fill(place, signal, ask, ({ then, isNewer, unified }) => [
      then === null || unified === null
        ? element("p", { class: "faint" }, "The store holds no version of it from after that day.")
        : element(
            "div",
            {},
            element("p", { class: "faint" }, `In the store, since @${then.txId} of ${clock(then.systemTime)}:`),
            difference(unified, { mayBeCut: false }),
          ),
      isNewer
        ? element("p", { class: "faint" }, "On disk it has changed since the newest version of the store.")
        : null,
    ]);
  const href = hashOf({ view: "object", id, options: { session } });
  return element(
    "div",
    {},
    element("a", { href }, name),
    " ",
    button("What changed since", () => void show(), { class: "plain", "aria-label": `What changed since in ${name}` }),
    place,
  );
}

/**
 * @param {MemoryView} memory
 * @param {(path: string, day: string) => HTMLElement} cited shows a file that a page cites, since the day of its confirmation
 */
function memoryNodes({ pages, stale, faults, problems }, cited) {
  const resident = pages.filter((page) => page.resident).length;
  const files = pagesByFile(pages);
  return [
    problems.length === 0
      ? null
      : element(
          "div",
          { class: "failure" },
          element("strong", {}, "Something is wrong with this memory"),
          element("ul", {}, ...problems.map((problem) => element("li", {}, problem))),
        ),
    element(
      "p",
      {},
      `${counted(pages.length, "page")}, of which the model has ${whole(resident)} in its system prompt.`,
    ),
    element("h2", {}, "To look at again"),
    stale.length === 0
      ? element("p", { class: "faint" }, "No page is in doubt.")
      : element("ul", { class: "pages" }, ...stale.map((one) => staleNode(one, cited))),
    element("h2", {}, "Pages"),
    pages.length === 0
      ? element("p", { class: "empty" }, "There is no memory for this folder yet.")
      : element("div", { class: "fill" }, ...files.map(fileNode)),
    element("h2", {}, "Faults"),
    faultsTable(faults),
  ];
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
 * @param {(path: string, day: string) => HTMLElement} cited
 */
function staleNode({ page, facts, reasons }, cited) {
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
      ...("paths" in reason ? reason.paths.map((path) => cited(path, facts.confirmed)) : []),
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
