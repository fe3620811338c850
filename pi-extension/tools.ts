// Registers our tools with Pi. Tools of Pi and of other extensions are only observed (observe.ts), never replaced: a tool that runs in
// a sandbox must not give way to one that runs here.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import type { ContextTool, Session } from "./addon.ts";
import { describe, isFailure } from "./failures.ts";
import { type RowDetails, toolRow } from "./rows.ts";

/**
 * Registers the context tools. `session` returns the open session at the time of a call. `failed` gets what the model can do nothing
 * about: a person has to know.
 */
export function registerContextTools(
  pi: ExtensionAPI,
  tools: ContextTool[],
  session: () => Session | undefined,
  failed: (what: string, error: unknown) => Promise<void>,
): void {
  for (const tool of tools) {
    const definition = {
      name: tool.name,
      label: tool.name,
      description: tool.description,
      promptSnippet: tool.promptSnippet,
      promptGuidelines: tool.promptGuidelines,
      parameters: tool.parameters as TSchema,
      // Pi 1.5 lets scripts call tools, but such calls are not in the transcript. Earlier versions ignore this field.
      exposure: "model-only" as const,
      ...toolRow(tool.name),
      async execute(toolCallId: string, params: unknown) {
        const open = session();
        if (open === undefined) {
          throw new Error("Palimpsest is off in this session");
        }
        const result = await tool.execute(open, toolCallId, params).catch(async (error: unknown) => {
          if (isFailure(error)) {
            await failed(`\`${tool.name}\` did not work`, error);
            throw new Error(unavailable(tool.name), { cause: error });
          }
          // Pi shows the model only the message of an error.
          throw new Error(describe(error), { cause: error });
        });
        return { content: result.content, details: { tokens: result.tokens } satisfies RowDetails };
      },
    };
    pi.registerTool(definition);
  }
}

/** What the model is told where a tool of ours does not work. */
function unavailable(tool: string): string {
  return `\`${tool}\` does not work right now, and the user has been told. Go on without it: to see an output or a file again, run the command or read the file again`;
}
