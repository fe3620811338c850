// What persons chose for conversations, and who else than an owner wrote in one: in a file of ours beside the log, since the
// store stays shut where a session is off. Decides nothing.
import { readFileSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe } from "../lib/failures.js";
import { Queue } from "../lib/queue.js";

/**
 * What a person chose for a conversation, by its name, or, in earlier builds, for a session, by its ID; and who else than an owner wrote
 * in one that counts as the owner's, as `Authority.strangerIn` says it.
 * @typedef {{ off?: boolean, memoryOff?: boolean, strangers?: string[] }} Choice
 */

/** Choices that are kept, the newest. */
const maxChoices = 1_000;

/** The choices in a file. */
export class Choices {
  #file;
  /** As they were last read or written: the host waits for no promise when it asks for our tools. @type {Record<string, Choice>} */
  #known;
  /** Those of them that could not be written. @type {Record<string, Choice>} */
  #unkept = {};
  #turns = new Queue();

  /** @param {string} file */
  constructor(file) {
    this.#file = file;
    this.#known = choicesIn(() => readFileSync(file, "utf8")) ?? {};
  }

  /** Whether one of these sessions and conversations is off, as far as is known without a look. @param {string[]} names */
  isOneOff(names) {
    return names.some((name) => this.#known[name]?.off === true);
  }

  /** What a person chose. @param {string} name of a session or conversation @returns {Promise<Choice>} */
  async of(name) {
    return (await this.#all())[name] ?? {};
  }

  /**
   * Takes what a person chose, and keeps it. Resolves to why it counts for this process only, if it could not be written.
   * @param {string} name of a session or conversation
   * @param {Choice} choice
   */
  take(name, choice) {
    return this.#turns.run(() => this.#keep(name, choice));
  }

  /** @param {string} name @param {Choice} choice */
  async #keep(name, choice) {
    const { [name]: known, ...others } = await this.#all();
    const kept = Object.entries(others).slice(1 - maxChoices);
    const all = Object.fromEntries([...kept, [name, { ...known, ...choice }]]);
    // Until it is in the file, that says something else.
    this.#known = all;
    this.#unkept = { ...this.#unkept, [name]: all[name] };
    try {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      const written = `${this.#file}.${process.pid}`;
      await writeFile(written, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
      await rename(written, this.#file);
      const later = Object.entries(this.#unkept).filter(([other, chosen]) => all[other] !== chosen);
      this.#unkept = Object.fromEntries(later);
      return undefined;
    } catch (error) {
      return `It holds until the gateway ends, since \`${this.#file}\` cannot be written: ${describe(error)}`;
    }
  }

  async #all() {
    const text = await readFile(this.#file, "utf8").catch(({ code }) => (code === "ENOENT" ? "{}" : ""));
    // What cannot be read says nothing else than before.
    this.#known = { ...(choicesIn(() => text) ?? this.#known), ...this.#unkept };
    return this.#known;
  }
}

/** Undefined where they cannot be read. @param {() => string} read the file @returns {Record<string, Choice> | undefined} */
function choicesIn(read) {
  try {
    return JSON.parse(read()) ?? {};
  } catch {
    return undefined;
  }
}
