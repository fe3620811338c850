// The tools for the model: their definitions come from the native side, which executes them in a session.
import { binding } from "./addon.js";
import { invalidArgument } from "./arguments.js";
import { nativeSession } from "./session.js";

/** @import * as api from "../index.js" */

/** Lists the tools. @type {typeof api.tools} */
export function tools(options) {
  return contextTools(false).filter(({ name }) => name !== "read" || options?.read === true);
}

/**
 * The tools with `read`.
 * @param {boolean} prefixed whether another extension has a tool of one of our names
 * @returns {api.ContextTool[]}
 */
export function contextTools(prefixed) {
  return binding.tools(prefixed).map((definition) => ({
    ...definition,
    async execute(session, toolCallId, args) {
      const native = nativeSession(session);
      if (native === undefined) {
        throw invalidArgument("`session` is not a session: `openSession` makes one");
      }
      return JSON.parse(await native.executeTool(definition.name, toolCallId, args));
    },
  }));
}
