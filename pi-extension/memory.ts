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
import { cut } from "../lib/words.js";
import { loadAddon, type Memory, type MemoryFlush, once } from "./addon.ts";
import { createFailures, type Failures, type openExtensionLog } from "./failures.ts";
import { modelOf } from "./observe.ts";
import type { SessionLife } from "./session.ts";

const loadCapture = once(() => import("./capture.ts"));

/** How much of an entry a notice shows. */
const mostCharacters = 60;

/** Name of Pi's option that starts without memory in the system prompt. */
export const memoryFlag = "no-memory";

/** The memory of one Pi. */
export class MemoryLife {
  readonly #pi: ExtensionAPI;
  readonly #agentDir: string;
  readonly #life: SessionLife;
  readonly #log: ReturnType<typeof openExtensionLog>;
  #failures: Failures | undefined;
  #memory: Memory | undefined;
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
    this.#memory = undefined;
    this.#text = undefined;
    this.#chosen = undefined;
    this.#capturedAt = Date.now();
  }

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

  /** The memory of the session of `ctx`. Rejects with the addon's errors. */
  async open(ctx: ExtensionContext): Promise<Memory> {
    if (this.#memory === undefined) {
      const { openMemory } = await loadAddon();
      const places = { agentDir: this.#agentDir, project: ctx.cwd, trusted: ctx.isProjectTrusted() };
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
    try {
      const current = this.#life.current;
      await current?.usage.warmed(ctx);
      const section =
        current === undefined
          ? await memory.section()
          : await current.session.memorySection(memory, { model: modelOf(ctx) });
      this.#text = section?.text;
    } catch (error) {
      await this.#failures?.report("memory in the system prompt stays as it was", error);
    }
    if (this.#text !== undefined) {
      // Another extension may have a memory of its own.
      const { sections } = event.systemPromptOptions;
      sections.memory = sections.memory ? `${sections.memory}\n\n${this.#text}` : this.#text;
    }
  }

  /** A tool is about to run: what others changed in memory is told apart from what it writes there. */
  async writes({ toolName, input }: ToolCallEvent, ctx: ExtensionContext): Promise<void> {
    if (this.#isWrittenBy(toolName, input, ctx)) {
      await this.#changed();
    }
  }

  /** A tool ran. */
  async wrote({ toolName, input, toolCallId }: ToolResultEvent, ctx: ExtensionContext): Promise<void> {
    if (this.#isWrittenBy(toolName, input, ctx)) {
      await this.#changed(toolCallId);
    }
  }

  /** Has the model that the user named, if any, propose what to remember of what was said since the last time. */
  async capture(ctx: ExtensionContext, deadlineMs: number): Promise<void> {
    try {
      const memory = await this.#opened(ctx);
      const model = (await memory?.captureModel()) ?? undefined;
      if (memory === undefined || model === undefined) {
        return;
      }
      const since = this.#capturedAt;
      this.#capturedAt = Date.now();
      const { propose } = await loadCapture();
      const proposed = await propose(memory, model, ctx, since, deadlineMs);
      if (proposed > 0) {
        const what = proposed === 1 ? "an entry is proposed" : `${proposed} entries are proposed`;
        this.#failures?.farewell(`${what} for memory: \`/memory flush\` shows what waits for your word`);
      }
    } catch (error) {
      await this.#failures?.report("nothing was proposed for memory", error);
    }
  }

  /** A tool ran: it may have read memory, or written it. */
  async ran({ toolName, input, isError }: ToolResultEvent, ctx: ExtensionContext): Promise<void> {
    const isStored = this.#life.current !== undefined;
    await this.#report((memory) => memory.observe({ toolName, args: input, cwd: ctx.cwd, isError, isStored }));
  }

  /** Pi compacted the conversation. */
  async compacted(): Promise<void> {
    await this.#report((memory) => memory.compacted());
  }

  /** Why a call must not run: it would put a secret into a memory file. */
  async refuses({ toolName, input }: ToolCallEvent, ctx: ExtensionContext) {
    try {
      const memory = await this.#opened(ctx);
      const reason = await memory?.checkWrite(toolName, input, ctx.cwd);
      return typeof reason === "string" ? { block: true, reason } : undefined;
    } catch (error) {
      // An error from this handler would block the tool.
      await this.#failures?.report("a write was not checked for secrets", error);
      return undefined;
    }
  }

  /** What a tool's result shall say besides: what the checks found in the memory files that it wrote. */
  async explained({ toolName, input, isError }: ToolResultEvent, ctx: ExtensionContext): Promise<string | undefined> {
    if (isError) {
      return undefined;
    }
    try {
      const memory = await this.#opened(ctx);
      return (await memory?.explainWrite(toolName, input, ctx.cwd)) ?? undefined;
    } catch (error) {
      await this.#failures?.report("what a tool wrote into memory was not checked", error);
      return undefined;
    }
  }

  /** Writes what waits; no tool of this Pi writes the same files meanwhile. Rejects with the addon's errors. */
  async flush(ctx: ExtensionContext): Promise<MemoryFlush[]> {
    const memory = await this.open(ctx);
    const files = (await memory.waiting()).flatMap((waiting) => waiting.files);
    const flush = files.reduceRight(
      (next, file) => () => withFileMutationQueue(file, next),
      () => memory.flush(),
    );
    return flush();
  }

  /** Writes what waits, of an earlier session or, at the `end`, of this one, and tells what of it is not written. */
  async settle(ctx: ExtensionContext, when: "start" | "end"): Promise<void> {
    try {
      const memory = await this.#opened(ctx);
      if ((await memory?.waiting())?.some(({ interrupted, files }) => interrupted || files.length > 0)) {
        for (const line of notWritten(await this.flush(ctx))) {
          (when === "end" ? this.#failures?.farewell : this.#failures?.notice)?.(line);
        }
      }
      if (when === "start") {
        // Nobody waits for it: a large file takes a while.
        void this.#warnOfSecrets(memory);
      }
    } catch (error) {
      await this.#failures?.report("memory that waits was not written", error);
    }
    if (when === "end") {
      await this.#report((memory) => memory.ended());
    }
  }

  /** Tells memory what happened, for its traces. */
  async #report(what: (memory: Memory) => Promise<void>): Promise<void> {
    if (this.#memory !== undefined) {
      await what(this.#memory).catch((error: unknown) => this.#failures?.report("memory was not told", error));
    }
  }

  /** Tells of secrets that stand in memory files: whoever wrote them there did so by hand, or by a command. */
  async #warnOfSecrets(memory: Memory | undefined): Promise<void> {
    try {
      for (const { code, path, problem } of (await memory?.check()) ?? []) {
        if (code === "SECRET") {
          this.#failures?.notice(`${path}, ${problem}`);
        }
      }
    } catch (error) {
      await this.#failures?.report("memory was not checked", error);
    }
  }

  #isWrittenBy(toolName: string, input: unknown, ctx: ExtensionContext): boolean {
    try {
      return this.#memory?.isWrittenBy(toolName, input, ctx.cwd) ?? false;
    } catch {
      // No arguments of a tool that is known.
      return false;
    }
  }

  async #changed(toolCallId?: string): Promise<void> {
    const current = this.#life.current;
    if (this.#memory === undefined || current === undefined) {
      return;
    }
    try {
      await current.session.memoryChanged(this.#memory, toolCallId);
    } catch (error) {
      await this.#failures?.report("the model is not told what changed in memory", error);
    }
  }
}

/** What a person should know of a flush that they did not ask for: one line for each entry that is not written. */
function notWritten(flushed: MemoryFlush[]): string[] {
  return flushed.flatMap(({ scope, refused, held, failed, lost }) => [
    ...(failed === null ? [] : [`nothing was written into the ${scope} memory: ${failed.words}`]),
    ...refused.map(({ text, reason }) => `"${cut(text, mostCharacters)}" is not remembered: ${reason}`),
    ...held.map(({ text, reason }) => `"${cut(text, mostCharacters)}" waits to be remembered: ${reason}`),
    ...lost.map((id) => `what \`${id}\` should have written into the ${scope} memory is lost: its journal is damaged`),
  ]);
}
