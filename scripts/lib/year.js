// Stores of many sessions: a recorded session is played once as a host would, and its archive is written again and again with other
// names, words and hashes (docs/archive-format.md), which takes no time. Must not measure.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSession, openStore } from "../../index.js";

/** @typedef {Record<string, any>} Line */
/** @typedef {{ role: string, content: unknown, toolCallId?: string }} Message */

const call = {
  systemPrompt: "system",
  tools: [],
  model: { provider: "anthropic", id: "model", contextWindow: 1_000_000, api: "anthropic-messages" },
};
/** Stands in the names of the session that is played and of its calls; each copy has a word of its own there. */
const word = "zeroxzero";
const everyWord = new RegExp(word, "g");
/** Copies that work in one folder. */
const ofOneFolder = 10;
/** Members of fields and items that hold what somebody said, or our words about it. */
const texts = [
  ["text", "thinking", "command", "pattern", "query", "description", "prompt", "content", "args_display", "code", "_i"],
  ["file_path", "filePath", "old_string", "new_string", "oldText", "newText", "patchText", "url"],
  ["brief", "last", "line", "folded"],
];
const said = new RegExp(`"(${texts.flat().join("|")})":"((?:[^"\\\\]|\\\\.)*)"`, "g");
const day = 86_400_000;

/**
 * Plays the messages as one session; returns the lines of its archive.
 * @param {Message[]} messages
 * @param {string} folder for files of the work
 * @returns {Promise<Line[]>}
 */
export async function played(messages, folder) {
  const path = join(folder, `${word}.sqlite`);
  const settings = { filesystemId: "bench", store: path };
  const store = await openStore({ path });
  const session = await openSession(store, { harness: "bench", sessionId: `session-${word}`, cwd: folder, settings });
  const named = messages.map((message) => withNames(structuredClone(message)));
  for (let length = 1; length <= named.length; length++) {
    if (length === named.length || named[length]?.role === "assistant") {
      await session.transformContext(/** @type {any} */ (named.slice(0, length)), call);
    }
  }
  await session.close();
  const archive = join(folder, "played.jsonl");
  await store.maintenance.exportArchive({ path: archive, compress: false });
  await store.close();
  const lines = readFileSync(archive, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

/** @param {any} message */
function withNames(message) {
  if (message.toolCallId) {
    message.toolCallId += word;
  }
  for (const block of Array.isArray(message.content) ? message.content : []) {
    if (block.type === "toolCall") {
      block.id += word;
    }
  }
  return message;
}

/**
 * Writes an archive of copies.
 * @param {Line[][]} sessions what was played
 * @param {{ from: number, to: number }} numbers of the copies
 * @param {string} path
 */
export async function writeCopies(sessions, { from, to }, path) {
  const out = createWriteStream(path);
  const sum = createHash("sha256");
  const contents = new Set();
  let lines = 0;
  const write = async (/** @type {Line} */ line) => {
    const text = `${JSON.stringify(line)}\n`;
    sum.update(text);
    lines += 1;
    if (!out.write(text)) {
      await once(out, "drain");
    }
  };
  const storeId = "01890000-0000-7000-8000-000000000001";
  await write({ ...sessions[0]?.[0], store_id: storeId });
  let tx = from * 100_000 + 1;
  for (let number = from; number < to; number++) {
    const copy = new Copy(number, storeId, tx, Date.now() - 400 * day + number * 600_000);
    for (const line of copy.lines(sessions[number % sessions.length] ?? [])) {
      // A content is written once.
      if (line.kind !== "content" || !contents.has(line.hash)) {
        await write(line);
      }
      if (line.kind === "content") {
        contents.add(line.hash);
      }
    }
    tx += copy.transactions + 1;
  }
  out.end(`${JSON.stringify({ kind: "end", lines, sha256: sum.digest("hex") })}\n`);
  await once(out, "finish");
}

/**
 * The name of a copy, of one length for all: an ID that ends in a number is then another one in each.
 * @param {number} number
 */
export function nameOf(number) {
  return number.toString(36).padStart(3, "0");
}

/** One session under another name, with other words and hashes. */
class Copy {
  transactions = 0;
  /** @type {Map<string, string>} hashes and IDs by those of the original */
  #names = new Map();
  /** @type {Map<string, string>} paths by those of the original */
  #paths = new Map();
  /** @type {Map<string, string>} texts by hash */
  #texts = new Map();
  /** @type {Map<string, string[]>} the running hashes of each list */
  #lists = new Map();

  /** @param {number} number @param {string} storeId @param {number} first @param {number} time */
  constructor(number, storeId, first, time) {
    this.number = number;
    this.storeId = storeId;
    this.first = first;
    this.time = time;
  }

  /** @param {Line[]} lines @returns {Generator<Line>} */
  *lines(lines) {
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at] ?? {};
      if (line.kind === "content") {
        yield this.#content(line);
      } else if (line.kind === "version") {
        const items = lines.slice(at + 1, at + 1 + (line.items?.add ?? 0));
        yield* this.#version(line, items);
        at += items.length;
      }
    }
  }

  /** @param {Line} line */
  #content(line) {
    const text = this.#words(line.text.replace(everyWord, nameOf(this.number)));
    const hash = sha(text);
    this.#names.set(line.hash, hash);
    this.#texts.set(hash, text);
    return { ...line, hash, text };
  }

  /** Words as this copy has them: else each text would count as a copy of the others. @param {string} text */
  #words(text) {
    const own = nameOf(this.number);
    // In JSON, a backslash and the letter after it are one.
    return text.replace(/(?<!\\)\p{L}{2,}/gu, `${own}$&`);
  }

  /** JSON with the copy's words where somebody said something. @param {string} json */
  #said(json) {
    return json.replace(said, (_, member, words) => `"${member}":"${this.#words(words)}"`);
  }

  /** @param {Line} line @param {Line[]} items */
  *#version(line, items) {
    const changed = this.#identity(line);
    this.transactions = Math.max(this.transactions, line.tx);
    const tx = this.first + line.tx;
    const fields = JSON.parse(this.#said(this.#json(JSON.stringify(line.fields))));
    const content = line.content && this.#names.get(line.content);
    /** @type {Line} */
    const payload = { ...fields, content: content ? this.#texts.get(content) : null };
    /** @type {Line[]} */
    const added = [];
    if (line.items) {
      const running = (this.#lists.get(changed.id) ?? []).slice(0, line.items.keep);
      for (const item of items) {
        const text = this.#said(this.#json(item.text));
        running.push(sha((running.at(-1) ?? sha("")) + text));
        added.push({ ...item, text, hash: running.at(-1) });
      }
      this.#lists.set(changed.id, running);
      payload.items = running.at(-1) ?? sha("");
      changed.items = { ...line.items, hash: payload.items };
    }
    if (line.additional) {
      changed.additional = JSON.parse(this.#json(JSON.stringify(line.additional)));
      payload.additional = changed.additional;
    }
    const contentHash = sha(canonical(payload));
    this.#names.set(line.content_hash, contentHash);
    const origin = { store_id: this.storeId, tx_id: tx, time: this.time + line.tx };
    yield { ...changed, tx, origin, fields, content: content ?? null, content_hash: contentHash };
    yield* added;
  }

  /** @param {Line} line @returns {Line} */
  #identity(line) {
    if (line.source === null) {
      const id = line.id.replace(everyWord, nameOf(this.number));
      return { ...line, id, identity_hash: sha(canonical({ id, type: line.type, source: null })) };
    }
    const path = `/folder-${Math.floor(this.number / ofOneFolder)}${line.source.path}`;
    this.#paths.set(JSON.stringify(line.source.path), JSON.stringify(path));
    const source = { ...line.source, path };
    const id = sha(canonical({ type: line.type, source }));
    this.#names.set(line.id, id);
    return { ...line, id, source, identity_hash: id };
  }

  /** JSON with the copy's names, hashes and paths. @param {string} text */
  #json(text) {
    let changed = text
      .replace(everyWord, nameOf(this.number))
      .replace(/\b[0-9a-f]{64}\b/g, (found) => this.#names.get(found) ?? found);
    for (const [before, after] of this.#paths) {
      changed = changed.replaceAll(before, after);
    }
    return changed;
  }
}

/** @param {string} text */
function sha(text) {
  return createHash("sha256").update(text).digest("hex");
}

/** Canonical JSON of what archives hold. @param {unknown} value @returns {string} */
function canonical(value) {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`;
}
