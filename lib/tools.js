// The tools for the model: their definitions come from the native side, which executes them in a session.
import { binding } from "./addon.js";
import { invalidArgument } from "./arguments.js";
import { nativeSession } from "./session.js";

/** @import * as api from "../index.js" */

/** Lists the tools. @type {typeof api.tools} */
export function tools(options) {
  const all = binding.tools().filter(({ name }) => name !== "read" || options?.read === true);
  return all.map((definition) => ({
    ...definition,
    async execute(session, toolCallId, args) {
      const native = nativeSession(session);
      if (native === undefined) {
        throw invalidArgument("`session` is no session: `openSession` makes one");
      }
      return JSON.parse(await native.executeTool(definition.name, toolCallId, args));
    },
  }));
}
