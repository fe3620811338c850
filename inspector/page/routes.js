// Where the person is, in the address: `#/session/ID/call/212?tab=before`. Must not touch the document.

/**
 * @typedef {{
 *   view: "sessions" | "session" | "objects" | "memory" | "what-if" | "call" | "object" | "compare",
 *   id?: string, other?: string, call?: number, options: { [key: string]: string },
 * }} Route
 */

const PARTS = ["objects", "memory", "what-if"];

/**
 * The route of an address; the list of sessions for what is none.
 * @param {string} hash with its `#`
 * @returns {Route}
 */
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const options = Object.fromEntries(new URLSearchParams(query));
  const [kind, id, part, number] = path.split("/").map(decoded);
  if (kind === "session" && id) {
    if (part === "call" && /^[1-9]\d{0,8}$/.test(number ?? "")) {
      return { view: "call", id, call: Number(number), options };
    }
    const view = /** @type {Route["view"]} */ (PARTS.includes(part) ? part : "session");
    return { view, id, options };
  }
  if (kind === "object" && id) {
    return { view: "object", id, options };
  }
  return kind === "compare" && id && part
    ? { view: "compare", id, other: part, options }
    : { view: "sessions", options };
}

/**
 * The address of a route.
 * @param {Omit<Route, "options"> & { options?: { [key: string]: string } }} route
 */
export function hashOf({ view, id = "", other = "", call, options = {} }) {
  const query = new URLSearchParams(options).toString();
  const name = encodeURIComponent(id);
  const paths = {
    sessions: "",
    session: `session/${name}`,
    objects: `session/${name}/objects`,
    memory: `session/${name}/memory`,
    "what-if": `session/${name}/what-if`,
    call: `session/${name}/call/${call}`,
    object: `object/${name}`,
    compare: `compare/${name}/${encodeURIComponent(other)}`,
  };
  return `#/${paths[view]}${query === "" ? "" : `?${query}`}`;
}

/**
 * The session that a route is about, if it is about one.
 * @param {Route} route
 */
export function sessionOf(route) {
  if (route.view === "object") {
    return route.options.session ?? null;
  }
  return route.view === "sessions" || route.view === "compare" ? null : (route.id ?? null);
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
