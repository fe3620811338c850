// Our tools for the model, as OpenClaw registers them: each call finds the session that it is made in. They are not hidden behind the
// host's tool search, since lines in the request name them.
import { tools } from "../index.js";
import { describe, isFailure, unavailable } from "../lib/failures.js";
import { Calls, toSession } from "./turn.js";

/**
 * @import { HostTool, PluginApi, ToolContext } from "./host.d.ts"
 * @import { ContextTool } from "../index.js"
 * @import { Plugin } from "./plugin.js"
 */

/** What the system prompt says of lines that stand for content: always the same bytes. */
export const guidance = tools()
  .flatMap(({ promptGuidelines }) => promptGuidelines)
  .join("\n");

/**
 * @param {PluginApi} api
 * @param {Plugin} plugin
 */
export function registerTools(api, plugin) {
  for (const tool of tools()) {
    api.registerTool((ctx) => offered(tool, plugin, ctx), { name: tool.name });
  }
}

/**
 * The tool for a run, null where a person turned us off. The host makes the tools of a run before it asks for the list.
 * @param {ContextTool} tool
 * @param {Plugin} plugin
 * @param {ToolContext} ctx
 */
function offered(tool, plugin, ctx) {
  plugin.sessions.conversations.heard(ctx);
  return plugin.sessions.offersTools(ctx) ? hostTool(tool, plugin, ctx) : null;
}

/**
 * @param {ContextTool} tool
 * @param {Plugin} plugin
 * @param {ToolContext} ctx
 * @returns {HostTool}
 */
function hostTool(tool, plugin, { sessionId, sessionKey }) {
  return {
    name: tool.name,
    label: tool.name,
    catalogMode: "direct-only",
    description: tool.description,
    parameters: tool.parameters,
    async execute(toolCallId, params) {
      const current = await plugin.sessions.opened(sessionId);
      if (current === undefined) {
        throw new Error("Palimpsest is off in this session");
      }
      const calls = new Calls();
      // The session knows the call by the ID that the list gives it.
      toSession([...(plugin.historyOf(sessionId) ?? []), ...plugin.heard(sessionKey).messages], calls);
      try {
        const { content, tokens } = await tool.execute(current.session, calls.of(toolCallId), params);
        return { content: content.map((block) => ({ ...block })), details: { tokens } };
      } catch (error) {
        if (isFailure(error)) {
          await plugin.failures.report(`\`${tool.name}\` did not work`, error);
          throw new Error(unavailable(tool.name), { cause: error });
        }
        throw new Error(describe(error), { cause: error });
      }
    },
  };
}
