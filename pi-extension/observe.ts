// Tells the session of every finished tool call, once. Wrapped tools report their own success, with the arguments that
// ran; all the rest (bash, other extensions' tools, failures) is seen in Pi's events.
import type { AgentToolResult, ToolExecutionEndEvent, ToolExecutionStartEvent } from "@earendil-works/pi-coding-agent";
import type { Session } from "./addon.ts";
import type { Failures } from "./failures.ts";
import type { AfterSuccess, ErrorOfFailure } from "./tools.ts";

/** Tools whose shown text the session needs to know which files the model has met. */
const namingTools = new Set(["ls", "find", "grep", "bash"]);

/** Characters of such a text that cross: what the session looks at. Pi shows less, a `bash` of another extension may not. */
const maxTextCharacters = 262_144;

/** The handlers that watch one session's tool calls. None of them rejects. */
export interface Observer {
  readonly wrappedToolSucceeded: AfterSuccess;
  readonly wrappedEditFailed: ErrorOfFailure;
  started(event: ToolExecutionStartEvent): void;
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

  return {
    async wrappedToolSucceeded({ toolCallId, toolName, args, result }) {
      // A call made by a script (Pi 1.5) has no events of its own, so nothing would ever take its ID out again.
      if (argsOfRunning.has(toolCallId)) {
        reported.add(toolCallId);
      }
      await report(toolCallId, toolName, args, false, result);
    },
    async wrappedEditFailed(args, error) {
      try {
        const help = await session.editFailed(args);
        return help === null || !(error instanceof Error)
          ? error
          : new Error(`${error.message}\n\n${help}`, { cause: error });
      } catch (failure) {
        await failures.report("a failed `edit` got no help", failure);
        return error;
      }
    },
    started({ toolCallId, args }) {
      argsOfRunning.set(toolCallId, args);
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
  const text = content?.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  return text?.slice(0, maxTextCharacters);
}
