// The tools as Pi knows them: our context tools, and Pi's own file tools with a side effect after success.
// Registered in session_start and not when the extension loads: a name that Pi has already registered by then keeps
// the state, enabled or not, that the user gave it.
import {
  type AgentToolResult,
  createEditToolDefinition,
  createFindToolDefinition,
  createGrepToolDefinition,
  createLsToolDefinition,
  createReadToolDefinition,
  createWriteToolDefinition,
  type ExtensionAPI,
  type ExtensionContext,
  SettingsManager,
  type ToolDefinition,
} from "@earendil-works/pi-coding-agent";
import type { Static, TSchema } from "typebox";
import type { Addon, ContextTool, Session } from "./addon.ts";
import { describe } from "./failures.ts";

/** Runs after a wrapped tool succeeded; must not reject. */
export type AfterSuccess = (call: {
  toolCallId: string;
  toolName: string;
  args: unknown;
  result: AgentToolResult<unknown>;
}) => Promise<void>;

/** The error to throw in the place of a wrapped tool's own; must not reject. */
export type ErrorOfFailure = (args: unknown, error: unknown) => Promise<unknown>;

/** The tools that Palimpsest itself brings. */
export function contextTools(addon: typeof Addon): ContextTool[] {
  return [addon.createActivateTool(), addon.createDeactivateTool(), addon.createPinTool(), addon.createUnpinTool()];
}

/** Registers the context tools; `session` gives the open session at the time of a call. */
export function registerContextTools(pi: ExtensionAPI, tools: ContextTool[], session: () => Session | undefined): void {
  for (const tool of tools) {
    const definition = {
      name: tool.name,
      label: tool.name,
      description: tool.description,
      promptSnippet: tool.promptSnippet,
      parameters: tool.parameters as TSchema,
      // Pi 1.5 lets scripts call tools, and such calls have no place in the transcript. Earlier versions ignore it.
      exposure: "model-only",
      async execute(toolCallId: string, params: unknown) {
        const open = session();
        if (open === undefined) {
          throw new Error("Palimpsest is off in this session");
        }
        const result = await tool.execute(open, toolCallId, params).catch((error: unknown) => {
          // Pi shows the model an error's message and nothing else.
          throw new Error(describe(error), { cause: error });
        });
        return { content: result.content, details: undefined };
      },
    };
    pi.registerTool(definition);
  }
}

/** Registers Pi's own file tools again, each followed by `after` when it succeeded; an `edit` that failed throws `helped`. */
export function registerWrappedTools(
  pi: ExtensionAPI,
  agentDir: string,
  ctx: ExtensionContext,
  after: AfterSuccess,
  helped: ErrorOfFailure,
): void {
  const { cwd } = ctx;
  const projectTrusted = ctx.isProjectTrusted();
  // The one option that Pi itself passes to these tools.
  const autoResizeImages = SettingsManager.create(cwd, agentDir, { projectTrusted }).getImageAutoResize();
  pi.registerTool(followed(createReadToolDefinition(cwd, { autoResizeImages }), after));
  pi.registerTool(followed(createWriteToolDefinition(cwd), after));
  pi.registerTool(followed(createEditToolDefinition(cwd), after, helped));
  pi.registerTool(followed(createLsToolDefinition(cwd), after));
  pi.registerTool(followed(createFindToolDefinition(cwd), after));
  pi.registerTool(followed(createGrepToolDefinition(cwd), after));
}

/** `base` with its schema, prompt texts and rendering, and `after` behind its execution; what it throws goes through `failed`. */
function followed<TParams extends TSchema, TDetails, TState>(
  base: ToolDefinition<TParams, TDetails, TState>,
  after: AfterSuccess,
  failed?: ErrorOfFailure,
): ToolDefinition<TParams, TDetails, TState> {
  return {
    ...base,
    async execute(toolCallId, params: Static<TParams>, signal, onUpdate, ctx) {
      const running = base.execute(toolCallId, params, signal, onUpdate, ctx);
      const result = await running.catch(async (error: unknown) => {
        // A call that was given up needs no help.
        throw failed === undefined || signal?.aborted ? error : await failed(params, error);
      });
      await after({ toolCallId, toolName: base.name, args: params, result });
      return result;
    },
  };
}
