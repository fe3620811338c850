// Whose a conversation of OpenClaw is, who writes in it, and whether its tools run on this machine, as far as the host tells: by the key of
// a session, the configuration, and the people who were let in by pairing. Who is an owner is the host's word (`commands.ownerAllowFrom`).
// What cannot be shown is not the owner's. Decides nothing else: what follows is in lib/authority.js.

/**
 * @import { Conversation, Sender } from "../lib/authority.js"
 * @import { CommandContext, HostConfig, HostFunctions, PluginApi, ToolContext } from "./host.d.ts"
 *
 * @typedef {object} Identity somebody on a channel
 * @property {string} channel
 * @property {string} [accountId]
 * @property {string} id
 *
 * @typedef {Record<string, any>} Json
 */

/** Parts of a session key behind which several people are. */
const groupKinds = new Set(["group", "channel", "room", "guild", "space", "spaces", "supergroup"]);
/** Parts behind which one is. */
const directKinds = new Set(["direct", "dm"]);
/** Parts that follow whom a session is with. */
const threadKinds = new Set(["thread", "topic"]);
/** First parts of the keys of sessions that only an operator of the gateway opens. */
const operatorKinds = new Set(["dashboard", "explicit"]);
/** Keys in `channels` that are no channel. */
const noChannels = new Set(["defaults", "modelByChannel"]);

/** What OpenClaw says of people. */
export class Authority {
  /** The host's configuration. @type {HostConfig | undefined} */
  config;
  /** @type {HostFunctions["resolveCommandAuthorization"] | undefined} */
  #authorize;
  /** @type {HostFunctions["resolveSandboxRuntimeStatus"] | undefined} */
  #sandboxOf;
  /** Who was let in by pairing. @type {((channel: string, accountId: string) => Promise<string[]>) | undefined} */
  #paired;

  /**
   * @param {PluginApi} api
   * @param {HostFunctions} host
   */
  configure(api, host) {
    this.config = api.config;
    this.#authorize = host.resolveCommandAuthorization;
    this.#sandboxOf = host.resolveSandboxRuntimeStatus;
    const pairing = api.runtime?.channel?.pairing;
    this.#paired = pairing && ((channel, accountId) => pairing.readAllowFromStore({ channel, accountId }));
  }

  /**
   * Whose a conversation is by its key. A sub-agent's key says nothing of whom its parent answers.
   * @param {string | undefined} sessionKey
   * @returns {Promise<Conversation>}
   */
  async conversationOf(sessionKey) {
    const [agent, , ...rest] = (sessionKey ?? "").toLowerCase().split(":");
    if (agent !== "agent" || rest.length === 0 || rest.includes("subagent")) {
      return rest.some((part) => groupKinds.has(part)) ? "group" : "mixed";
    }
    if (rest.some((part) => groupKinds.has(part) || part.endsWith("@g.us"))) {
      return "group";
    }
    const at = rest.findIndex((part, place) => directKinds.has(part) && place + 1 < rest.length);
    if (at >= 0) {
      return this.#isOwnersChat(rest, at) ? "owner" : "person";
    }
    const [first] = rest;
    if (rest.length > 1) {
      return operatorKinds.has(first) && rest.length === 2 ? "owner" : "mixed";
    }
    if (first === "global" || first === "unknown" || first === "") {
      return "mixed";
    }
    const main = `${this.#session.mainKey ?? "main"}`.toLowerCase();
    // Any other key of one part is an operator's: channels make none.
    return (first !== "main" && first !== main) || (await this.#isMainOwners()) ? "owner" : "mixed";
  }

  /**
   * Whether the tools of a session run elsewhere, so that paths mean other files than on this machine; undefined where that is not known.
   * @param {string | undefined} sessionKey
   */
  runsElsewhere(sessionKey) {
    const { tools, agents } = /** @type {Json} */ (this.config ?? {});
    const all = [{ tools }, ...Object.values(agents?.entries ?? {}), ...Object.values(agents?.list ?? [])];
    // Commands run on another machine, and other tools here.
    const isApart = all.some((agent) => agent?.tools?.exec?.host === "node");
    if (isApart || this.#sandboxOf === undefined || sessionKey === undefined || sessionKey === "") {
      return undefined;
    }
    try {
      return this.#sandboxOf({ cfg: this.config ?? {}, sessionKey }).sandboxed;
    } catch {
      return undefined;
    }
  }

  /** Where a sandbox has the workspace. */
  get sandboxFolder() {
    return this.config?.agents?.defaults?.sandbox?.docker?.workdir ?? "/workspace";
  }

  /**
   * Who typed a command.
   * @param {CommandContext} ctx
   * @returns {Sender}
   */
  senderOf(ctx) {
    if (ctx.isAuthorizedSender !== true) {
      return "stranger";
    }
    const { channel, accountId, senderId, gatewayClientScopes } = ctx;
    const isOwner =
      ctx.senderIsOwner !== false &&
      this.#isOwner({ channel: channel ?? "", accountId, id: senderId ?? "" }, gatewayClientScopes);
    return isOwner ? "owner" : "member";
  }

  /**
   * Somebody else than an owner, as whose a run of the model is; undefined where the host names nobody.
   * @param {ToolContext} ctx
   */
  strangerIn({ requesterSenderId, messageChannel, agentAccountId, senderIsOwner }) {
    return senderIsOwner === false && requesterSenderId !== undefined && requesterSenderId !== ""
      ? JSON.stringify({ channel: messageChannel ?? "", accountId: agentAccountId, id: requesterSenderId })
      : undefined;
  }

  /** Whether somebody who was a stranger is an owner by now. @param {string} stranger as `strangerIn` says it */
  isOwnerNow(stranger) {
    try {
      return this.#isOwner(JSON.parse(stranger));
    } catch {
      return false;
    }
  }

  /** @returns {Json} */
  get #session() {
    return /** @type {Json} */ (this.config)?.session ?? {};
  }

  /** @returns {[string, Json][]} */
  get #channels() {
    const all = Object.entries(/** @type {Json} */ (this.config)?.channels ?? {});
    return all.filter(([name, channel]) => !noChannels.has(name) && isObject(channel) && channel.enabled !== false);
  }

  /** The configuration without owners that are named for no channel, where there are several: an ID of one may be anybody's on another. */
  get #strict() {
    const config = /** @type {Json} */ (this.config ?? {});
    const owners = config.commands?.ownerAllowFrom;
    if (!Array.isArray(owners) || this.#channels.length <= 1) {
      return config;
    }
    const named = owners.filter((owner) => /^[^:]+:./.test(String(owner)));
    return { ...config, commands: { ...config.commands, ownerAllowFrom: named } };
  }

  /** @param {Identity} who @param {string[]} [gatewayClientScopes] of an operator */
  #isOwner({ channel, accountId, id }, gatewayClientScopes) {
    if (this.#authorize === undefined || channel === "") {
      return false;
    }
    const ctx = {
      Provider: channel,
      Surface: channel,
      OriginatingChannel: channel,
      AccountId: accountId,
      SenderId: id,
    };
    const scopes = gatewayClientScopes === undefined ? {} : { GatewayClientScopes: gatewayClientScopes };
    const asked = { cfg: this.#strict, commandAuthorized: true, ctx: { ...ctx, ...scopes, ChatType: "direct" } };
    try {
      return this.#authorize(asked).senderIsOwner === true;
    } catch {
      return false;
    }
  }

  /** `direct:PEER`, `CHANNEL:direct:PEER`, `CHANNEL:ACCOUNT:direct:PEER`, each maybe with a thread. @param {string[]} rest @param {number} at */
  #isOwnersChat(rest, at) {
    const behind = rest.slice(at + 1);
    const thread = behind.findIndex((part) => threadKinds.has(part));
    const peer = (thread < 0 ? behind : behind.slice(0, thread)).join(":");
    const [channel, accountId] = rest.slice(0, at);
    if (peer === "" || at > 2) {
      return false;
    }
    const people = this.#behind(peer, channel, accountId);
    return people.length > 0 && people.every((who) => this.#isOwner(who));
  }

  /**
   * Those whom the host puts into one session, on the channel of its key or on any: whom `session.identityLinks` gives that name, and
   * whoever has it as their ID.
   *
   * @param {string} name
   * @param {string | undefined} channel
   * @param {string | undefined} accountId
   * @returns {Identity[]}
   */
  #behind(name, channel, accountId) {
    const links = Object.entries(this.#session.identityLinks ?? {}).filter(
      ([known, ids]) => known.trim().toLowerCase() === name && Array.isArray(ids),
    );
    const linked = links
      .flatMap(([, ids]) => /** @type {unknown[]} */ (ids))
      .map((given) => {
        const [, on = channel ?? "", id = ""] = /^(?:([^:]+):)?(.+)$/s.exec(String(given).trim()) ?? [];
        return { channel: on.toLowerCase(), accountId, id };
      })
      .filter((who) => channel === undefined || who.channel === channel);
    const channels = channel === undefined ? this.#channels.map(([known]) => known) : [channel];
    const alike = channels.filter((on) => {
      const ids = linked.filter((who) => who.channel === on);
      // Where IDs are numbers, a name is none.
      return isNumber(name) || ids.length === 0 || !ids.every(({ id }) => isNumber(id));
    });
    return [...linked, ...alike.map((on) => ({ channel: on, accountId, id: name }))];
  }

  /** Whether only owners write in an agent's main session. */
  async #isMainOwners() {
    const session = this.#session;
    const bindings = /** @type {Json} */ (this.config)?.bindings;
    const scopes = (Array.isArray(bindings) ? bindings : []).map((binding) => binding?.session ?? {});
    if (session.scope === "global" || [session, ...scopes].some(({ groupScope }) => groupScope === "main")) {
      return false;
    }
    const isApart = (session.dmScope ?? "main") !== "main" && scopes.every(({ dmScope }) => dmScope !== "main");
    if (isApart) {
      return true;
    }
    const asked = this.#channels.map(([channel, settings]) => this.#isOwnersAlone(channel, settings));
    return (await Promise.all(asked)).every(Boolean);
  }

  /** Whether only owners may write to a channel in private. @param {string} channel @param {Json} settings */
  async #isOwnersAlone(channel, settings) {
    const accounts = Object.entries(settings.accounts ?? {}).filter(([, account]) => isObject(account));
    const all = accounts.length > 0 ? accounts : [["default", {}]];
    for (const [accountId, account] of /** @type {[string, Json][]} */ (all)) {
      const policy = account.dmPolicy ?? account.dm?.policy ?? settings.dmPolicy ?? settings.dm?.policy ?? "pairing";
      const listed = account.allowFrom ?? account.dm?.allowFrom ?? settings.allowFrom ?? settings.dm?.allowFrom ?? [];
      if (policy === "disabled") {
        continue;
      }
      const paired = policy === "pairing" ? await this.#pairedWith(channel, accountId) : [];
      if ((policy !== "allowlist" && policy !== "pairing") || paired === undefined || !Array.isArray(listed)) {
        return false;
      }
      if (![...listed, ...paired].every((id) => this.#isOwner({ channel, accountId, id: String(id) }))) {
        return false;
      }
    }
    return true;
  }

  /** Undefined where it cannot be said. @param {string} channel @param {string} accountId */
  async #pairedWith(channel, accountId) {
    try {
      return await this.#paired?.(channel, accountId);
    } catch {
      return undefined;
    }
  }
}

/** Whether the host says that a command came from a group. @param {CommandContext} ctx */
export function isFromGroup({ from = "" }) {
  return from
    .toLowerCase()
    .split(":")
    .some((part) => groupKinds.has(part));
}

/** Whether an ID is a number, also of a telephone. @param {string} id */
function isNumber(id) {
  return /^\+?\d+$/.test(id);
}

/** @param {unknown} value @returns {value is Json} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
