// Shared by the tests on OpenClaw: models that do as a test tells them, and what to look for in request bodies.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { linkPlugin, type OpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { layOut } from "../../scripts/lib/packages.js";
import { type RequestBody, type Step, startScriptedModel, type WireMessage } from "../../scripts/lib/scripted-model.js";

/** Has OpenClaw load this clone's package, laid out as an installation would have it. Quicker than installing. */
export function linkPalimpsest(sandbox: OpenClawSandbox, settings?: Parameters<typeof linkPlugin>[2]): void {
  const folder = join(sandbox.dir, "palimpsest");
  layOut(folder);
  linkPlugin(sandbox, folder, settings);
}

/** Writes the user's own memory, which all projects have. */
export function rememberGlobally({ homeDir }: OpenClawSandbox, text: string): void {
  const folder = join(homeDir, ".pi", "agent", "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "MEMORY.md"), text);
}

type Move = Step | (() => Step | Promise<Step>);

/** A script that is told its steps as a test goes on, and says that it is done when it has none. */
export function puppet() {
  let moves: Move[] = [];
  return {
    /** What it does from now on. */
    play: (...next: Move[]) => {
      moves = next;
    },
    script: (): Step | Promise<Step> => {
      const move = moves.shift() ?? { text: "done" };
      return typeof move === "function" ? move() : move;
    },
  };
}

/** A model that speaks OpenAI's completions, until it is closed. */
export async function startPuppet() {
  const { play, script } = puppet();
  return { ...(await startScriptedModel(script)), play };
}

const isChild = ({ messages }: RequestBody) => textOf(messages[0]).includes("# Subagent Context");
/** What OpenClaw says to a parent whose sub-agent is done: it takes no step of the next test. */
export const isReport = (body: RequestBody) =>
  lines(body)
    .findLast((line) => line.startsWith("user: "))
    ?.includes("source: subagent");

/** A model for an agent and its sub-agents, which does `steps.own` and `steps.child`, and says that it is done when there are none. */
export async function startParent() {
  const steps: { own: Step[]; child: Step[] } = { own: [], child: [] };
  const model = await startScriptedModel(({ body }) => {
    const next = isChild(body) ? steps.child : steps.own;
    return (isReport(body) ? undefined : next.shift()) ?? { text: "done" };
  });
  return { ...model, steps };
}

export type Puppet = Awaited<ReturnType<typeof startPuppet>>;

/** Gives the bodies that a model receives from here on. */
export function fromNow({ requests }: Pick<Puppet, "requests">): () => RequestBody[] {
  const count = requests.length;
  return () => requests.slice(count).map(({ body }) => body);
}

/** A step that calls one tool. */
export const call = (name: string, args: unknown, id?: string): Step => ({ calls: [{ name, args, id }] });

/** All text of a message. */
export function textOf({ content }: Pick<WireMessage, "content">): string {
  if (typeof content === "string") {
    return content;
  }
  return ((content ?? []) as { text?: string }[]).map(({ text = "" }) => text).join("\n");
}

/** Whether a message is the note that OpenClaw puts behind every request. */
export function isInternal(message: WireMessage): boolean {
  return textOf(message).startsWith("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>");
}

/** The messages of a request without the system prompt and without the note that OpenClaw puts behind every request. */
export function conversationOf({ messages }: RequestBody): WireMessage[] {
  return messages.filter((message) => message.role !== "system" && !isInternal(message));
}

/** A conversation as lines of role, text and calls. */
export function lines(body: RequestBody): string[] {
  return conversationOf(body).map((message) => {
    const calls = (message.tool_calls ?? []).map(({ function: { name, arguments: args } }) => `${name} ${args}`);
    return `${message.role}: ${[textOf(message), ...calls].filter((part) => part !== "").join(" ")}`;
  });
}

/** What a plugin under test wrote down: a file of the sandbox with a JSON value on each line. */
export function recordsOf<T>(sandbox: OpenClawSandbox, name: string): T[] {
  const written = readFileSync(join(sandbox.dir, name), "utf8").trimEnd();
  return written.split("\n").map((line) => JSON.parse(line) as T);
}

/** Whether each call in a request has its result, right behind it, and each result its call. */
export function isPaired(body: RequestBody): boolean {
  let open: string[] = [];
  for (const { role, tool_calls: calls = [], tool_call_id: id = "" } of conversationOf(body)) {
    if (role === "tool") {
      if (!open.includes(id)) {
        return false;
      }
      open = open.filter((known) => known !== id);
    } else if (open.length > 0) {
      return false;
    } else {
      open = calls.map((each) => each.id);
    }
  }
  return open.length === 0;
}

/** Whether a request begins with all messages of the one before. */
export function continues(before: RequestBody, after: RequestBody): boolean {
  const [known, next] = [before, after].map((body) => conversationOf(body).map((message) => JSON.stringify(message)));
  return known.every((message, at) => message === next[at]);
}
