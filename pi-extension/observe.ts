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

/** Tools whose shown text the session needs to know which paths the model has met. */
const listingTools = new Set(["ls", "find", "grep"]);

/** The handlers that watch one session's tool calls. None of them rejects. */
export interface Observer {
  started(event: ToolExecutionStartEvent): void;
  ran(event: ToolResultEvent): Promise<void>;
  ended(event: ToolExecutionEndEvent): Promise<void>;
}

/** Creates an observer; calls of the tools in `ignored` are left out. */
export function createObserver(session: Session, failures: Failures, ignored: ReadonlySet<string>): Observer {
  const argsOfRunning = new Map<string, unknown>();
  const reported = new Set<string>();

  async function report(toolCallId: string, toolName: string, args: unknown, isError: boolean, result: unknown) {
    try {
      const text = listingTools.has(toolName) ? shownText(result) : undefined;
      await session.toolFinished({ toolCallId, toolName, args, isError, text });
    } catch (error) {
      await failures.report(`could not follow up a \`${toolName}\` call`, error);
    }
  }

  return {
    started({ toolCallId, args }) {
      argsOfRunning.set(toolCallId, args);
    },
    async ran({ toolCallId, toolName, input, content, isError }) {
      if (ignored.has(toolName)) {
        return;
      }
      // Of a call without events of its own nothing would ever take the ID out again.
      if (argsOfRunning.has(toolCallId)) {
        reported.add(toolCallId);
      }
      await report(toolCallId, toolName, input, isError, { content });
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

function shownText(result: unknown): string | undefined {
  const content = (result as Partial<AgentToolResult<unknown>> | undefined)?.content;
  return content?.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}
