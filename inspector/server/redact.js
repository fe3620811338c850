// Takes secrets out of what a page is to carry, by the rules of the store. A line that holds one is known again wherever it stands. Must not
// change what holds none.
import { withoutSecrets } from "../../index.js";

/** Levels to which JSON inside of strings is searched. */
const mostNesting = 8;
/** Characters of a line that is known again. */
const knownCharacters = 12;
/** Characters of a value that its key may give away. */
const shortest = 12;
const longest = 512;

export class Redaction {
  constructor() {
    /** Lines that held a secret, as they are shown. @type {Map<string, string>} */
    this.lines = new Map();
    /** @type {Map<string, string>} */
    this.known = new Map();
    this.isSettled = false;
  }

  /** From here on only lines that are known by now are replaced. */
  settle() {
    this.isSettled = true;
  }

  /**
   * A text without its secrets.
   * @param {string} text
   */
  async text(text) {
    if (this.isSettled) {
      return this.knownLines(text);
    }
    const found = this.known.get(text);
    if (found !== undefined) {
      return found;
    }
    const clean = await withoutSecrets(text);
    this.known.set(text, clean);
    const [before, after] = [text.split("\n"), clean.split("\n")];
    for (const [at, line] of before.length === after.length ? before.entries() : []) {
      if (line !== after[at] && line.trim().length >= knownCharacters) {
        this.lines.set(line.trim(), after[at].trim());
      }
    }
    return clean;
  }

  /**
   * A unified difference: the signs before its lines must not hide a secret of several.
   * @param {string} text
   */
  async diff(text) {
    const lines = text.split("\n");
    const bodies = (await this.text(lines.map((line) => line.slice(1)).join("\n"))).split("\n");
    const clean =
      bodies.length === lines.length ? lines.map((line, at) => line.slice(0, 1) + bodies[at]).join("\n") : text;
    return this.text(clean);
  }

  /**
   * JSON, in its strings; other text as a whole.
   * @param {string} json
   */
  async json(json) {
    const value = parsed(json);
    return value === undefined ? this.text(json) : this.same(json, value, await this.value(value));
  }

  /**
   * Any value of JSON, in its strings.
   * @template T
   * @param {T} value
   * @param {string | null} [key]
   * @returns {Promise<T>}
   */
  async value(value, key = null, nesting = mostNesting) {
    if (typeof value === "string") {
      return /** @type {any} */ (await this.string(value, key, nesting));
    }
    if (typeof value !== "object" || value === null) {
      return value;
    }
    const isList = Array.isArray(value);
    const entries = await Promise.all(
      Object.entries(value).map(async ([name, member]) => [
        name,
        await this.value(member, isList ? key : name, nesting),
      ]),
    );
    return isList ? /** @type {any} */ (entries.map(([, member]) => member)) : Object.fromEntries(entries);
  }

  /**
   * @param {string} text
   * @param {string | null} key
   * @param {number} nesting
   * @returns {Promise<string>}
   */
  async string(text, key, nesting) {
    const nested = nesting > 0 && /^\s*[{[]/.test(text) ? parsed(text) : undefined;
    if (nested !== undefined) {
      return this.same(text, nested, await this.value(nested, null, nesting - 1));
    }
    const clean = await this.text(text);
    const mayBeValue = clean === text && text.length >= shortest && text.length <= longest && !/\s/.test(text);
    if (key === null || !mayBeValue || this.isSettled) {
      return clean;
    }
    const assigned = await withoutSecrets(`${key}=${text}`);
    return assigned === `${key}=${text}` ? text : "[redacted:assignment]";
  }

  /**
   * @param {string} json
   * @param {unknown} before
   * @param {unknown} after
   */
  same(json, before, after) {
    const written = JSON.stringify(after);
    return written === JSON.stringify(before) ? json : written;
  }

  /**
   * A part of a text must not show what the whole does not.
   * @param {string} text
   */
  knownLines(text) {
    if (this.lines.size === 0) {
      return text;
    }
    const shown = text.split("\n").map((line) => {
      const known = this.lines.get(line.trim());
      return known === undefined ? line : line.replace(line.trim(), () => known);
    });
    return shown.join("\n");
  }
}

/** @param {string} json */
function parsed(json) {
  try {
    const value = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
