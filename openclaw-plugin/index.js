// What OpenClaw loads. The host copies the package and evaluates this file several times in a process, so it only hands over to plugin.js,
// which is loaded from the package's own folder and therefore once: all copies share its sessions and one native addon.
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveCommandAuthorization } from "openclaw/plugin-sdk/command-auth-native";
import { buildMemorySystemPromptAddition, delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
import { resolveSandboxRuntimeStatus } from "openclaw/plugin-sdk/sandbox";

export default definePluginEntry({
  id: "palimpsest",
  name: "Palimpsest",
  description: "Shows the model versioned objects and references instead of texts again and again, and keeps memory",
  register(api) {
    // A file of the copy as the one who asks would get the copy of the module, too.
    const asker = api.rootDir === undefined ? fileURLToPath(import.meta.url) : join(api.rootDir, "package.json");
    /** @type {typeof import("./plugin.js")} */
    const { register } = createRequire(asker)(
      api.rootDir === undefined ? "./plugin.js" : "./openclaw-plugin/plugin.js",
    );
    register(api, {
      buildMemorySystemPromptAddition,
      delegateCompactionToRuntime,
      resolveCommandAuthorization,
      resolveSandboxRuntimeStatus,
    });
  },
});
