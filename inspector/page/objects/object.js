// An object: its versions with their differences, the calls that showed it, what became of it, its relations, its file on disk.
import { elsewhere } from "../../../lib/describe.js";
import { name as spelt } from "../../../lib/terminal.js";
import { difference } from "../elements/difference.js";
import { button, element, fill, put } from "../elements/dom.js";
import { headingPart, keptParts } from "../elements/kept-parts.js";
import { longText } from "../elements/long-text.js";
import { clock, counted, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { linksGraph } from "./graph.js";
import { shownCalls, shownNow } from "./runs.js";
import { shownList, shownStrip } from "./shown.js";

/** @typedef {import("../../protocol.js").ObjectView} ObjectView */
/** @typedef {import("../../protocol.js").SessionView} SessionView */
/** @typedef {import("../../../index.js").Version} Version */
/** @typedef {import("../../../index.js").ObjectLink} ObjectLink */
/** @typedef {import("../../../index.js").TimelineObject} TimelineObject */

const TYPES = {
  file: "file",
  toolcall: "tool call",
  chat_segment: "segment",
  chat: "chat",
  system_prompt: "system prompt",
  session: "session",
};
const DISK = {
  same: "On disk it is as in the newest version.",
  changed: "On disk it has changed since the newest version.",
  missing: "It is no longer on disk.",
  unreadable: "It cannot be read on disk now.",
};
const MARKS = /** @type {{ [kind: string]: string }} */ ({
  activated: "activated",
  deactivated: "deactivated",
  pinned: "pinned",
  unpinned: "unpinned",
  file_changed: "changed",
});

/** Versions whose rows are made at once. */
const VERSIONS = 50;

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function objectView(context, route) {
  const asked = /** @type {string} */ (route.id);
  const session = route.options.session ?? null;
  context.title("Object");
  const place = element("div", { class: "fill" });
  const page = new ObjectPage(context, session);
  const load = (keeps = false) =>
    fill(
      place,
      context.signal,
      async () => {
        const known = session === null ? null : await context.source.session(session).catch(() => null);
        // A page that carries its data knows objects by ID alone.
        const id = known?.timeline.objects.find(({ handle }) => handle === asked)?.id ?? asked;
        return { known, view: await context.source.object(id, session ?? "") };
      },
      ({ known, view }) => page.show(known, view),
      { keeps },
    );
  return { node: element("div", { class: "view object" }, place), ready: load(), refresh: () => void load(true) };
}

class ObjectPage {
  /**
   * @param {import("../main.js").Context} context
   * @param {string | null} session
   */
  constructor(context, session) {
    this.context = context;
    this.session = session;
    /** What addresses of other objects go on with. @type {{ [key: string]: string }} */
    this.options = session === null ? {} : { session };
    /** @type {SessionView | null} */
    this.known = null;
    this.content = element("div", { class: "fill" });
    this.parts = keptParts(this.content);
    this.versions = element("ol", { class: "versions" });
    this.rows = keptParts(this.versions);
    /** Versions whose rows are there, from the newest on. */
    this.most = VERSIONS;
  }

  /**
   * The object as it is now; what the person opened stays.
   * @param {SessionView | null} known
   * @param {ObjectView} view
   */
  show(known, view) {
    this.known = known;
    const line = known?.timeline.objects.find(({ id }) => id === view.id) ?? null;
    const name = line?.name ?? nameOf(view);
    const { session, context } = this;
    context.title(oneLine(name, 60));
    const [newest] = view.versions;
    const { disk } = view;
    const title = known?.info.title ?? "Session";
    const relations = [view.links, view.backlinks].map((links) => links.map((link) => [link, this.namesIn(link)]));
    this.parts([
      session === null ? null : { name: "above", of: title, build: () => this.above(session, title) },
      { name: "name", of: name, build: () => element("h1", { tabindex: "-1" }, name) },
      {
        name: "facts",
        of: [line?.handle, line?.pinned, newest, view.versions.length],
        build: () => factsOf(view, line),
      },
      disk === null ? null : { name: "disk", of: disk, build: () => diskNode(disk) },
      newest?.redacted
        ? { name: "redacted", of: newest.redacted, build: () => redactedNode(String(newest.redacted)) }
        : null,
      ...this.shown(line),
      headingPart("Versions"),
      { name: "versions", of: null, build: () => this.versions },
      this.older(view),
      headingPart("Relations"),
      { name: "graph", of: [name, relations], build: () => this.graph(name, view) },
      { name: "relations", of: relations, build: () => this.relations(view) },
    ]);
    this.showVersions(view);
    return this.content;
  }

  /**
   * @param {string} session
   * @param {string} title
   */
  above(session, title) {
    return element(
      "p",
      { class: "above tools" },
      element("a", { href: hashOf({ view: "session", id: session }) }, oneLine(title, 80)),
      element("a", { href: hashOf({ view: "objects", id: session }) }, "All objects"),
    );
  }

  /**
   * The calls that showed it, and what became of it.
   * @param {TimelineObject | null} line
   * @returns {import("../elements/kept-parts.js").Part[]}
   */
  shown(line) {
    const { known, session } = this;
    if (line === null || known === null || session === null) {
      return [];
    }
    const calls = known.timeline.calls.length;
    const marks = known.timeline.marks.filter(({ object, kind }) => object === line.id && MARKS[kind] !== undefined);
    const { shown, handle } = line;
    const words = `Now: ${shownNow(shown, calls)}. Its text stood in ${counted(shownCalls(shown), "call")} of ${whole(calls)}.`;
    return [
      headingPart("In the window"),
      { name: "now", of: words, build: () => element("p", {}, words) },
      { name: "strip", of: [shown, calls], build: () => shownStrip(shown, calls) },
      { name: "runs", of: shown, build: () => shownList(shown, session, handle) },
      ...(marks.length === 0 ? [] : [{ name: "marks", of: marks, build: () => marksNode(marks, session, calls) }]),
    ];
  }

  /**
   * What shows older versions, where there are more than are shown.
   * @param {ObjectView} view
   * @returns {import("../elements/kept-parts.js").Part | null}
   */
  older(view) {
    const left = view.versions.length - this.most;
    const more = () => {
      this.most += VERSIONS;
      this.show(this.known, view);
    };
    const build = () => button(`Show older ones, ${whole(left)}`, more);
    return left <= 0 ? null : { name: "older", of: [left, view.versions[0]?.txId], build };
  }

  /** @param {ObjectView} view */
  showVersions({ versions }) {
    const isFirst = this.versions.childElementCount === 0;
    this.rows(
      versions.slice(0, this.most).map((version, at) => ({
        name: `${version.id} ${version.txId}`,
        of: [version, versions[at + 1]?.txId],
        build: () => this.version(version, versions[at + 1]),
      })),
    );
    if (isFirst) {
      // What changed last is what is asked for most.
      this.versions.querySelector("button")?.click();
    }
  }

  /**
   * @param {Version} version
   * @param {Version | undefined} older
   */
  version(version, older) {
    const { source } = this.context;
    const place = element("div", { class: "fill" });
    const hasText = version.content !== null || version.type === "chat_segment";
    const content = async () =>
      longText(await source.content(version.id, version.txId), { label: `version ${version.txId}` });
    // A version before a move belongs to another object.
    const canCompare = older !== undefined && older.id === version.id && hasText && older.content !== null;
    const diff = async () =>
      difference(await source.diff(version.id, older?.txId ?? 0, version.txId), { first: 60, mayBeCut: false });
    const actions = [
      canCompare ? toggle("What changed", place, this.context.signal, diff) : null,
      hasText
        ? toggle("Content", place, this.context.signal, content)
        : element("span", { class: "faint" }, "no content"),
    ];
    const characters = version.fields.char_count;
    const from = elsewhere(version, { id: this.context.about.storeId });
    return element(
      "li",
      {},
      element(
        "div",
        { class: "tools" },
        element("strong", {}, `@${version.txId}`),
        element("time", { datetime: version.systemTime }, clock(version.systemTime)),
        from === null ? null : element("span", {}, `from ${from}`),
        typeof characters === "number" ? element("span", { class: "faint" }, counted(characters, "character")) : null,
        version.redacted
          ? element("span", { class: "chip withheld" }, version.redacted === "secret" ? "redacted" : "forgotten")
          : null,
        ...actions,
      ),
      place,
    );
  }

  /**
   * @param {string} name
   * @param {ObjectView} view
   */
  graph(name, { links, backlinks }) {
    const nameOf = (/** @type {string} */ id) => this.nameOf(id);
    return linksGraph({ name, links, backlinks, nameOf, options: this.options });
  }

  /**
   * All relations, as a list.
   * @param {ObjectView} view
   */
  relations({ links, backlinks }) {
    const { options } = this;
    const item = (/** @type {string | undefined} */ id, /** @type {string} */ name, /** @type {ObjectLink} */ link) =>
      element(
        "li",
        {},
        id === undefined
          ? name
          : element("a", { href: hashOf({ view: "object", id, options }) }, oneLine(this.nameOf(id) ?? name, 120)),
        element("span", { class: "faint" }, ` ${relationText(link)}`),
      );
    const group = (/** @type {string} */ title, /** @type {HTMLElement[]} */ items) =>
      items.length === 0
        ? null
        : element(
            "details",
            {},
            element("summary", {}, `${title}: ${whole(items.length)}`),
            element("ul", { class: "relations" }, ...items.slice(0, 500)),
          );
    return element(
      "div",
      {},
      group(
        "It refers to",
        links.map((link) => item(link.target.id, spelt(link.target.path ?? link.written), link)),
      ),
      group(
        "Referred to by",
        backlinks.map((link) => item(link.from, link.from, link)),
      ),
    );
  }

  /** What the session calls the objects of a link. @param {ObjectLink} link */
  namesIn({ from, target }) {
    return [from, target.id].map((id) => (id === undefined ? null : this.nameOf(id)));
  }

  /** The name that the session has for an object. @param {string} id */
  nameOf(id) {
    const line = this.known?.timeline.objects.find((object) => object.id === id);
    return line === undefined ? null : `${line.handle} ${line.name}`;
  }
}

/**
 * @param {ObjectView} view
 * @param {TimelineObject | null} line
 */
function factsOf({ id, versions }, line) {
  const [newest] = versions;
  const facts = [
    line?.handle,
    newest === undefined ? null : TYPES[newest.type],
    line?.pinned ? "pinned" : null,
    counted(versions.length, "version"),
    ...(newest?.nicknames ?? []).map((nickname) => `named ${nickname}`),
  ];
  return element("p", { class: "faint facts" }, facts.filter(Boolean).join(" · "), " · ", element("code", {}, id));
}

/** @param {NonNullable<ObjectView["disk"]>} disk */
function diskNode({ path, state }) {
  return element("p", { class: `disk ${state}` }, DISK[state], " ", element("code", {}, spelt(path)));
}

/**
 * What happened to it, and before which calls.
 * @param {SessionView["timeline"]["marks"]} marks
 * @param {string} session
 * @param {number} calls
 */
function marksNode(marks, session, calls) {
  const link = (/** @type {number} */ call) =>
    element("a", { href: hashOf({ view: "call", id: session, call: Math.min(call, calls) }) }, String(call));
  const items = marks.map(({ kind, call, text }) =>
    element("li", {}, "before call ", link(call), `: ${text ?? MARKS[kind]}`),
  );
  return element("ol", { class: "runs" }, ...items);
}

/**
 * A button that shows something in a place, or hides it again.
 * @param {string} name
 * @param {Element} place
 * @param {AbortSignal} signal
 * @param {() => Promise<HTMLElement>} load
 */
function toggle(name, place, signal, load) {
  const made = button(
    name,
    () => {
      const isOpen = made.getAttribute("aria-expanded") === "true";
      for (const other of made.parentElement?.querySelectorAll("[aria-expanded]") ?? []) {
        other.setAttribute("aria-expanded", "false");
      }
      made.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) {
        put(place);
      } else {
        void fill(place, signal, load, (node) => node);
      }
    },
    { class: "plain", "aria-expanded": "false" },
  );
  return made;
}

/** @param {ObjectView} view */
function nameOf({ id, versions: [newest] }) {
  const path = newest?.source && "path" in newest.source ? newest.source.path : null;
  const { tool, brief } = newest?.fields ?? {};
  return typeof path === "string"
    ? spelt(path)
    : typeof tool === "string"
      ? [tool, brief].filter(Boolean).join(" ")
      : id;
}

/** @param {string} redacted */
function redactedNode(redacted) {
  const text =
    redacted === "secret" ? "A secret was taken out of this object." : "The text of this object was forgotten.";
  return element("p", { class: "notice" }, text);
}

/** @param {ObjectLink} link */
function relationText({ kind, part, place, target, since }) {
  const state = target.state === "found" || target.state === "none" ? "" : `, ${target.state.replace("_", " ")}`;
  const line = place.line === undefined ? "" : `, line ${place.line}`;
  return `${kind}${part === undefined ? "" : ` to ${part}`}, in ${place.path || place.field}${line}, since @${since}${state}`;
}
