// The data from the server that the page came from. It asks nobody else.

/** @typedef {import("../../protocol.js").Source} Source */
/** @typedef {import("../../protocol.js").Failure} Failure */

/** After how long a server that did not answer is looked for again, and how often a tab that nobody sees shows up, in milliseconds. */
const AGAIN_MS = 2_000;
const HIDDEN_MS = 60_000;

/**
 * A source that asks the server. The page's own address holds the token, and so does each that counts from it.
 * @returns {Source}
 */
export function httpSource() {
  return {
    live: true,
    about: () => json("about"),
    sessions: () => json("sessions"),
    bills: (ids) => json("bills", { session: ids }),
    search: (text) => json("search", { text }),
    session: (id) => json("session", { id }),
    call: (id, call) => json("call", { id, call }),
    plain: (id, call) => json("plain", { id, call }),
    message: (id, call, at, of) => text("message", { id, call, at, of }),
    object: (name, session) => json("object", { name, session }),
    content: (name, tx) => text("content", { name, tx }),
    diff: (name, from, to) => text("diff", { name, from, to }),
    memory: (session) => json("memory", { session }),
    asSet: (id) => json("as-set", { id }),
    whatIf: (id, { prices, window, ...settings }) => {
      const entries = Object.entries(settings).map(([key, value]) => [`setting.${key}`, value]);
      return json("what-if", { id, prices, window, ...Object.fromEntries(entries) });
    },
    follow: (id, heard) => {
      const stream = new Stream(id ?? undefined, heard);
      return () => stream.end();
    },
  };
}

/** A stream of events. A tab that nobody sees has none: a browser opens six connections to a server, and further tabs would wait. */
class Stream {
  /**
   * @param {string | undefined} id of a session; default: all
   * @param {import("../../protocol.js").Heard} heard
   */
  constructor(id, heard) {
    this.address = address("follow", { id });
    this.heard = heard;
    this.timer = 0;
    /** @type {EventSource | null} */
    this.events = null;
    this.turn = () => this.look();
    document.addEventListener("visibilitychange", this.turn);
    this.look();
  }

  look() {
    this.close();
    if (document.hidden) {
      // The server ends where it hears of nobody for a while.
      this.timer = setInterval(() => void json("about").catch(() => {}), HIDDEN_MS);
    } else {
      this.open();
    }
  }

  open() {
    const events = new EventSource(this.address);
    this.events = events;
    events.addEventListener("changed", ({ data }) => this.heard.changed({ txId: Number(data) }));
    events.addEventListener("open", () => this.heard.found());
    events.addEventListener("error", () => void this.check(events));
  }

  /**
   * A stream also breaks where the session cannot be followed: asks whether the server is there.
   * @param {EventSource} events
   */
  async check(events) {
    const isThere = await json("about").then(
      () => true,
      () => false,
    );
    if (events !== this.events) {
      return;
    }
    if (!isThere) {
      this.heard.lost();
      this.close();
      this.timer = setTimeout(() => this.open(), AGAIN_MS);
    }
  }

  close() {
    // One number names timers of both kinds.
    clearTimeout(this.timer);
    this.events?.close();
    this.events = null;
  }

  end() {
    document.removeEventListener("visibilitychange", this.turn);
    this.close();
  }
}

/** @typedef {{ [key: string]: string | number | string[] | undefined }} Query */

/**
 * @param {string} route
 * @param {Query} [query]
 */
function address(route, query = {}) {
  const url = new URL(`api/${route}`, location.href);
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value]) {
      url.searchParams.append(key, String(one));
    }
  }
  return url;
}

/**
 * @param {string} route
 * @param {Query} [query]
 */
async function json(route, query) {
  return (await answer(route, query)).json();
}

/**
 * @param {string} route
 * @param {Query} query
 */
async function text(route, query) {
  return (await answer(route, query)).text();
}

/**
 * @param {string} route
 * @param {Query} [query]
 */
async function answer(route, query) {
  let given;
  try {
    given = await fetch(address(route, query), { cache: "no-store", credentials: "omit" });
  } catch {
    throw failure(
      "NO_SERVER",
      "the inspector does not answer",
      "It has ended: run `palimpsest open`, or `/context open` in Pi, again.",
    );
  }
  if (given.ok) {
    return given;
  }
  const said = await given.json().catch(() => null);
  throw said?.message ? said : failure("HTTP", `the inspector answered with status ${given.status}`, null);
}

/**
 * @param {string} code
 * @param {string} message
 * @param {string | null} hint
 * @returns {Failure}
 */
function failure(code, message, hint) {
  return { code, message, hint };
}
