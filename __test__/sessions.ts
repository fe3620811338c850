// Shared by the addon's tests: stores and sessions that are closed when the test has finished, and messages.
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { Session as NativeSession } from "../binding.js";
import {
  type Message,
  openSession,
  openStore,
  type PalimpsestError,
  type Session,
  type SessionOptions,
  type Store,
} from "../index.js";
import { messageOf } from "../lib/long-texts.js";
import { pinnedNode, root } from "../scripts/setup.js";

/** Opens a store that is closed when the test has finished; in memory unless a path is given. */
export async function store(path = ":memory:"): Promise<Store> {
  const opened = await openStore({ path });
  onTestFinished(() => opened.close());
  return opened;
}

/** Opens a session, in a store of its own unless one is given; it is closed when the test has finished. */
export async function session(options: Partial<SessionOptions> = {}, inStore?: Store): Promise<Session> {
  const opened = await openSession(inStore ?? (await store()), { ...defaults, ...options });
  onTestFinished(() => opened.close());
  return opened;
}

/** Settings under which what else the machine does is no matter. */
export const patient = { deadlineSeconds: 60 };

export const defaults: SessionOptions = { harness: "test", sessionId: "s", cwd: tmpdir(), settings: patient };

/** Any value, where TypeScript would refuse it. */
// biome-ignore lint/suspicious/noExplicitAny: callers in JavaScript pass anything, and models too.
export const wrong = (value: unknown): any => value;

/** What a call rejects with. */
export async function rejection(call: () => Promise<unknown>): Promise<PalimpsestError> {
  // Not `await call()` alone: a function that returns promises must not throw.
  const promise = call();
  return promise.then(
    (value) => {
      throw new Error(`did not reject, but came to ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}

export function user(text: string, timestamp = 1): Message {
  return { role: "user", content: [{ type: "text", text }], timestamp };
}

/** A step: an assistant message with one call of `bash`, and its result. */
export function step(number: number, output: string): Message[] {
  const id = `call_${number}`;
  const call = { type: "toolCall", id, name: "bash", arguments: { command: `run ${number}` } };
  const toolResult = { role: "toolResult", toolCallId: id, toolName: "bash", isError: false };
  return [
    { role: "assistant", content: [call], stopReason: "toolUse", timestamp: 2 * number },
    { ...toolResult, content: [{ type: "text", text: output }], timestamp: 2 * number + 1 },
  ];
}

/** The method of the native side by which a list crosses. */
type Transform = NativeSession["transform"];

/** Puts `replacement` in the place of the method by which lists cross, for all sessions, until the test has finished. */
export function interceptCrossings(replacement: (original: Transform) => Transform): void {
  const { transform } = NativeSession.prototype;
  NativeSession.prototype.transform = function (...args) {
    return replacement(transform.bind(this))(...args);
  };
  onTestFinished(() => {
    NativeSession.prototype.transform = transform;
  });
}

/** As `interceptCrossings`, for the next crossing alone. */
export function interceptNextCrossing(replacement: (original: Transform) => Transform): void {
  let isNext = true;
  interceptCrossings((original) => {
    const method = isNext ? replacement(original) : original;
    isNext = false;
    return method;
  });
}

/** What crosses from now on: the messages left out at the front, and the JSON of the rest. */
export function crossings(): { skip: number; json: string }[] {
  const seen: { skip: number; json: string }[] = [];
  interceptCrossings((original) => (since, skip, messages, call) => {
    seen.push({ skip, json: `[${messages.map((json) => JSON.stringify(messageOf(json))).join(",")}]` });
    return original(since, skip, messages, call);
  });
  return seen;
}

/**
 * Runs a module in a process of its own, with the addon as `addon`, and returns how it ended. Its default store is in
 * memory, never the user's.
 * `launcher`: program and arguments to start it with.
 */
export function runModule(source: string, launcher: string[] = []) {
  const addon = pathToFileURL(join(root, "index.js")).href;
  const code = `import * as addon from ${JSON.stringify(addon)};\n${source}`;
  const env = { ...process.env, PALIMPSEST_STORE: ":memory:" };
  const options = { encoding: "utf8", timeout: 50_000, maxBuffer: 1 << 20, env } as const;
  const [program, ...args] = [...launcher, pinnedNode(), "--input-type=module", "-e", code];
  const { status, signal, stdout, stderr } = spawnSync(program, args, options);
  return { status, signal, stdout, stderr };
}
