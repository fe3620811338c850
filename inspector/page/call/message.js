// A message of a request: who speaks, why it stands as it does, what it costs, its text; its exact JSON on demand.

import { shortCount } from "../../../lib/figures.js";
import { name as spelt } from "../../../lib/terminal.js";
import { difference } from "../elements/difference.js";
import { button, element } from "../elements/dom.js";
import { longText } from "../elements/long-text.js";
import { cost, counted, percent, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { blockOf, mayBeCut, partsOf, roleOf, speakerOf } from "./parts.js";
import { kindOf, sinceText, WAYS, wayOf, whyText } from "./why.js";

/** @typedef {import("../../protocol.js").MessageView} MessageView */
/** @typedef {import("./why.js").PieceCost} PieceCost */
/**
 * Where a message belongs. `load`: its whole JSON. `fate`: what became of it, beside another request. `price`: asked when it is made.
 * `other`: what stands below, such as the same message of another request.
 * @typedef {{
 *   at: number,
 *   session: string,
 *   load: () => Promise<string>,
 *   price?: () => HTMLElement | null,
 *   fate?: { name: string, words: string, label: string, diff: string | null } | null,
 *   hasText?: boolean,
 *   other?: HTMLElement | null,
 * }} Place
 */

/** Characters that name a line or a note: the whole stands in the message. */
const lineCharacters = 100;

/**
 * @param {Omit<MessageView, "about"> & { about?: MessageView["about"] }} view
 * @param {Place} place
 */
export function messageCard({ message, cut, length, about }, place) {
  const { at, load, fate = null, hasText = true } = place;
  const kind = about === undefined ? "person" : kindOf(about, roleOf(message));
  const way = about === undefined ? "given" : wayOf(about);
  const name = `message ${at + 1}`;
  const head = element(
    "div",
    { class: "message-head" },
    element("span", { class: "number", title: `Message ${at + 1} of the request` }, String(at + 1)),
    element("strong", { class: "speaker" }, speakerOf(message)),
    about === undefined ? null : objectLinks(about, place.session),
    fate === null ? null : element("span", { class: `chip fate ${fate.name}` }, fate.label),
    way === "given" ? null : element("span", { class: `chip way ${way}` }, about?.withheld ?? WAYS[way]),
    element("span", { class: "grow" }),
    about === undefined ? null : element("span", { class: "figure" }, counted(about.tokens, "token")),
    place.price?.(),
    element("span", { class: "exact" }, exactButton(name, length, load)),
  );
  return element(
    "article",
    {
      class: `message ${kind} ${fate?.name ?? ""}`,
      role: "listitem",
      tabindex: "-1",
      "aria-label": name,
      "data-message": at,
    },
    head,
    fate?.words ? element("p", { class: "why" }, `${fate.words}.`) : null,
    about === undefined ? null : whyNodes(about, way),
    fate?.diff ? difference(fate.diff) : hasText ? textNodes(message, cut, load, name) : null,
    place.other,
  );
}

/**
 * What was never anything but given needs no words.
 * @param {MessageView["about"]} about
 * @param {string} way
 */
function whyNodes(about, way) {
  const why = way === "given" && about.sinceCall === null ? null : element("p", { class: "why" }, whyText(about));
  const notes = about.notes.map((note) =>
    element("li", {}, "Note added: ", element("code", {}, oneLine(note, lineCharacters))),
  );
  const folds = about.folds.map((fold) =>
    element("li", {}, "Folded steps: ", element("code", {}, oneLine(fold.line, lineCharacters)), sinceText(fold)),
  );
  return [
    why,
    about.digest === null
      ? null
      : element("p", { class: "why" }, "Its hash as it went out: ", element("code", {}, about.digest)),
    notes.length + folds.length === 0 ? null : element("ul", { class: "additions" }, ...notes, ...folds),
  ];
}

/**
 * @param {MessageView["about"]} about
 * @param {string} session
 */
function objectLinks({ object, handle, fileHandle, path }, session) {
  const link = (/** @type {string} */ id, /** @type {string} */ name) =>
    element("a", { href: hashOf({ view: "object", id, options: { session } }) }, name);
  return element(
    "span",
    { class: "objects" },
    object === null ? null : link(object, handle ?? object.slice(0, 12)),
    fileHandle === null ? null : link(fileHandle, path === null ? fileHandle : `${fileHandle} ${spelt(path)}`),
  );
}

/**
 * The same message as it stood in another request, closed at first.
 * @param {string} title
 * @param {MessageView} view
 * @param {() => Promise<string>} load
 */
export function otherText(title, { message, cut }, load) {
  const details = element(
    "details",
    {
      class: "other",
      ontoggle: () => {
        if (details.open && details.childElementCount === 1) {
          details.append(...textNodes(message, cut, load, title));
        }
      },
    },
    element("summary", {}, title),
  );
  return details;
}

/**
 * @param {unknown} message
 * @param {boolean} isCut
 * @param {() => Promise<string>} load
 * @param {string} name
 */
function textNodes(message, isCut, load, name) {
  return partsOf(message).map(({ label, text }, at) => {
    const isPartCut = isCut && mayBeCut(blockOf(message, at));
    const whole = async () => partsOf(JSON.parse(await load()))[at]?.text ?? "";
    return element(
      "div",
      { class: `part ${label === null ? "" : "labelled"}` },
      label === null ? null : element("span", { class: "part-label" }, label),
      text === "" ? null : longText(text, { label: name, load: isPartCut ? whole : null }),
    );
  });
}

/**
 * Shows and hides the exact JSON.
 * @param {string} name
 * @param {number} length
 * @param {() => Promise<string>} load
 */
function exactButton(name, length, load) {
  const made = button(
    "JSON",
    () => {
      const card = made.closest("article");
      const open = card?.querySelector(".exact-json");
      if (open) {
        open.remove();
      } else {
        card?.append(
          element("div", { class: "exact-json" }, longText("", { label: `the JSON of ${name}`, load, open: true })),
        );
      }
      made.setAttribute("aria-expanded", String(!open));
    },
    {
      class: "plain",
      "aria-label": `Exact JSON of ${name}`,
      "aria-expanded": "false",
      title: `The exact JSON, ${whole(length)} characters`,
    },
  );
  return made;
}

/**
 * What a piece costs per call.
 * @param {PieceCost} piece
 * @param {number | null} usdPerMillion
 */
export function priceTexts(piece, usdPerMillion) {
  const value = usdPerMillion === null ? piece.cost : (piece.cost * usdPerMillion) / 1e6;
  const from =
    piece.cached >= 1
      ? "read from the cache"
      : piece.cached <= 0
        ? "not in the cache"
        : `${percent(piece.cached)} read from the cache`;
  return {
    text: cost(value, usdPerMillion !== null),
    title: `What it costs in this call: ${from}`,
    isCached: piece.cached >= 0.5,
  };
}

/**
 * A run of messages in one line, which opens it.
 * @param {number} count
 * @param {number} tokens
 * @param {string} words
 * @param {() => void} onopen
 */
export function runRow(count, tokens, words, onopen) {
  return element(
    "div",
    { class: "kept", role: "listitem", tabindex: "-1" },
    button(`${counted(count, "message")} ${words}, ${shortCount(tokens)} tokens`, onopen, { class: "plain" }),
  );
}
