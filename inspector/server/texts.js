// Long texts on their way to the page: cut for lists, and whole in pieces. Knows no store.

/** @import { ServerResponse } from "node:http" */

/** Characters of a string, entries of a list and depth of a value that a list of messages shows. */
const shownCharacters = 2_000;
const shownEntries = 500;
const shownDepth = 32;

/** Characters of a text that are encoded and sent at a time. */
const pieceCharacters = 1 << 18;

/**
 * The start of a text, which splits no pair of surrogates.
 * @param {string} text
 * @param {number} most characters
 */
export function startOf(text, most) {
  if (text.length <= most) {
    return text;
  }
  const isPair = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(most - 1, most + 1));
  return text.slice(0, isPair ? most - 1 : most);
}

/**
 * A message as a list shows it.
 * @param {string} json
 * @returns {{ message: unknown, length: number, cut: boolean }}
 */
export function shownMessage(json) {
  let isCut = false;
  /** @type {(value: unknown, depth: number) => unknown} */
  const cut = (value, depth) => {
    if (typeof value === "string") {
      isCut ||= value.length > shownCharacters;
      return startOf(value, shownCharacters);
    }
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if (depth === shownDepth) {
      isCut = true;
      return null;
    }
    const entries = Object.entries(value);
    isCut ||= entries.length > shownEntries;
    const shown = entries.slice(0, shownEntries).map(([key, member]) => [startOf(key, 200), cut(member, depth + 1)]);
    return Array.isArray(value) ? shown.map(([, member]) => member) : Object.fromEntries(shown);
  };
  const message = cut(JSON.parse(json), 0);
  return { message, length: json.length, cut: isCut };
}

/**
 * Sends a text whole, as nothing but text, as fast as it is taken.
 * @param {ServerResponse} response
 * @param {{ [name: string]: string }} headers
 * @param {string} text
 */
export async function sendText(response, headers, text) {
  response.writeHead(200, {
    ...headers,
    "content-type": "text/plain; charset=utf-8",
    "content-disposition": 'inline; filename="palimpsest.txt"',
  });
  for (let from = 0; from < text.length && !response.destroyed; ) {
    const piece = startOf(text.slice(from, from + pieceCharacters + 1), pieceCharacters);
    from += piece.length;
    if (!response.write(piece)) {
      await new Promise((resolve) => {
        response.once("drain", resolve);
        response.once("close", resolve);
      });
    }
  }
  response.end();
}
