// Which model requests go to. Pi 1.5 has virtual models, which choose another one for each request; they have no prices, and often no
// window. Decides nothing.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

/**
 * The model to which the next request goes, as far as it is known: behind a virtual one that of the newest answer. Where there is none
 * yet, the virtual one itself.
 */
export function modelInUse({ model, sessionManager, modelRegistry }: ExtensionContext): ExtensionContext["model"] {
  if (model === undefined || model.api !== "pi-virtual") {
    return model;
  }
  const branch = sessionManager.getBranch();
  for (let at = branch.length - 1; at >= 0; at--) {
    const entry = branch[at];
    if (entry.type !== "message" || entry.message.role !== "assistant") {
      continue;
    }
    const { stopReason, provider, model: id, api } = entry.message;
    // Where routing failed the answer names the virtual model.
    if (stopReason !== "error" && stopReason !== "aborted" && api !== model.api) {
      return modelRegistry.find(provider, id) ?? model;
    }
  }
  return model;
}
