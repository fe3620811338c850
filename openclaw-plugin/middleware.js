// What happens around a tool call: a text that must not be written is refused, a result is stored whole before it is shown in part, and a
// failed edit is explained. OpenClaw keeps what is shown. None of it rejects: an error here would fail the host's tool.
import { tools } from "../index.js";
import { blocksOf, withText } from "../lib/content.js";
import { Calls, toSession } from "./turn.js";

/**
 * @import { HookContext, HostMessage, ToolResult, ToolResultEvent } from "./host.d.ts"
 * @import { Plugin } from "./plugin.js"
 * @import { Current } from "./sessions.js"
 */

const ownTools = new Set(tools().map(({ name }) => name));

/**
 * Why a call must not run.
 * @param {Plugin} plugin
 * @param {{ toolName: string, params: Record<string, unknown> }} event
 * @param {HookContext} ctx
 */
export async function refuseWrite({ sessions, failures }, { toolName, params }, { sessionId }) {
  return failures.guarded("a write was not checked", undefined, async () => {
    const current = await sessions.opened(sessionId);
    const reason =
      (await current?.memory.refusal(toolName, params)) ?? (await current?.session.checkWrite(toolName, params));
    return typeof reason === "string" ? { block: /** @type {const} */ (true), blockReason: reason } : undefined;
  });
}

/**
 * What replaces a tool's result.
 * @param {Plugin} plugin
 * @param {ToolResultEvent} event
 * @param {HookContext} ctx
 * @returns {Promise<{ result: ToolResult } | undefined>}
 */
export async function showResult(plugin, event, ctx) {
  const { sessions, failures } = plugin;
  if (ownTools.has(event.toolName)) {
    return undefined;
  }
  const current = await sessions.opened(ctx.sessionId);
  const history = plugin.historyOf(ctx.sessionId);
  // OpenClaw may run a turn without the engine, or we were turned on within it; then nothing of it is ours to change.
  if (current === undefined || current.users === 0 || history === undefined) {
    return undefined;
  }
  return failures.guarded(`could not follow up a \`${event.toolName}\` call`, undefined, () =>
    shown(plugin, current, event, [...history, ...plugin.heard(ctx.sessionKey).messages]),
  );
}

/**
 * @param {Plugin} plugin
 * @param {Current} current
 * @param {ToolResultEvent} event
 * @param {HostMessage[]} list history and running turn
 */
async function shown(plugin, current, event, list) {
  const { toolName, args, result } = event;
  const calls = new Calls();
  const messages = toSession(list, calls);
  const toolCallId = calls.of(event.toolCallId);
  const isError = event.isError === true || isFailed(result.details);
  const given = blocksOf(result.content);
  const said = [
    isError && toolName === "edit" ? await helpOf(plugin, current, args) : null,
    await current.memory.ran({ toolCallId, toolName, args, isError }),
  ].filter((text) => typeof text === "string");
  const content = said.reduce(withText, given);
  const report = { toolCallId, toolName, args, isError, content, details: result.details };
  const blocks = await current.session.showResult(report, messages);
  return blocks === null && said.length === 0 ? undefined : { result: { ...result, content: blocks ?? content } };
}

/**
 * @param {Plugin} plugin
 * @param {Current} current
 * @param {unknown} args
 */
async function helpOf({ failures }, { session }, args) {
  return failures.guarded("a failed `edit` got no help", null, () => session.explainFailedEdit(args));
}

/** Tools of OpenClaw say in their details that they failed. @param {unknown} details */
function isFailed(details) {
  const { status } = /** @type {{ status?: unknown }} */ (details ?? {});
  return status === "error" || status === "failed";
}
