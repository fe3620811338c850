// An object: its versions with their differences, the calls that showed it, what became of it, its relations, its file on disk.
import { difference } from "../elements/difference.js";
import { button, element, fill, put } from "../elements/dom.js";
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
  fault: "missed by the model",
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
  const load = () =>
    fill(
      place,
      context.signal,
      async () => {
        const known = session === null ? null : await context.source.session(session).catch(() => null);
        // A page that carries its data knows objects by ID alone.
        const id = known?.timeline.objects.find(({ handle }) => handle === asked)?.id ?? asked;
        return { known, view: await context.source.object(id, session ?? "") };
      },
      ({ known, view }) => new ObjectPage(context, session, known, view).build(),
    );
  return { node: element("div", { class: "view object" }, place), ready: load(), refresh: () => void load() };
}

class ObjectPage {
  /**
   * @param {import("../main.js").Context} context
   * @param {string | null} session
   * @param {SessionView | null} known
   * @param {ObjectView} view
   */
  constructor(context, session, known, view) {
    this.context = context;
    this.session = session;
    this.known = known;
    this.view = view;
    /** What addresses of other objects go on with. @type {{ [key: string]: string }} */
    this.options = session === null ? {} : { session };
    this.line = known?.timeline.objects.find(({ id }) => id === view.id) ?? null;
    this.name = this.line?.name ?? nameOf(view);
    context.title(oneLine(this.name, 60));
  }

  build() {
    const { view, session, line } = this;
    const [newest] = view.versions;
    const facts = [
      line?.handle,
      newest === undefined ? null : TYPES[newest.type],
      line?.pinned ? "pinned" : null,
      counted(view.versions.length, "version"),
      ...(newest?.nicknames ?? []).map((nickname) => `named ${nickname}`),
    ];
    return [
      session === null
        ? null
        : element(
            "p",
            { class: "above tools" },
            element(
              "a",
              { href: hashOf({ view: "session", id: session }) },
              oneLine(this.known?.info.title ?? "Session", 80),
            ),
            element("a", { href: hashOf({ view: "objects", id: session }) }, "All objects"),
          ),
      element("h1", { tabindex: "-1" }, this.name),
      element("p", { class: "faint facts" }, facts.filter(Boolean).join(" · "), " · ", element("code", {}, view.id)),
      view.disk === null
        ? null
        : element(
            "p",
            { class: `disk ${view.disk.state}` },
            DISK[view.disk.state],
            " ",
            element("code", {}, view.disk.path),
          ),
      newest?.redacted ? element("p", { class: "notice" }, redactedText(newest.redacted)) : null,
      ...this.shown(),
      element("h2", {}, "Versions"),
      this.versions(),
      element("h2", {}, "Relations"),
      linksGraph({
        name: this.name,
        links: view.links,
        backlinks: view.backlinks,
        nameOf: (id) => this.nameOf(id),
        options: this.options,
      }),
      this.relations(),
    ];
  }

  /** The calls that showed it, and what became of it. */
  shown() {
    const { line, known, session } = this;
    if (line === null || known === null || session === null) {
      return [];
    }
    const calls = known.timeline.calls.length;
    const marks = known.timeline.marks.filter(({ object, kind }) => object === line.id && MARKS[kind] !== undefined);
    return [
      element("h2", {}, "In the window"),
      element(
        "p",
        {},
        `Now: ${shownNow(line.shown, calls)}. Its text stood in ${counted(shownCalls(line.shown), "call")} of ${whole(calls)}.`,
      ),
      shownStrip(line.shown, calls),
      shownList(line.shown, session, line.handle),
      marks.length === 0
        ? null
        : element(
            "ol",
            { class: "runs" },
            ...marks.map(({ kind, call, text }) =>
              element(
                "li",
                {},
                "before call ",
                element(
                  "a",
                  { href: hashOf({ view: "call", id: session, call: Math.min(call, calls) }) },
                  String(call),
                ),
                `: ${text ?? MARKS[kind]}`,
              ),
            ),
          ),
    ];
  }

  versions() {
    const { versions } = this.view;
    const list = element("ol", { class: "versions" });
    const more = button("", () => show());
    const show = () => {
      const from = list.childElementCount;
      list.append(
        ...versions.slice(from, from + VERSIONS).map((version, at) => this.version(version, versions[from + at + 1])),
      );
      more.hidden = list.childElementCount >= versions.length;
      more.textContent = `Show older ones, ${whole(versions.length - list.childElementCount)}`;
    };
    show();
    // What changed last is what is asked for most.
    list.querySelector("button")?.click();
    return element("div", { class: "fill" }, list, more);
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
    return element(
      "li",
      {},
      element(
        "div",
        { class: "tools" },
        element("strong", {}, `@${version.txId}`),
        element("time", { datetime: version.systemTime }, clock(version.systemTime)),
        typeof characters === "number" ? element("span", { class: "faint" }, counted(characters, "character")) : null,
        version.redacted
          ? element("span", { class: "chip withheld" }, version.redacted === "secret" ? "redacted" : "forgotten")
          : null,
        ...actions,
      ),
      place,
    );
  }

  /** All relations, as a list. */
  relations() {
    const { links, backlinks } = this.view;
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
        links.map((link) => item(link.target.id, link.target.path ?? link.written, link)),
      ),
      group(
        "Referred to by",
        backlinks.map((link) => item(link.from, link.from, link)),
      ),
    );
  }

  /** The name that the session has for an object. @param {string} id */
  nameOf(id) {
    const line = this.known?.timeline.objects.find((object) => object.id === id);
    return line === undefined ? null : `${line.handle} ${line.name}`;
  }
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
  return typeof path === "string" ? path : typeof tool === "string" ? [tool, brief].filter(Boolean).join(" ") : id;
}

/** @param {"secret" | "forgotten"} redacted */
function redactedText(redacted) {
  return redacted === "secret" ? "A secret was taken out of this object." : "The text of this object was forgotten.";
}

/** @param {ObjectLink} link */
function relationText({ kind, part, place, target, since }) {
  const state = target.state === "found" || target.state === "none" ? "" : `, ${target.state.replace("_", " ")}`;
  const line = place.line === undefined ? "" : `, line ${place.line}`;
  return `${kind}${part === undefined ? "" : ` to ${part}`}, in ${place.path || place.field}${line}, since @${since}${state}`;
}
