// A made-up OpenClaw for tests of the plugin without one: what it says of people and of its configuration. That the real one says the same
// is tested in `openclaw/authority.spec.ts`.
import type { HostConfig, HostFunctions, PluginApi } from "../openclaw-plugin/host.d.ts";

type Config = HostConfig & Record<string, unknown>;

/** Somebody of Telegram who types a command; OpenClaw lets them. */
export const onTelegram = (id: number, chat: string) => ({
  isAuthorizedSender: true,
  channel: "telegram",
  senderId: String(id),
  from: `telegram:${chat}`,
});

/** The operator of the gateway who types a command, as in its Control UI. */
export const operator = { isAuthorizedSender: true, channel: "webchat", gatewayClientScopes: ["operator.admin"] };

/** Telegram, where 111 is the owner, and people in private have sessions of their own. */
export const withTelegram: Config = {
  channels: { telegram: { dmPolicy: "allowlist", allowFrom: ["111", "222"] } },
  commands: { ownerAllowFrom: ["telegram:111"] },
  session: { dmScope: "per-channel-peer" },
};

/** What `Authority.configure` takes. `paired`: who was let in by pairing. */
export function madeUpHost(config: Config = {}, paired?: string[]): [PluginApi, HostFunctions] {
  const pairing = paired === undefined ? undefined : { readAllowFromStore: async () => paired };
  const api = { config, runtime: { channel: { pairing } } };
  const host = {
    resolveCommandAuthorization({ cfg, ctx }: Parameters<HostFunctions["resolveCommandAuthorization"]>[0]) {
      const { commands } = cfg as { commands?: { ownerAllowFrom?: string[] } };
      const { Provider: channel, SenderId: id, GatewayClientScopes: scopes } = ctx as Record<string, string & string[]>;
      const isListed = (commands?.ownerAllowFrom ?? []).some(
        (one) => one !== "*" && [id, `${channel}:${id}`].includes(one),
      );
      return { senderIsOwner: isListed || (channel === "webchat" && scopes?.includes("operator.admin") === true) };
    },
    resolveSandboxRuntimeStatus({ cfg, sessionKey }: Parameters<HostFunctions["resolveSandboxRuntimeStatus"]>[0]) {
      const { mode } = (cfg as HostConfig).agents?.defaults?.sandbox ?? {};
      return { sandboxed: mode === "all" || (mode === "non-main" && sessionKey !== "agent:main:main") };
    },
  };
  return [api as unknown as PluginApi, host as unknown as HostFunctions];
}
