// Long texts on their way to the page, whole, in pieces. Knows no store.
import { startOf } from "./shown.js";

/** @import { ServerResponse } from "node:http" */

/** Characters of a text that are encoded and sent at a time. */
const pieceCharacters = 1 << 18;

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
      await taken(response);
    }
  }
  response.end();
}

/**
 * Resolves when what was written has been taken, or nobody is there any more.
 * @param {ServerResponse} response
 * @returns {Promise<void>}
 */
function taken(response) {
  return new Promise((resolve) => {
    const goOn = () => {
      response.off("drain", goOn).off("close", goOn);
      resolve();
    };
    response.on("drain", goOn).on("close", goOn);
  });
}
