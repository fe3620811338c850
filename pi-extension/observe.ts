// Tells the session of every finished tool call, once. A call that ran is reported with its arguments as they ran, before
// its result goes on; one that did not (unknown tool, blocked) when it ends. Whoever's tool it is, it stays as it is.
import type {
  AgentToolResult,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
  ToolResultEvent,
} from "@earendil-works/pi-coding-agent";
import type { Session } from "./addon.ts";
import type { Failures } from "./failures.ts";

/** Tools whose shown text the session needs to know which files the model has met. */
const namingTools = new Set(["ls", "find", "grep", "bash"]);

/** Characters of such a text that cross: what the session looks at. Pi shows less, a `bash` of another extension may not. */
const maxTextCharacters = 262_144;

/** The handlers that watch one session's tool calls. None of them rejects. */
export interface Observer {
  started(event: ToolExecutionStartEvent): void;
  /** What the result is to be instead, if anything: the error of an `edit` gets what helps to mend it. */
  ran(event: ToolResultEvent): Promise<{ content: ToolResultEvent["content"] } | undefined>;
  ended(event: ToolExecutionEndEvent): Promise<void>;
}

/** Creates an observer; calls of the tools in `ignored` are left out. */
export function createObserver(session: Session, failures: Failures, ignored: ReadonlySet<string>): Observer {
  const argsOfRunning = new Map<string, unknown>();
  const reported = new Set<string>();

  async function report(toolCallId: string, toolName: string, args: unknown, isError: boolean, result: unknown) {
    try {
      const text = namingTools.has(toolName) ? shownText(result) : undefined;
      await session.toolFinished({ toolCallId, toolName, args, isError, text });
    } catch (error) {
      await failures.report(`could not follow up a \`${toolName}\` call`, error);
    }
  }

  async function helpOf(args: unknown): Promise<string | null> {
    try {
      return await session.editFailed(args);
    } catch (error) {
      await failures.report("a failed `edit` got no help", error);
      return null;
    }
  }

  return {
    started({ toolCallId, args }) {
      argsOfRunning.set(toolCallId, args);
    },
    async ran({ toolCallId, toolName, input, content, isError }) {
      if (ignored.has(toolName)) {
        return undefined;
      }
      // Of a call without events of its own nothing would ever take the ID out again.
      if (argsOfRunning.has(toolCallId)) {
        reported.add(toolCallId);
      }
      await report(toolCallId, toolName, input, isError, { content });
      const help = isError && toolName === "edit" ? await helpOf(input) : null;
      return help === null ? undefined : { content: withText(content, help) };
    },
    async ended({ toolCallId, toolName, isError, result }) {
      const args = argsOfRunning.get(toolCallId);
      argsOfRunning.delete(toolCallId);
      if (!reported.delete(toolCallId) && !ignored.has(toolName)) {
        await report(toolCallId, toolName, args, isError, result);
      }
    },
  };
}

/** An error of one text stays one text. */
function withText(content: ToolResultEvent["content"], text: string): ToolResultEvent["content"] {
  const last = content.at(-1);
  return last?.type === "text"
    ? [...content.slice(0, -1), { ...last, text: `${last.text}\n\n${text}` }]
    : [...content, { type: "text", text }];
}

function shownText(result: unknown): string | undefined {
  const content = (result as Partial<AgentToolResult<unknown>> | undefined)?.content;
  const text = content?.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  return text?.slice(0, maxTextCharacters);
}
