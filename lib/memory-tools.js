// What memory has to do with the tool calls of a host, for every adapter: before a call runs, and after it. A step that fails costs no
// other one. Decides nothing about memory, and knows no host.

/**
 * @import { Memory, Session } from "../index.js"
 *
 * @typedef {<T>(what: string, work: () => Promise<T>) => Promise<T | undefined>} Guarded does something that must not fail the host;
 *   where it fails, reports what happened and resolves to undefined
 *
 * @typedef {object} Behind what stands behind a session of the host
 * @property {Memory} memory
 * @property {Session} [session] none where Palimpsest is off
 * @property {Guarded} guarded
 *
 * @typedef {object} ToolCall
 * @property {string} toolName
 * @property {unknown} args
 * @property {string} cwd the working folder, from which relative paths count
 */

/**
 * A tool is about to run. Resolves to why it must not, if so: it would put a secret into a memory file. What others changed in memory is
 * told apart from what the tool writes there.
 *
 * @param {Behind} behind
 * @param {ToolCall} call
 */
export async function beforeTool(behind, call) {
  const { toolName, args, cwd } = call;
  await tellChanges(behind, call);
  return behind.guarded("a write was not checked for secrets", () => behind.memory.checkWrite(toolName, args, cwd));
}

/**
 * A tool ran: it may have read memory, or written it. Resolves to what its result shall say besides, if anything: what the checks found
 * in the memory files that it wrote.
 *
 * @param {Behind} behind
 * @param {ToolCall & { toolCallId: string, isError: boolean }} call
 */
export async function afterTool(behind, call) {
  const { memory, session, guarded } = behind;
  const { toolName, toolCallId, args, cwd, isError } = call;
  await tellChanges(behind, call, toolCallId);
  await guarded("memory was not told of a tool call", () =>
    memory.observe({ toolName, args, cwd, isError, isStored: session !== undefined }),
  );
  return isError
    ? undefined
    : guarded("what a tool wrote into memory was not checked", () => memory.explainWrite(toolName, args, cwd));
}

/** @param {Behind} behind @param {ToolCall} call @param {string} [toolCallId] of a call that ran */
async function tellChanges({ memory, session, guarded }, call, toolCallId) {
  if (session !== undefined && (await isWrittenBy(memory, call))) {
    await guarded("the model is not told what changed in memory", () => session.memoryChanged(memory, toolCallId));
  }
}

/** @param {Memory} memory @param {ToolCall} call */
async function isWrittenBy(memory, { toolName, args, cwd }) {
  try {
    return await memory.isWrittenBy(toolName, args, cwd);
  } catch {
    // No arguments of a tool that is known.
    return false;
  }
}
