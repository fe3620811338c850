// The modules of OpenClaw that the entry imports; see host.d.ts.
declare module "openclaw/plugin-sdk/plugin-entry" {
  export function definePluginEntry(entry: {
    id: string;
    name: string;
    description: string;
    register(api: import("./host.d.ts").PluginApi): void;
  }): unknown;
}
declare module "openclaw/plugin-sdk/command-auth-native" {
  export const resolveCommandAuthorization: import("./host.d.ts").HostFunctions["resolveCommandAuthorization"];
}
declare module "openclaw/plugin-sdk/sandbox" {
  export const resolveSandboxRuntimeStatus: import("./host.d.ts").HostFunctions["resolveSandboxRuntimeStatus"];
}
declare module "openclaw/plugin-sdk/core" {
  type HostFunctions = import("./host.d.ts").HostFunctions;
  export const buildMemorySystemPromptAddition: HostFunctions["buildMemorySystemPromptAddition"];
  export const delegateCompactionToRuntime: HostFunctions["delegateCompactionToRuntime"];
}
