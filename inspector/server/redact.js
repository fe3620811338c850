// Takes secrets out of what a page is to carry, by the rules by which `palimpsest export --redact` does: keys and tokens of known forms,
// private keys, passwords in addresses, values behind words such as `password`. What was found once is known again wherever it stands, also
// where a text was cut. Paths, and with them the name of a home folder, IDs and hashes stay, as in an archive. Must not change what holds no
// secret.
import { withoutSecrets } from "../../index.js";

/** Levels to which JSON inside of strings is searched. */
const mostNesting = 8;
/** Characters of a line, and of a secret, that is known again. */
const knownCharacters = 12;
/** Characters at the start or the end of a secret by which a piece of it is known. */
const pieceCharacters = 16;
/** Characters of a value that its key may give away. */
const shortest = 12;
const longest = 512;

export class Redaction {
  constructor() {
    /** Lines that held a secret, as they are shown. @type {Map<string, string>} */
    this.lines = new Map();
    /** Secrets, and what is shown instead. @type {Map<string, string>} */
    this.secrets = new Map();
    /** @type {Map<string, string>} */
    this.known = new Map();
    this.isSettled = false;
  }

  /** From here on only what is known by now is replaced. */
  settle() {
    this.isSettled = true;
  }

  /**
   * A text without its secrets.
   * @param {string} text
   */
  async text(text) {
    if (this.isSettled) {
      return this.withoutKnown(text);
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
        this.learn(line, after[at]);
      }
    }
    return clean;
  }

  /**
   * What stood in the places of the marks.
   * @param {string} line
   * @param {string} clean
   */
  learn(line, clean) {
    const parts = clean.split(mark);
    const between = parts.filter((_, at) => at % 2 === 0).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    const found = new RegExp(`^${between.join("(.+?)")}$`, "s").exec(line) ?? [];
    for (const [at, span] of found.slice(1).entries()) {
      // Of a key in one line, each part; what frames it is in all keys.
      for (const secret of span.split(/-----[A-Z0-9 ]+-----|\\[nrt]|\s+/)) {
        if (isTelling(secret)) {
          this.secrets.set(secret, parts[2 * at + 1]);
        }
      }
    }
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
      return /** @type {any} */ (await (key === "diff" ? this.diff(value) : this.string(value, key, nesting)));
    }
    if (typeof value !== "object" || value === null) {
      return value;
    }
    const isList = Array.isArray(value);
    const entries = await Promise.all(
      Object.entries(value).map(async ([name, member]) => [
        this.isSettled ? this.withoutKnown(name) : name,
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
    if (assigned === `${key}=${text}`) {
      return text;
    }
    if (isTelling(text)) {
      this.secrets.set(text, "[redacted:assignment]");
    }
    return "[redacted:assignment]";
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
   * A text without what is known: a part of a text must not show what the whole does not.
   * @param {string} text
   */
  withoutKnown(text) {
    if (this.lines.size + this.secrets.size === 0) {
      return text;
    }
    const lines = text.split("\n").map((line) => {
      const known = this.lines.get(line.trim());
      return known === undefined ? line : line.replace(line.trim(), () => known);
    });
    return without(lines.join("\n"), this.secrets);
  }
}

/** What stands in the place of a secret. */
const mark = /(\[redacted:[\w-]+\])/;

/**
 * Whether a secret can be nothing else where it stands: no word.
 * @param {string} secret
 */
function isTelling(secret) {
  return secret.length >= knownCharacters && /\d/.test(secret) && /[a-z]/i.test(secret);
}

/**
 * A text without these secrets, and without a piece of one that shows its start or its end. All are looked for in the text as it was: where
 * one holds a part of another, taking out the part would hide the rest of the other. So their order, which is by chance, changes nothing.
 * @param {string} text
 * @param {Map<string, string>} secrets with what is shown instead
 */
function without(text, secrets) {
  const spans = [...secrets].flatMap(([secret, instead]) => spansOf(text, secret, instead));
  spans.sort((one, other) => one.from - other.from || other.to - one.to || (one.instead < other.instead ? -1 : 1));
  let shown = "";
  let at = 0;
  for (const { from, to, instead } of spans) {
    if (from >= at) {
      shown += text.slice(at, from) + instead;
    }
    at = Math.max(at, to);
  }
  return shown + text.slice(at);
}

/**
 * Where the start or the end of a secret stands, as far as the text goes on as the secret does.
 * @param {string} text
 * @param {string} secret
 * @param {string} instead
 */
function spansOf(text, secret, instead) {
  const size = Math.min(pieceCharacters, secret.length);
  const [start, end] = [secret.slice(0, size), secret.slice(-size)];
  const spans = [];
  for (let from = text.indexOf(start); from >= 0; from = text.indexOf(start, from + 1)) {
    let length = size;
    while (length < secret.length && text[from + length] === secret[length]) {
      length += 1;
    }
    spans.push({ from, to: from + length, instead });
  }
  for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, at + 1)) {
    let length = size;
    while (length < secret.length && text[at + size - length - 1] === secret[secret.length - length - 1]) {
      length += 1;
    }
    spans.push({ from: at + size - length, to: at + size, instead });
  }
  return spans;
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
