// The context tools as Pi knows them. No tool of Pi's, nor of another extension, is registered again: one that runs in a
// sandbox must not be replaced by one that runs here. What all tools do is observed (observe.ts).
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import type { Addon, ContextTool, Session } from "./addon.ts";
import { describe } from "./failures.ts";

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
