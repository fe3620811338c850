// A host for the inspector's tests: plays a session as an agent does, on real files, through the public methods only.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type CallInfo,
  type ContentBlock,
  type Message,
  type ModelInfo,
  openSession,
  type Session,
  type SessionOptions,
  type Store,
  type ToolResultMessage,
  tools,
} from "../../index.js";

export const sonnet: ModelInfo = {
  provider: "anthropic",
  id: "claude-sonnet-5",
  api: "anthropic-messages",
  contextWindow: 200_000,
  cost: { input: 3, cacheRead: 0.3, cacheWrite: 3.75, tiers: [] },
  promptCache: { short: 300, long: 3_600 },
};

export const opus: ModelInfo = {
  ...sonnet,
  id: "claude-opus-5",
  cost: { input: 5, cacheRead: 0.5, cacheWrite: 6.25, tiers: [] },
};

const defaultPrompt = [
  "You are a coding agent. You work in the folder of the project, with the tools that you are given.",
  "Read a file before you change it. Run the tests when you are done. Say in few words what you did.",
].join("\n");

const schema = (...names: string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});

const ownTools = [
  { name: "read", description: "Read a file.", parameters: schema("path") },
  { name: "edit", description: "Replace a text of a file.", parameters: schema("path", "oldText", "newText") },
  { name: "write", description: "Write a file.", parameters: schema("path", "content") },
  { name: "bash", description: "Run a command.", parameters: schema("command") },
];

/** An agent at work. Each step of the model is a call: a request goes out before it. */
export class Host {
  /** The host's own list. */
  readonly messages: Message[] = [];
  model = sonnet;
  systemPrompt = defaultPrompt;
  tools: NonNullable<CallInfo["tools"]> = ownTools;
  /** What the model thinks before it calls a tool. */
  thought = "";
  /** What another extension makes of the messages behind ours. */
  afterwards = (messages: Message[]): Message[] => messages;
  private clock = Date.UTC(2026, 9, 5, 8);
  private steps = 0;

  readonly session: Session;
  readonly cwd: string;

  private constructor(session: Session, cwd: string) {
    this.session = session;
    this.cwd = cwd;
  }

  static async open(store: Store, options: Pick<SessionOptions, "sessionId" | "cwd"> & Partial<SessionOptions>) {
    mkdirSync(options.cwd, { recursive: true });
    const settings = { deadlineSeconds: 60, ...options.settings };
    return new Host(await openSession(store, { harness: "pi", ...options, settings }), options.cwd);
  }

  get id(): string {
    return this.session.id;
  }

  user(text: string): void {
    this.push({ role: "user", content: [{ type: "text", text }] });
  }

  /** The model ends its turn. */
  async say(text: string): Promise<void> {
    await this.request();
    this.push({ role: "assistant", content: [{ type: "text", text }], stopReason: "stop" });
  }

  async bash(command: string, output: string, isError = false): Promise<void> {
    await this.call("bash", { command }, () => output, isError);
  }

  async read(path: string): Promise<void> {
    await this.call("read", { path }, () => readFileSync(join(this.cwd, path), "utf8"));
  }

  async write(path: string, content: string): Promise<void> {
    await this.call("write", { path, content }, () => {
      this.put(path, content);
      return `Wrote ${path}.`;
    });
  }

  async edit(path: string, oldText: string, newText: string): Promise<void> {
    await this.call("edit", { path, oldText, newText }, () => {
      const before = readFileSync(join(this.cwd, path), "utf8");
      if (!before.includes(oldText)) {
        throw new Error(`${path} does not have the text to replace`);
      }
      this.put(
        path,
        before.replace(oldText, () => newText),
      );
      return `Changed ${path}.`;
    });
  }

  /** The model calls one of our tools: `activate`, `pin` and so on. */
  async ours(tool: string, args: Record<string, unknown>): Promise<void> {
    const found = tools().find(({ name }) => name === tool);
    if (found === undefined) {
      throw new Error(`there is no tool ${tool}`);
    }
    const id = await this.asked(tool, args);
    const { content } = await found.execute(this.session, id, args);
    this.answered(id, tool, content, false);
  }

  /** Any call of a tool, whose answer is `output`: a text, or blocks. */
  async call(
    tool: string,
    args: Record<string, unknown>,
    output: () => string | ContentBlock[],
    isError = false,
  ): Promise<void> {
    const id = await this.asked(tool, args);
    const answer = output();
    const content = typeof answer === "string" ? [{ type: "text" as const, text: answer }] : answer;
    await this.session.recordToolCall({ toolCallId: id, toolName: tool, args, isError, text: textOf(content) });
    this.answered(id, tool, content, isError);
  }

  /** A message of a recorded session: a request goes out before one of the model's. */
  async play(message: Message): Promise<void> {
    if (message.role === "assistant") {
      await this.request();
    }
    if (message.role === "toolResult") {
      const { toolCallId, toolName = "", content, isError = false } = message as ToolResultMessage;
      const asked = this.messages.flatMap(({ content: blocks }) => (Array.isArray(blocks) ? blocks : []));
      const { arguments: args } = asked.findLast(({ id }) => id === toolCallId) ?? {};
      await this.session.recordToolCall({ toolCallId, toolName, args, isError, text: textOf(content) });
    }
    this.messages.push(message);
  }

  /** Writes a file, as the model does or as another program does. */
  put(path: string, text: string): void {
    mkdirSync(dirname(join(this.cwd, path)), { recursive: true });
    writeFileSync(join(this.cwd, path), text);
  }

  private async asked(name: string, args: Record<string, unknown>): Promise<string> {
    await this.request();
    const id = `call_${this.steps}`;
    const call = { type: "toolCall" as const, id, name, arguments: args };
    const content = this.thought === "" ? [call] : [{ type: "thinking" as const, thinking: this.thought }, call];
    this.push({ role: "assistant", content, stopReason: "toolUse" });
    return id;
  }

  private answered(toolCallId: string, toolName: string, content: ContentBlock[], isError: boolean): void {
    this.push({ role: "toolResult", toolCallId, toolName, content, isError });
  }

  private async request(): Promise<void> {
    this.steps += 1;
    const { systemPrompt, model } = this;
    const call: CallInfo = { systemPrompt, tools: [...this.tools, ...tools()], model };
    const messages = this.afterwards(await this.session.transformContext(this.messages, call));
    await this.session.preparePayload({ model: model.id, system: systemPrompt, messages });
    const tokens = Math.round(JSON.stringify(messages).length / 4);
    const fresh = Math.min(tokens, 900);
    await this.session.recordUsage({
      kind: "call",
      input: 12,
      cacheRead: tokens - fresh,
      cacheWrite: fresh,
      output: 120,
    });
  }

  private push(message: Message): void {
    this.clock += 9_000;
    this.messages.push({ ...message, timestamp: this.clock });
  }
}

function textOf(content: string | ContentBlock[]): string {
  const blocks = typeof content === "string" ? [] : content;
  return typeof content === "string"
    ? content
    : blocks.flatMap((block) => ("text" in block ? [String(block.text)] : [])).join("\n");
}
