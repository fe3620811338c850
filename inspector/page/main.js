// The page: finds its data, and shows the view that the address names. Views know nothing of each other.
import { line } from "../../lib/terminal.js";
import { callView } from "./call/call.js";
import { httpSource } from "./data/http.js";
import { carriedReport, carriedSource } from "./data/own.js";
import { remembering } from "./data/remembered.js";
import { element, failureBox, put } from "./elements/dom.js";
import { themeSwitch } from "./elements/theme.js";
import { Following } from "./following.js";
import { memoryView } from "./memory/memory.js";
import { objectView } from "./objects/object.js";
import { objectsView } from "./objects/objects.js";
import { replaysView } from "./replays/replays.js";
import { hashOf, routeOf, sessionOf } from "./routes.js";
import { compareView } from "./sessions/compare.js";
import { sessionView } from "./sessions/session.js";
import { sessionsView } from "./sessions/sessions.js";
import { whatIfView } from "./what-if/what-if.js";

/**
 * What a view works with. `signal` ends with it; `kept` holds what it wants to find again when the person comes back to this address.
 * @typedef {{
 *   source: import("../protocol.js").Source,
 *   about: import("../protocol.js").About,
 *   signal: AbortSignal,
 *   kept: { [key: string]: any },
 *   title: (text: string) => void,
 * }} Context
 */
/**
 * `ready`: when there is something to see. `refresh`: what is on show was written.
 * @typedef {{ node: HTMLElement, ready?: Promise<unknown>, refresh?: () => void }} View
 */
/** @typedef {import("./routes.js").Route} Route */

/** How long the view before stays while the next one waits for its data, in milliseconds. */
const PATIENCE_MS = 250;

/** @type {{ [view in Route["view"]]: (context: Context, route: Route) => View }} */
const VIEWS = {
  sessions: sessionsView,
  session: sessionView,
  objects: objectsView,
  memory: memoryView,
  "what-if": whatIfView,
  call: callView,
  object: objectView,
  compare: compareView,
};

const bar = element("header", { class: "bar" });
const main = element("main", { id: "main" });

/** Starts the page. */
async function start() {
  document.body.append(element("a", { class: "skip", href: "#main", onclick: skip }, "Skip to content"), bar, main);
  try {
    const report = await carriedReport();
    if (report !== null) {
      put(bar, element("span", { class: "brand" }, "Palimpsest replay"), themeSwitch());
      document.title = "Palimpsest replay";
      put(main, replaysView(report));
      return;
    }
    const source = remembering((await carriedSource()) ?? httpSource());
    const about = await source.about();
    const following = new Following(source);
    showBar(about, following);
    if (about.session !== null && location.hash === "") {
      history.replaceState(null, "", hashOf({ view: "session", id: about.session }));
    }
    const pages = new Pages(source, about, following);
    following.addEventListener("written", () => pages.view?.refresh?.());
    addEventListener("hashchange", ({ oldURL }) => void pages.show(new URL(oldURL).hash));
    await pages.show();
  } catch (error) {
    put(
      main,
      failureBox(error, () => location.reload()),
    );
  }
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  main.querySelector("h1")?.focus();
}

/**
 * @param {import("../protocol.js").About} about
 * @param {Following} following
 */
function showBar(about, { badge, line }) {
  bar.after(line);
  put(
    bar,
    element("a", { class: "brand", href: hashOf({ view: "sessions" }) }, "Palimpsest"),
    element("nav", { "aria-label": "Main" }, element("a", { href: hashOf({ view: "sessions" }) }, "Sessions")),
    about.redacted
      ? element("span", { class: "badge", title: "Secrets were taken out of the texts" }, "redacted")
      : null,
    badge,
    element("span", { class: "store", title: about.store ?? "" }, about.store ?? "saved page"),
    themeSwitch(),
  );
}

/** The views, one at a time. */
class Pages {
  /**
   * @param {import("./data/remembered.js").Remembering} source
   * @param {import("../protocol.js").About} about
   * @param {Following} following
   */
  constructor(source, about, following) {
    this.source = source;
    this.about = about;
    this.following = following;
    this.abort = new AbortController();
    /** @type {View | null} */
    this.view = null;
    this.hash = "";
    /** What views keep, and where they were scrolled to, by address. */
    /** @type {Map<string, { scroll: number, kept: { [key: string]: any } }>} */
    this.places = new Map();
  }

  /**
   * Shows the view of the present address.
   * @param {string} [left] the address that was left; the view there may have changed it
   */
  async show(left) {
    this.leave(left);
    const { hash } = location;
    const route = routeOf(hash);
    const abort = new AbortController();
    this.abort = abort;
    const place = this.places.get(hash) ?? { scroll: 0, kept: {} };
    this.places.set(hash, place);
    this.hash = hash;
    const view = this.build(route, place.kept);
    await Promise.race([view.ready ?? null, new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
    if (abort.signal.aborted) {
      return;
    }
    const isFirst = this.view === null;
    this.view = view;
    put(main, view.node);
    this.following.show(sessionOf(route));
    scrollTo(0, place.scroll);
    if (!isFirst) {
      /** @type {HTMLElement | null} */
      const first = main.querySelector("[data-focus]") ?? main.querySelector("h1");
      first?.focus({ preventScroll: true });
    }
  }

  /** @param {string} [left] */
  leave(left = this.hash) {
    this.abort.abort();
    const place = this.places.get(this.hash);
    if (place !== undefined && this.view !== null) {
      place.scroll = scrollY;
      this.places.set(left, place);
    }
  }

  /**
   * @param {Route} route
   * @param {{ [key: string]: any }} kept
   * @returns {View}
   */
  build(route, kept) {
    const { source, about } = this;
    const { signal } = this.abort;
    const title = (/** @type {string} */ text) => {
      if (!signal.aborted) {
        document.title = `${line(text)} – Palimpsest`;
      }
    };
    try {
      return VIEWS[route.view]({ source, about, signal, kept, title }, route);
    } catch (error) {
      return { node: element("div", {}, failureBox(error)) };
    }
  }
}

void start();
