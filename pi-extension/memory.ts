// Memory behind a Pi: what its system prompt says of memory, and what tools write there. It works without an open session, too, where
// Palimpsest is off or its store is broken. Decides nothing about what stands in the prompt, and none of it rejects.
import {
  type BeforeAgentStartEvent,
  type ExtensionAPI,
  type ExtensionContext,
  type ToolCallEvent,
  type ToolResultEvent,
  withFileMutationQueue,
} from "@earendil-works/pi-coding-agent";
import { afterTool, beforeTool, type Guarded } from "../lib/memory-tools.js";
import { name } from "../lib/terminal.js";
import { oneLine } from "../lib/words.js";
import { loadAddon, type Memory, type MemoryFlush, once } from "./addon.ts";
import { createFailures, type Failures, type openExtensionLog } from "./failures.ts";
import { capturedUntil, remember } from "./live.ts";
import { modelOf } from "./observe.ts";
import type { SessionLife } from "./session.ts";
import { askTrust, trusted } from "./trust.ts";

const loadCapture = once(() => import("./capture.ts"));

/** How long a model may take to propose what to remember; at the end of a session a person waits. */
export const captureMs = { compaction: 120_000, end: 20_000, left: 120_000 };

/** How much of an entry a notice shows. */
const mostCharacters = 60;

/** Name of Pi's option that starts without memory in the system prompt. */
export const memoryFlag = "no-memory";

/** The memory of one Pi. */
export class MemoryLife {
  readonly #pi: ExtensionAPI;
  readonly #agentDir: string;
  readonly #life: SessionLife;
  #cwd = "";
  readonly #log: ReturnType<typeof openExtensionLog>;
  #failures: Failures | undefined;
  #memory: Memory | undefined;
  /** Resolves when what an earlier session left waiting is written. Never rejects. */
  #started: Promise<void> = Promise.resolve();
  /** The section that the model has: it stays where a new one cannot be made. */
  #text: string | undefined;
  /** What the person said in this session; undefined: nothing. */
  #chosen: boolean | undefined;
  /** What was said before is not looked at for entries. */
  #capturedAt = 0;

  constructor(pi: ExtensionAPI, agentDir: string, life: SessionLife, log: ReturnType<typeof openExtensionLog>) {
    this.#pi = pi;
    this.#agentDir = agentDir;
    this.#life = life;
    this.#log = log;
  }

  /** Starts with the session of `ctx`: its section is made at the first prompt. */
  begin(ctx: ExtensionContext): void {
    this.#failures = createFailures(this.#log, ctx);
    this.#cwd = ctx.cwd;
    this.#memory = undefined;
    this.#text = undefined;
    this.#chosen = undefined;
    this.#capturedAt = capturedUntil(ctx) ?? Date.now();
  }

  /** Asks whether the project's memory and settings are to be used, where nobody said so. Before the session opens, by these settings. */
  async askTrust(ctx: ExtensionContext): Promise<void> {
    if (this.#failures !== undefined) {
      await askTrust(this.#agentDir, ctx, this.#failures);
    }
  }

  /** Remembers what the person says of the project. Rejects with the addon's errors. */
  readonly say = async (isTrusted: boolean | null) => {
    const { trustProject } = await loadAddon();
    return trustProject({ agentDir: this.#agentDir, project: this.#cwd }, isTrusted);
  };

  /** Whether the model sees memory, as far as the person says here; `config.json` may say no as well. */
  get isOn(): boolean {
    return this.#chosen ?? this.#pi.getFlag(memoryFlag) !== true;
  }

  /** Shows the model memory, or no longer, in this session. Nothing is written. */
  turn(on: boolean): void {
    this.#chosen = on;
  }

  /** The memory of this session; undefined until it is asked for. */
  get opened(): Memory | undefined {
    return this.#memory;
  }

  /** The memory of the session of `ctx`, in which what an earlier one left is written. Rejects with the addon's errors. */
  async open(ctx: ExtensionContext): Promise<Memory> {
    await this.#started;
    return this.#open(ctx);
  }

  async #open(ctx: ExtensionContext): Promise<Memory> {
    if (this.#memory === undefined) {
      const { openMemory } = await loadAddon();
      const places = { agentDir: this.#agentDir, project: ctx.cwd, trusted: trusted(ctx) };
      this.#memory ??= openMemory(places, this.#life.current?.store);
    }
    return this.#memory;
  }

  /** The same; undefined where the addon does not load, which the session has reported. */
  #opened(ctx: ExtensionContext): Promise<Memory | undefined> {
    return this.open(ctx).catch(() => undefined);
  }

  /** Puts the section into the system prompt. Pi makes that anew for each prompt, and takes away what is not set again. */
  async inject(event: BeforeAgentStartEvent, ctx: ExtensionContext): Promise<void> {
    const memory = this.isOn ? await this.#opened(ctx) : undefined;
    if (memory === undefined) {
      return;
    }
    await this.#guarded("memory in the system prompt stays as it was", async () => {
      const current = this.#life.current;
      await current?.usage.warmed(ctx);
      const section =
        current === undefined
          ? await memory.section()
          : await current.session.memorySection(memory, { model: modelOf(ctx), tools: this.#tools() });
      this.#text = section?.text;
    });
    if (this.#text !== undefined) {
      // Another extension may have a memory of its own.
      const { sections } = event.systemPromptOptions;
      sections.memory = sections.memory ? `${sections.memory}\n\n${this.#text}` : this.#text;
    }
  }

  /** The tools that the model has, by which it may ask memory. */
  #tools(): { name: string }[] {
    return this.#pi.getActiveTools().map((name) => ({ name }));
  }

  /** A tool is about to run. Resolves to what keeps it from that, if anything does. */
  async refusal({ toolName, input }: ToolCallEvent, ctx: ExtensionContext) {
    const behind = await this.#behind(ctx);
    const reason = behind && (await beforeTool(behind, { toolName, args: input, cwd: ctx.cwd }));
    return typeof reason === "string" ? { block: true, reason } : undefined;
  }

  /** A tool ran. Resolves to what its result shall say besides. */
  async ran({ toolName, toolCallId, input, isError }: ToolResultEvent, ctx: ExtensionContext) {
    const behind = await this.#behind(ctx);
    const call = { toolName, toolCallId, args: input, cwd: ctx.cwd, isError };
    return (behind && (await afterTool(behind, call))) ?? undefined;
  }

  async #behind(ctx: ExtensionContext) {
    const memory = await this.#opened(ctx);
    const guarded: Guarded = (what, work) => this.#guarded(what, work);
    return memory && { memory, session: this.#life.current?.session, guarded };
  }

  /** Has the model that the user named, if any, propose what to remember of what was said since the last time. */
  async capture(ctx: ExtensionContext, deadlineMs: number): Promise<void> {
    await this.#guarded("nothing was proposed for memory", async () => {
      const memory = await this.#opened(ctx);
      const model = await memory?.captureModel();
      if (!memory || !model) {
        return;
      }
      const since = this.#capturedAt;
      this.#capturedAt = Date.now();
      const { propose } = await loadCapture();
      const proposed = await propose(memory, model, ctx, since, deadlineMs);
      remember(this.#pi, { captured: this.#capturedAt });
      if (proposed > 0) {
        const what = proposed === 1 ? "an entry is proposed" : `${proposed} entries are proposed`;
        this.#failures?.farewell(`${what} for memory: \`/memory waiting\` shows what waits for your decision`);
      }
    });
  }

  /** Looks at what a session that was killed left, which no end looked at, and notes from when on this one is to be looked at. */
  async #captureLeft(memory: Memory, ctx: ExtensionContext): Promise<void> {
    if (capturedUntil(ctx) !== undefined) {
      await this.capture(ctx, captureMs.left);
    } else if (await memory.captureModel().catch(() => null)) {
      remember(this.#pi, { captured: this.#capturedAt });
    }
  }

  /** Pi compacted the conversation. */
  async compacted(): Promise<void> {
    await this.#guarded("memory was not told of a compaction", async () => this.#memory?.compacted());
  }

  /** The session is open: writes what an earlier one left waiting. Whoever asks for memory waits for that, the start of Pi does not. */
  start(ctx: ExtensionContext): void {
    // In RPC mode a session starts twice.
    this.#started = this.#started.then(() => this.#start(ctx));
  }

  async #start(ctx: ExtensionContext): Promise<void> {
    const memory = await this.#open(ctx).catch(() => undefined);
    if (memory !== undefined) {
      await this.#settle(memory, (line) => this.#failures?.notice(line));
      // Nobody waits for these: a large file takes a while, and so does a model.
      void this.#warnOfDangers(memory);
      void this.#captureLeft(memory, ctx);
    }
  }

  /** The session ends: writes what waits, and tells what of it is not written. */
  async end(ctx: ExtensionContext): Promise<void> {
    const memory = await this.#opened(ctx);
    if (memory !== undefined) {
      await this.#settle(memory, (line) => this.#failures?.farewell(line));
      await this.#guarded("memory was not told of the end", () => memory.ended());
    }
  }

  /** Writes what waits; no tool of this Pi writes the same files meanwhile. Tells what of it is not written. */
  async #settle(memory: Memory, tell: (line: string) => void): Promise<void> {
    await this.#guarded("memory that waits was not written", async () => {
      const waiting = await memory.waiting();
      if (waiting.some(({ interrupted, files }) => interrupted || files.length > 0)) {
        const flush = waiting
          .flatMap(({ files }) => files)
          .reduceRight(
            (next, file) => () => withFileMutationQueue(file, next),
            () => memory.flush(),
          );
        notWritten(await flush()).map(tell);
      }
    });
  }

  /** Tells of what memory files hold that the model does not get as it is: whoever wrote it did so by hand, by a command, or elsewhere. */
  async #warnOfDangers(memory: Memory): Promise<void> {
    await this.#guarded("memory was not checked", async () => {
      for (const { code, path, problem } of await memory.check()) {
        if (dangers.has(code)) {
          this.#failures?.notice(`${name(path)}, ${problem}`);
        }
      }
    });
  }

  /** Does something that must not fail Pi. Resolves to undefined where it fails, which is reported. */
  async #guarded<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      await this.#failures?.report(what, error);
      return undefined;
    }
  }
}

/** Codes of what a person is told of at once: secrets, what they do not see, a merge that is not finished. */
const dangers = new Set(["SECRET", "HIDDEN_TEXT", "CONFLICT_MARKERS"]);

/** What a person should know of a flush that they did not ask for: one line for each entry that is not written. */
function notWritten(flushed: MemoryFlush[]): string[] {
  return flushed.flatMap(({ scope, refused, held, failed, lost }) => [
    ...(failed === null ? [] : [`nothing was written into the ${scope} memory: ${failed.words}`]),
    ...refused.map(({ text, reason }) => `"${oneLine(text, mostCharacters)}" is not remembered: ${reason}`),
    ...held.map(({ text, reason }) => `"${oneLine(text, mostCharacters)}" waits to be remembered: ${reason}`),
    ...lost.map((id) => `what \`${id}\` should have written into the ${scope} memory is lost: its journal is damaged`),
  ]);
}
