// A harness for the example of docs/adapters.md: messages in the shapes of OpenAI's chat API, tools with names and arguments of its
// own, hooks. Its model is scripted.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A message of the harness. */
export interface ChatMessage {
  id: string;
  role: "user" | "assistant" | "tool";
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** A finished tool call. */
export interface ToolRun {
  id: string;
  name: string;
  args: Record<string, unknown>;
  failed: boolean;
  text: string;
}

/** A tool that an extension brings. */
export interface ExtensionTool {
  name: string;
  description: string;
  schema: object;
  run(callId: string, args: unknown): Promise<string>;
}

/** What the scripted model does in a call: it calls a tool, or ends the turn with a text. */
export type Answer = { tool: string; args: Record<string, unknown> } | { text: string };

export class Harness {
  readonly sessionId = "example";
  /** Every request as the model got it. */
  readonly requests: ChatMessage[][] = [];
  readonly tools = new Map<string, ExtensionTool>();
  /** What the person was told. */
  readonly warnings = new Set<string>();
  beforeCall = async (messages: ChatMessage[]): Promise<ChatMessage[]> => messages;
  /** Why a tool must not run, or null. */
  beforeTool = async (_name: string, _args: Record<string, unknown>): Promise<string | null> => null;
  afterTool = async (_run: ToolRun): Promise<void> => {};
  afterAnswer = async (_usage: {
    promptTokens: number;
    cachedTokens: number;
    answerTokens: number;
  }): Promise<void> => {};
  onClose = async (): Promise<void> => {};

  private readonly messages: ChatMessage[] = [];

  constructor(readonly cwd: string) {}

  /** Runs a turn: the model answers as scripted until it ends with a text. */
  async prompt(text: string, answers: Answer[]): Promise<void> {
    this.push({ role: "user", content: text });
    for (const answer of answers) {
      const request = await this.beforeCall(this.messages);
      this.requests.push(structuredClone(request));
      if ("text" in answer) {
        this.push({ role: "assistant", content: answer.text });
      } else {
        await this.call(answer.tool, answer.args);
      }
      await this.afterAnswer({ promptTokens: 100, cachedTokens: 0, answerTokens: 10 });
    }
  }

  /** Tells the person something that was not said before. */
  warnOnce(text: string): void {
    this.warnings.add(text);
  }

  private async call(name: string, args: Record<string, unknown>): Promise<void> {
    const id = `call_${this.messages.length}`;
    // Many servers send an empty text where there are no arguments.
    const json = Object.keys(args).length === 0 ? "" : JSON.stringify(args);
    const tool_calls = [{ id, function: { name, arguments: json } }];
    this.push({ role: "assistant", content: null, tool_calls });
    const refused = await this.beforeTool(name, args);
    const { text, failed } = refused === null ? await this.run(id, name, args) : { text: refused, failed: true };
    await this.afterTool({ id, name, args, failed, text });
    this.push({ role: "tool", content: text, tool_call_id: id });
  }

  private async run(id: string, name: string, args: Record<string, unknown>) {
    try {
      const tool = this.tools.get(name);
      const text = tool === undefined ? this.runOwn(name, args) : await tool.run(id, args);
      return { text, failed: false };
    } catch (error) {
      return { text: String(error), failed: true };
    }
  }

  private runOwn(name: string, args: Record<string, unknown>): string {
    const file = join(this.cwd, String(args.file));
    switch (name) {
      case "open_file":
        return readFileSync(file, "utf8");
      case "save_file":
        writeFileSync(file, String(args.text));
        return "saved";
      case "run_command":
        if (args.fails) {
          throw String(args.output);
        }
        return String(args.output);
      default:
        throw new Error(`there is no tool ${name}`);
    }
  }

  private push(message: Omit<ChatMessage, "id">): void {
    this.messages.push({ id: `m${this.messages.length}`, ...message });
  }
}
