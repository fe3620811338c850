import { type Message, openSession, openStore, type TextBlock, tools } from "palimpsest";
import type { ChatMessage, Harness } from "./harness.ts"; // your harness

/** The harness's tools as Palimpsest knows them. */
const toolNames: Record<string, string> = { open_file: "read", save_file: "write", run_command: "bash" };
const nameOf = (tool: string) => toolNames[tool] ?? tool;
const argsOf = ({ file, text, ...args }: Record<string, unknown>) => ({ ...args, path: file, content: text });

export async function attach(harness: Harness, path?: string) {
  const store = await openStore({ path });
  const session = await openSession(store, { harness: "example", sessionId: harness.sessionId, cwd: harness.cwd });

  /** What a method resolves to. Where it rejects, the person is told once, and the harness goes on with `fallback`. */
  const orElse = <T, U>(work: Promise<T>, fallback: U) =>
    work.catch((error) => {
      harness.warnOnce(`Palimpsest: ${error.message}`);
      return fallback;
    });

  harness.beforeCall = async (messages) => {
    try {
      const sent = await session.transformContext(messages.map(toMessage));
      const originals = new Map(messages.map((message) => [message.id, message]));
      return sent.map((message) => toChat(message, originals.get(String(message.id))));
    } catch (error) {
      session.recordFailedCall(String(error));
      return orElse(Promise.reject(error), messages); // the call goes out as it would without Palimpsest
    }
  };
  harness.beforeTool = (name, args) => orElse(session.checkWrite(nameOf(name), argsOf(args)), null);
  harness.afterTool = async ({ id: toolCallId, name, args, failed: isError, text }) => {
    const report = { toolCallId, toolName: nameOf(name), args: argsOf(args), isError, text };
    await orElse(session.recordToolCall(report), null);
  };
  harness.afterAnswer = async ({ promptTokens, cachedTokens: cacheRead, answerTokens: output }) => {
    const usage = { input: promptTokens - cacheRead, cacheRead, cacheWrite: 0, output };
    await orElse(session.recordUsage({ kind: "call", ...usage }), null);
  };
  harness.onClose = async () => {
    await session.close();
    await store.close();
  };
  for (const tool of tools()) {
    const { name, description, parameters: schema } = tool;
    const run = async (id: string, args: unknown) => (await tool.execute(session, id, args)).content[0].text;
    harness.tools.set(name, { name, description, schema, run });
  }
  return session;
}

function toMessage({ id, role, content, tool_calls: calls, tool_call_id: toolCallId }: ChatMessage): Message {
  const text: TextBlock[] = content === null ? [] : [{ type: "text", text: content }];
  if (role === "tool") {
    return { role: "toolResult", toolCallId, content: text, id };
  }
  const called = (calls ?? []).map(({ id, function: { name, arguments: json } }) => {
    return { type: "toolCall", id, name: nameOf(name), arguments: argsOf(parsed(json)) };
  });
  return { role, content: [...text, ...called], id };
}

/** The arguments of a call: none where a server sends an empty text for none, or the answer was cut off. */
function parsed(json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

/** Only the text of a message changes; a message without an original is Palimpsest's own. */
function toChat(message: Message, original: ChatMessage = { id: "", role: "user", content: null }): ChatMessage {
  const blocks = (Array.isArray(message.content) ? message.content : []).filter(({ type }) => type === "text");
  return blocks.length === 0 ? original : { ...original, content: blocks.map(({ text }) => text).join("\n") };
}
