// Writing to the terminal or a pipe. A pipe gets every byte; on a terminal no text but ours can do more than be read. If the reader
// goes away, the program ends quietly, as other tools do; if there is no room, it says so in one line.
import { randomUUID } from "node:crypto";
import { getSystemErrorMap, styleText } from "node:util";
import { harmless } from "../../lib/terminal.js";

/** Stands for the escape character of our own styles until they are written: nobody who wrote a text can know it. */
const ownEscape = `<${randomUUID()}>`;

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (/** @type {NodeJS.ErrnoException} */ { code, errno, message }) => {
    if (code === "EPIPE") {
      process.exit();
    }
    const [, why] = getSystemErrorMap().get(errno ?? 0) ?? [code, message];
    process.stderr.write(`palimpsest: the output cannot be written: ${why}\n`);
    process.exit(1);
  });
}

/**
 * Writes text, into a pipe or file unchanged; resolves when it is written.
 * @param {string} text
 * @returns {Promise<void>}
 */
export function write(text) {
  return writeTo(process.stdout, text);
}

/**
 * Writes text for people to stderr: errors, progress.
 * @param {string} text
 * @returns {Promise<void>}
 */
export function writeError(text) {
  return writeTo(process.stderr, text);
}

/**
 * Tells a person that a command found nothing; other tools see that there is no output.
 * @param {string} text
 */
export async function noteNothing(text) {
  if (isTerminal()) {
    await writeError(`${text}\n`);
  }
}

/**
 * Writes a JSON document.
 * @param {unknown} document
 */
export function writeJson(document) {
  return write(`${JSON.stringify(document, null, 2)}\n`);
}

/**
 * Writes a JSON document with one list, as its pages come.
 * @param {string} name the list's
 * @param {AsyncIterable<unknown[]>} pages
 */
export async function writeJsonList(name, pages) {
  // Nothing before the first page: an error in its place is a document too.
  const begin = `{\n  ${JSON.stringify(name)}: [`;
  let before = begin;
  for await (const page of pages) {
    for (const element of page) {
      await write(`${before}\n    ${JSON.stringify(element, null, 2).replaceAll("\n", "\n    ")}`);
      before = ",";
    }
  }
  await write(before === begin ? `${begin}]\n}\n` : "\n  ]\n}\n");
}

/**
 * Text in a style, if stdout is a terminal and NO_COLOR is not set.
 * @param {Parameters<typeof styleText>[0]} style
 * @param {string} text
 */
export function styled(style, text) {
  const [begin, end] = styleText(style, "\0", { stream: process.stdout }).replaceAll("\u001b", ownEscape).split("\0");
  return `${begin}${text}${end}`;
}

/** Whether a person reads along. */
export function isTerminal() {
  return process.stdout.isTTY === true;
}

/**
 * @param {NodeJS.WriteStream} stream
 * @param {string} text
 * @returns {Promise<void>}
 */
function writeTo(stream, text) {
  const shown = (stream.isTTY ? harmless(text) : text).replaceAll(ownEscape, "\u001b");
  return shown === "" ? Promise.resolve() : new Promise((done) => stream.write(shown, () => done()));
}
