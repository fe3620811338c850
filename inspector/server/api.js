// The addresses below `api/`: what each takes of the query, and which answer it gives. Decides nothing about answers.
import { Refusal } from "./failures.js";

/**
 * @import { Answers } from "./answers.js"
 *
 * @typedef {{ json: unknown } | { text: string }} Given
 */

/** Sessions whose bills are asked for at once. */
const mostBills = 50;

/** @type {{ [route: string]: (answers: Answers, query: URLSearchParams) => Promise<unknown> }} */
const jsonRoutes = {
  about: (answers) => answers.about(),
  sessions: (answers) => answers.sessions(),
  bills: (answers, query) => {
    const ids = query.getAll("session");
    if (ids.length > mostBills) {
      throw new Refusal(
        "INVALID_ARGUMENT",
        `\`session\` is given ${ids.length} times; at most ${mostBills} are answered at once`,
      );
    }
    return answers.bills(ids);
  },
  search: (answers, query) => answers.search(textOf(query, "text")),
  session: (answers, query) => answers.session(textOf(query, "id")),
  call: (answers, query) => answers.call(textOf(query, "id"), numberOf(query, "call")),
  plain: (answers, query) => answers.plain(textOf(query, "id"), numberOf(query, "call")),
  object: (answers, query) => answers.object(textOf(query, "name"), query.get("session")),
  memory: (answers, query) => answers.memory(textOf(query, "session")),
  "as-set": (answers, query) => answers.asSet(textOf(query, "id")),
  "what-if": (answers, query) =>
    answers.whatIf(textOf(query, "id"), {
      prices: query.get("prices") ?? undefined,
      window: query.get("window") ?? undefined,
      settings: settingsOf(query),
    }),
};

/** @type {{ [route: string]: (answers: Answers, query: URLSearchParams) => Promise<string> }} */
const textRoutes = {
  message: (answers, query) =>
    answers.message(textOf(query, "id"), numberOf(query, "call"), numberOf(query, "at"), textOf(query, "of")),
  content: (answers, query) => answers.content(textOf(query, "name"), numberOf(query, "tx")),
  diff: (answers, query) => answers.diff(textOf(query, "name"), numberOf(query, "from"), numberOf(query, "to")),
};

/**
 * The answer to a request.
 * @param {Answers} answers
 * @param {string} route
 * @param {URLSearchParams} query
 * @returns {Promise<Given>}
 */
export async function apiAnswer(answers, route, query) {
  if (Object.hasOwn(jsonRoutes, route)) {
    return { json: await jsonRoutes[route](answers, query) };
  }
  if (Object.hasOwn(textRoutes, route)) {
    return { text: await textRoutes[route](answers, query) };
  }
  throw new Refusal("NOT_FOUND", `there is no answer \`${route}\``);
}

/**
 * @param {URLSearchParams} query
 * @param {string} name
 */
function textOf(query, name) {
  const value = query.get(name);
  if (value === null || value === "") {
    throw new Refusal("INVALID_ARGUMENT", `\`${name}\` is missing`);
  }
  return value;
}

/**
 * @param {URLSearchParams} query
 * @param {string} name
 */
function numberOf(query, name) {
  const value = textOf(query, name);
  if (!/^\d{1,15}$/.test(value)) {
    throw new Refusal("INVALID_ARGUMENT", `\`${name}\` must be a whole number, is \`${value.slice(0, 40)}\``);
  }
  return Number(value);
}

/** @param {URLSearchParams} query */
function settingsOf(query) {
  const given = [...query].filter(([key]) => key.startsWith("setting."));
  return Object.fromEntries(given.map(([key, value]) => [key.slice("setting.".length), settingValue(value)]));
}

/**
 * What is not JSON is a text: whether that is right, the setting says.
 * @param {string} given
 */
function settingValue(given) {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}
