// Pi's list as it concerns a session: what of its system messages stands in front of a conversation, and what in its middle. Models that
// accept that get changes of the prompt and of the tools where they were made, so that the cache keeps what stood before. Decides
// nothing about contexts.
import type {
  BeforeAgentStartEvent,
  ContextWithSystemEvent,
  ExtensionAPI,
  ExtensionContext,
} from "@earendil-works/pi-coding-agent";
import { modelInUse } from "./observe.ts";

type Message = ContextWithSystemEvent["messages"][number];
type SystemMessage = Extract<Message, { role: "system" }>;

/** Pi's list as it concerns a session. */
export interface PromptedList {
  /** What stands before the messages that belong to the session. */
  readonly front: Message[];
  /** The messages that belong to the session, in their order. */
  readonly messages: Message[];
  /** The prompt and the tools that stand in front, as the provider gets them. */
  readonly systemPrompt: string;
  readonly tools: { name: string; description: string; parameters: unknown }[];
}

/** Tools that system messages declare and no request does: scripts alone call them. Pi takes them out behind its extensions. */
const hidden = new WeakMap<ExtensionAPI, ReadonlySet<string>>();

/** Notes the tools that are hidden while a run goes on. */
export function noteHidden(pi: ExtensionAPI, { systemPromptOptions }: BeforeAgentStartEvent): void {
  // Since Pi 1.5.
  const { hiddenTools } = systemPromptOptions as { hiddenTools?: string[] };
  hidden.set(pi, new Set(hiddenTools));
}

/** Parts a list of Pi's with all its system messages. */
export function prompted(pi: ExtensionAPI, ctx: ExtensionContext, list: readonly Message[]): PromptedList {
  const current = ctx.getSystemPrompt();
  const [head] = list;
  const compat = (modelInUse(ctx)?.compat ?? {}) as Record<string, unknown>;
  // A prompt that another extension forces takes the place of all system messages.
  const staysInPlace =
    compat.supportsMidConvoSystemMessages === true && isSystem(head) && promptOf(list.filter(isSystem)) === current;
  if (!staysInPlace) {
    const front = list.filter(isSystem);
    const tools = shown(pi, allTools(pi, front));
    return { front, messages: list.filter((it) => !isSystem(it)), systemPrompt: current, tools };
  }
  const messages = list.filter(isSystem);
  const tools = shown(pi, frontTools(messages, compat) ?? allTools(pi, messages));
  return { front: [head], messages: list.slice(1), systemPrompt: promptOf([head]), tools };
}

/** The list of the next call. */
type NextList = Omit<PromptedList, "front"> & {
  /** Index of the first message from the entry on that a compaction would keep. */
  keptFrom: number;
};

/** The list as Pi would hand it over now. Throws if the entry that a compaction would keep first is not in it. */
export function contextMessages(pi: ExtensionAPI, ctx: ExtensionContext, firstKeptEntryId: string): NextList {
  const entries = ctx.sessionManager.buildSessionProjection().entries;
  const first = entries.findIndex(({ sourceEntry }) => sourceEntry.id === firstKeptEntryId);
  if (first < 0) {
    throw new Error(`Pi's list has no entry ${firstKeptEntryId}`);
  }
  const leaving = new Set(entries.slice(0, first).flatMap(({ messages }) => messages));
  const { front: _, ...list } = prompted(
    pi,
    ctx,
    entries.flatMap(({ messages }) => messages),
  );
  return { ...list, keptFrom: list.messages.filter((message) => leaving.has(message)).length };
}

/**
 * The tools that the request itself declares, where others stand in its middle: models take either any change there or additions
 * alone. Undefined if a model takes neither.
 */
function frontTools(messages: readonly SystemMessage[], compat: Record<string, unknown>) {
  if (compat.supportsMidConvoToolChanges === true || compat.supportsAdditionalTools === true) {
    return toolsAfter(messages.slice(0, 1));
  }
  if (compat.supportsMidConvoToolAdditions !== true && compat.supportsToolSearch !== true) {
    return undefined;
  }
  const known = new Set<string>();
  let last = 0;
  for (const [at, { toolsAdded = [], toolsRemoved = [] }] of messages.entries()) {
    if (toolsRemoved.length > 0 || toolsAdded.some(({ name }) => known.has(name))) {
      last = at;
    }
    for (const { name } of toolsAdded) {
      known.add(name);
    }
  }
  return toolsAfter(messages.slice(0, last + 1));
}

/** The tools that system messages declare in this order. */
function toolsAfter(messages: readonly SystemMessage[]) {
  const tools = new Map<string, ReturnType<typeof declared>>();
  for (const { toolsAdded = [], toolsRemoved = [] } of messages) {
    for (const { name } of toolsRemoved) {
      tools.delete(name);
    }
    for (const tool of toolsAdded) {
      tools.set(tool.name, declared(tool));
    }
  }
  return [...tools.values()];
}

function isSystem(message: Message | undefined): message is SystemMessage {
  return message?.role === "system";
}

/** The prompt that system messages make in this order, as Pi puts it together. */
function promptOf(messages: readonly SystemMessage[]): string {
  const texts: string[] = [];
  const sections = new Map<string, string>();
  for (const { content, sections: changed } of messages) {
    texts.push(typeof content === "string" ? content : content.map(({ text }) => text).join("\n"));
    for (const [name, text] of Object.entries(changed ?? {})) {
      if (text === null) {
        sections.delete(name);
      } else {
        sections.set(name, text);
      }
    }
  }
  return [...texts, ...sections.values()].filter((text) => text !== "").join("\n\n");
}

/** All tools, as system messages declare them: code mode describes tools otherwise than who registered them. */
function allTools(pi: ExtensionAPI, messages: readonly SystemMessage[]) {
  const tools = toolsAfter(messages);
  if (tools.length > 0) {
    return tools;
  }
  const active = new Set(pi.getActiveTools());
  const all = pi.getAllTools();
  return all.filter((tool) => active.has(tool.name)).map(declared);
}

function shown(pi: ExtensionAPI, tools: ReturnType<typeof declared>[]) {
  const out = hidden.get(pi);
  return out === undefined ? tools : tools.filter(({ name }) => !out.has(name));
}

function declared({ name, description, parameters }: { name: string; description: string; parameters: unknown }) {
  return { name, description, parameters };
}
