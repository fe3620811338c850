// The panels of a call: its messages as sent, beside another request, its prompt and tools, its payload.

import { shortCount } from "../../../lib/figures.js";
import { chunks } from "../elements/chunks.js";
import { difference } from "../elements/difference.js";
import { element, put } from "../elements/dom.js";
import { longText } from "../elements/long-text.js";
import { counted, whole } from "../elements/numbers.js";
import { FATES, PLAIN_FATES, RUNS, sums, tokensOf } from "./changes.js";
import { messageCard, otherText, runRow } from "./message.js";
import { gistOf, roleOf } from "./parts.js";
import { wayOf } from "./why.js";

/** @typedef {import("../../protocol.js").CallView} CallView */
/** @typedef {import("../../protocol.js").MessageView} MessageView */
/** @typedef {import("../../protocol.js").Comparison} Comparison */
/** @typedef {import("./changes.js").Change} Change */
/**
 * `object`: handle of the one whose message is to be in sight.
 * @typedef {{
 *   context: import("../main.js").Context,
 *   session: string,
 *   call: number,
 *   view: CallView,
 *   price: (at: number) => HTMLElement,
 *   object: string | null,
 * }} Given
 */

/** What a message takes at most while it is closed, in pixels; and what it takes at least. */
const TALLEST = 330;
const LEAST = 64;

/** @type {{ [name: string]: (view: MessageView, fate: Change | undefined) => boolean }} */
const FILTERS = {
  "all messages": () => true,
  "not as the host gave them": ({ about }) => wayOf(about) !== "given" || about.notes.length + about.folds.length > 0,
  "not as in the call before": (_, change) => change !== undefined,
  "of a person": ({ message }) => roleOf(message) === "user",
  "of the model": ({ message }) => roleOf(message) === "assistant",
  "of tools": ({ message }) => !["user", "assistant", "system"].includes(roleOf(message)),
};

/**
 * The messages as the model saw them.
 * @param {Given} given
 * @param {Change[] | null} since
 */
export function sentPanel(given, since) {
  const { context, object } = given;
  const { messages } = given.view;
  const changes = new Map(
    since?.flatMap((change) => (change.fate === "kept" || change.new === null ? [] : [[change.new, change]])),
  );
  const place = element("div", { class: "fill" });
  const count = element("span", { class: "faint", role: "status" });
  const words = element("input", {
    type: "search",
    "aria-label": "Find in the messages",
    placeholder: "Find in the messages",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => show(),
  });
  const choice = element(
    "select",
    { "aria-label": "Which messages", onchange: () => show() },
    ...Object.keys(FILTERS).map((name) => element("option", { value: name }, name)),
  );
  const show = () => {
    const text = words.value.trim().toLowerCase();
    const fits = (/** @type {MessageView} */ view, /** @type {number} */ at) =>
      FILTERS[choice.value](view, changes.get(at)) &&
      (text === "" || JSON.stringify(view.message).toLowerCase().includes(text));
    const shown = messages.flatMap((view, at) => (fits(view, at) ? [at] : []));
    count.textContent =
      shown.length === messages.length ? "" : `${whole(shown.length)} of ${counted(messages.length, "message")}`;
    const list = chunks({
      label: "Messages",
      count: shown.length,
      signal: context.signal,
      height: (at) => heightOf(messages[shown[at]]),
      build: (at) => sentCard(given, shown[at], fateOf(changes.get(shown[at]))),
    });
    put(place, shown.length === 0 ? element("p", { class: "empty" }, "No message matches.") : list.node);
    return list;
  };
  const list = show();
  const wanted = messages.findLastIndex(
    ({ about }) => object !== null && [about.handle, about.fileHandle].includes(object),
  );
  if (wanted >= 0) {
    revealOnceShown(list, wanted, context.signal);
  }
  return element("div", { class: "fill" }, element("div", { class: "tools" }, words, choice, count), place);
}

/**
 * @param {import("../elements/chunks.js").Chunks} list
 * @param {number} at
 * @param {AbortSignal} signal
 */
function revealOnceShown(list, at, signal) {
  requestAnimationFrame(() => {
    if (list.node.isConnected) {
      list.reveal(at);
    } else if (!signal.aborted) {
      revealOnceShown(list, at, signal);
    }
  });
}

/**
 * @param {Given} given
 * @param {number} at
 * @param {import("./message.js").Place["fate"]} fate
 * @param {boolean} [hasText]
 * @param {HTMLElement | null} [other]
 */
function sentCard({ context, session, call, view, price }, at, fate, hasText = true, other = null) {
  return messageCard(view.messages[at], {
    at,
    session,
    fate: fate === null || fate === undefined || hasText === false ? fate : { ...fate, diff: null },
    hasText,
    other,
    load: () => context.source.message(session, call, at, "sent"),
    price: () => price(at),
  });
}

/** @param {Change | undefined} change */
function fateOf(change, names = FATES) {
  if (change === undefined || change.fate === "kept") {
    return null;
  }
  return { name: change.fate, label: names[change.fate] ?? change.fate, words: change.words, diff: change.diff };
}

/**
 * A rough height, which the place of a message has until it is made.
 * @param {MessageView} view
 */
function heightOf({ message, about }) {
  const lines = gistOf(message).slice(0, 1_200).split("\n").length;
  return Math.min(TALLEST, LEAST + Math.min(lines, 12) * 19 + (about.folds.length + about.notes.length) * 20);
}

/**
 * The request beside another one: what both have is one line.
 * @param {Given} given
 * @param {Comparison} other
 * @param {Change[]} changes
 * @param {"before" | "plain"} beside
 */
export function comparisonPanel(given, other, changes, beside) {
  const isBefore = beside === "before";
  const names = isBefore ? FATES : PLAIN_FATES;
  const { context, session, call, view } = given;
  const { source } = context;
  const place = element("div", { class: "fill" });
  /** @type {Set<Change>} */
  const opened = new Set();
  const isLine = (/** @type {Change} */ change) => RUNS[change.fate] !== undefined && change.count > 0;
  const show = () => {
    const rows = changes.flatMap((change) => (opened.has(change) ? pieces(change) : [change]));
    const build = (/** @type {number} */ at) => {
      const change = rows[at];
      if (isLine(change)) {
        return runRow(change.count, tokensOf(change, view.messages, other), String(RUNS[change.fate]), () => {
          opened.add(change);
          show();
        });
      }
      const old = Number(change.old);
      const load = () =>
        isBefore ? source.message(session, call - 1, old, "sent") : source.message(session, call, old, "plain");
      if (change.new === null) {
        return messageCard(other.messages[old], { at: old, session, fate: fateOf(change, names), load });
      }
      const title = isBefore ? `As it was in call ${call - 1}` : "As plain would have sent it";
      const was = change.diff === null ? null : otherText(title, other.messages[old], load);
      return sentCard(given, change.new, fateOf(change, names), change.diff === null, was);
    };
    const height = (/** @type {number} */ at) => (isLine(rows[at]) ? 36 : 180);
    put(place, chunks({ label: "Changes", count: rows.length, signal: context.signal, build, height }).node);
  };
  show();
  return element(
    "div",
    { class: "fill" },
    sumLine(changes, view, other, names),
    isBefore ? null : compactedText(view.call),
    place,
  );
}

/**
 * The pieces of a run, each on its own.
 * @param {Change} run
 * @returns {Change[]}
 */
function pieces(run) {
  const place = (/** @type {number | null} */ first, /** @type {number} */ at) => (first === null ? null : first + at);
  return Array.from({ length: run.count }, (_, at) => ({
    ...run,
    old: place(run.old, at),
    new: place(run.new, at),
    count: 0,
  }));
}

/**
 * That plain's list would not be the host's any more.
 * @param {CallView["call"]} call
 */
function compactedText({ size }) {
  return size === null || size.plainFrom === null
    ? null
    : element(
        "p",
        { class: "notice" },
        "The plain host would have compacted before: a summary would stand in the place of its older messages. What a model would have written there is not known; it counts as 2,000 tokens.",
      );
}

/**
 * What changed, in sum.
 * @param {Change[]} changes
 * @param {CallView} view
 * @param {Comparison} other
 * @param {{ [fate: string]: string }} names
 */
function sumLine(changes, view, other, names) {
  const found = sums(changes, view.messages, other);
  const kept = found.get("kept");
  const { size, sentTokens } = view.call;
  const isOfPlain = names === PLAIN_FATES && size !== null;
  const [from, to] = isOfPlain ? [size.plain, size.sent] : [other.tokens, sentTokens ?? 0];
  const chips = [...found].flatMap(([fate, { count, tokens, was }]) =>
    fate === "kept"
      ? []
      : [
          element(
            "span",
            { class: `chip fate ${fate}` },
            `${whole(count)} ${names[fate]}, ${was > 0 ? `${shortCount(was)} → ` : ""}${shortCount(tokens)} tokens`,
          ),
        ],
  );
  return element(
    "div",
    { class: "sum-line" },
    element("strong", {}, `${shortCount(from)} → ${shortCount(to)} tokens`),
    isOfPlain ? element("span", { class: "faint" }, "with system prompt and tools") : null,
    ...chips,
    element(
      "span",
      { class: "faint" },
      kept === undefined ? "Nothing is the same." : `${whole(kept.count)} the same, ${shortCount(kept.tokens)} tokens`,
    ),
  );
}

/**
 * How system prompt and tools differ from those of the call before: they stand in front of all messages.
 * @param {CallView["promptChange"]} change
 */
export function promptChangeNode(change) {
  if (change === null) {
    return null;
  }
  const { text, added, removed, changed } = change;
  /** @type {[string, string[]][]} */
  const lists = [
    ["New tools", added],
    ["Tools that are gone", removed],
    ["Tools that changed", changed],
  ];
  return element(
    "article",
    { class: "message prompt changed" },
    element(
      "div",
      { class: "message-head" },
      element("strong", { class: "speaker" }, "system prompt and tools"),
      element("span", { class: "chip fate changed" }, FATES.changed),
    ),
    element("p", { class: "why" }, "They stand in front of all messages: no cache of the call before counts."),
    lists.map(([name, names]) => (names.length === 0 ? null : element("p", {}, `${name}: ${names.join(", ")}`))),
    text === null ? null : difference(text),
  );
}

/** @param {CallView["call"]} call */
export function promptPanel({ systemPrompt, tools, promptTokens }) {
  const list = Array.isArray(tools) ? tools : [];
  return element(
    "div",
    { class: "fill" },
    promptTokens === null ? null : element("p", { class: "faint" }, `${counted(promptTokens, "token")} together.`),
    element("h2", {}, "System prompt"),
    systemPrompt === null
      ? element("p", { class: "faint" }, "There was none.")
      : longText(systemPrompt, { label: "the system prompt" }),
    element("h2", {}, list.length === 0 ? "Tools" : counted(list.length, "tool")),
    list.length > 0
      ? list.map(toolNode)
      : tools === null || tools === undefined
        ? element("p", { class: "faint" }, "None are known.")
        : longText(JSON.stringify(tools, null, 2), { label: "the tools" }),
  );
}

/** @param {unknown} tool */
function toolNode(tool) {
  const { name, description } = /** @type {{ name?: unknown, description?: unknown }} */ (tool ?? {});
  const body = element("div", {});
  const details = element(
    "details",
    {
      class: "tool",
      ontoggle: () => {
        if (details.open && body.firstChild === null) {
          body.append(longText(JSON.stringify(tool, null, 2) ?? "", { label: String(name) }));
        }
      },
    },
    element(
      "summary",
      {},
      element("strong", {}, String(name ?? "tool")),
      " ",
      element("span", { class: "faint" }, String(description ?? "").slice(0, 160)),
    ),
    body,
  );
  return details;
}

/** @param {Given} given */
export function payloadPanel({ context, session, call, view }) {
  const { payload } = view.call;
  if (payload === null) {
    return element("p", { class: "empty" }, "The host did not hand over the request in the provider’s format.");
  }
  const { messages } = payload;
  const hash = element(
    "p",
    {},
    "SHA-256 of the request in the provider’s format: ",
    element("code", { class: "hash" }, payload.hash),
  );
  if (messages === null) {
    return element(
      "div",
      { class: "fill" },
      hash,
      element("p", { class: "faint" }, "No other extension changed the messages: they went out as sent."),
    );
  }
  const list = chunks({
    label: "Messages of the payload",
    count: messages.length,
    signal: context.signal,
    height: () => 160,
    build: (at) =>
      messageCard(messages[at], { at, session, load: () => context.source.message(session, call, at, "payload") }),
  });
  return element(
    "div",
    { class: "fill" },
    hash,
    element("p", {}, "Another extension changed the messages after Palimpsest:"),
    list.node,
  );
}
