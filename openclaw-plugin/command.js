// The command `/palimpsest`, in every channel: what it takes and answers, as plain text. What it says of a session is in lib/, for all
// hosts. Decides nothing about contexts.
import { tools } from "../index.js";
import { isAllowed, isOwners, refusedOption } from "../lib/authority.js";
import { continued } from "../lib/continue.js";
import { describe, isFailure } from "../lib/failures.js";
import { isIncomplete, memoryParts, runPart } from "../lib/memory-command.js";
import {
  activated,
  contentText,
  deactivated,
  historyText,
  objectsText,
  pinned,
  unpinned,
  whyText,
} from "../lib/objects.js";
import { openElsewhere } from "../lib/open-elsewhere.js";
import { plainRequestOf } from "../lib/plain-request.js";
import { withTyped } from "../lib/program.js";
import { contextReport, settingsText, sharingSection } from "../lib/report.js";
import { harmless, name as spelt } from "../lib/terminal.js";
import { isFromGroup } from "./authority.js";
import { turnedOff } from "./sessions.js";

/**
 * @import { Asked, Declared, May } from "../lib/authority.js"
 * @import { Changeable } from "../lib/objects.js"
 * @import { CommandContext } from "./host.d.ts"
 * @import { Plugin } from "./plugin.js"
 * @import { Current, Who } from "./sessions.js"
 *
 * @typedef {object} Around what a part may know
 * @property {Plugin} plugin
 * @property {Who} who
 * @property {Asked} asked whose the conversation is, and who writes
 * @property {Current | undefined} current undefined where Palimpsest is off
 *
 * @typedef {object} Part
 * @property {string} usage what it takes; what is needed stands in capitals
 * @property {string} summary
 * @property {May} [may] who else than the owner, in a conversation of their own, may use it: lib/authority.js
 * @property {Declared["options"]} [options]
 * @property {Declared["takesText"]} [takesText]
 * @property {(around: Around, given: string) => Promise<string>} run
 */

const command = "/palimpsest";

/** Why the owner has less here than elsewhere. */
const notAlone = "others take part in this conversation: your memory and your other sessions are kept out of it";

/** By name, in the order of the help. @type {ReadonlyMap<string, Part>} */
export const parts = new Map(
  Object.entries(
    /** @type {Record<string, Part>} */ ({
      status: { may: "read", usage: "", summary: "what is in the window, what it costs and saves", run: status },
      objects: {
        may: "read",
        takesText: true,
        usage: "[FILTER]",
        summary: "list the files and outputs that the session met",
        run: opened(objectsText),
      },
      show: {
        may: "read",
        takesText: true,
        usage: "NAME",
        summary: "show the text of one, also an earlier version (`f3@-1`)",
        run: opened(contentText),
      },
      history: {
        may: "read",
        takesText: true,
        usage: "NAME",
        summary: "list the versions of one",
        run: opened(historyText),
      },
      why: {
        may: "read",
        takesText: true,
        usage: "[NAME]",
        summary: "how the last call showed it, and why",
        run: opened(whyText),
      },
      open: { usage: "", summary: "say how to see in a browser what the model saw", run: opened(whereToOpen) },
      activate: {
        may: "change",
        takesText: true,
        usage: "NAME [LINES] [/PATTERN/]",
        summary: "show its text to the model with the next message",
        run: opened(activated),
      },
      deactivate: {
        may: "change",
        takesText: true,
        usage: "NAME",
        summary: "let its text leave the window with the next epoch",
        run: opened(deactivated),
      },
      pin: {
        may: "change",
        takesText: true,
        usage: "NAME",
        summary: "keep its text in the window until it is unpinned",
        run: opened(pinned),
      },
      unpin: {
        may: "change",
        takesText: true,
        usage: "NAME",
        summary: "lift its pin; its text may then leave as any other does",
        run: opened(unpinned),
      },
      continue: {
        usage: "NAME [FILE]",
        summary: "go on, in a new session, with another one, of Pi too; FILE: the store or archive that has it",
        run: opened(continued),
      },
      settings: { usage: "[FILTER]", summary: "list the settings, and who set them", run: settings },
      memory: {
        may: "read",
        usage: "[PART]",
        summary: "show, search and check memory; `memory help` lists its parts",
        run: memory,
      },
      off: { usage: "[CHAT]", summary: "turn it off in this chat, or in another one", run: off },
      on: { usage: "[CHAT]", summary: "turn it on in this chat, or in another one", run: on },
    }),
  ),
);

/** Parts of `memory` that are about the session, beside those of every host. @type {ReadonlyMap<string, Declared>} */
export const memorySwitches = new Map([
  ["off", {}],
  ["on", {}],
]);

/** Errors whose words say nothing but what was typed and what the session met. */
const ownWords = new Set([
  "AMBIGUOUS_NAME",
  "FORGOTTEN",
  "INVALID_ARGUMENT",
  "NOT_ACTIVATABLE",
  "NOT_FOUND",
  "NO_OPERATION",
  "NO_PAGE",
  "NO_ROOM",
  "SECRET",
  "UNKNOWN_NAME",
]);

/** Answers the command. Never rejects. @param {Plugin} plugin @param {CommandContext} ctx @returns {Promise<string>} */
export async function runCommand(plugin, ctx) {
  /** @type {Asked} */
  let asked = { conversation: "mixed", sender: "stranger" };
  try {
    const { sessionId, sessionKey, agentId } = ctx;
    if (sessionId === undefined) {
      return "There is no session here yet: say something first.";
    }
    asked = await askedBy(plugin, ctx, sessionId);
    if (asked.sender === "stranger" || (asked.sender === "member" && !isAllowed(asked, "read"))) {
      return "Only the owner can use Palimpsest here.";
    }
    const { name = "status", given } = typedIn(ctx.args ?? "");
    const part = parts.get(name);
    if (part === undefined) {
      return harmless((name === "help" ? "" : `\`${command} ${name}\` is not known. `) + help(asked));
    }
    const refused = refusal(asked, `${command} ${name}`, part, name === "memory" ? "" : given);
    if (refused !== undefined) {
      return harmless(refused);
    }
    if (given === "" && /^[A-Z]/.test(part.usage)) {
      return `Which one? \`${command} ${name} ${part.usage}\``;
    }
    const who = { sessionId, sessionKey, cwd: plugin.workspaceOf(sessionId, agentId) };
    return harmless(await part.run({ plugin, who, asked, current: await plugin.sessions.of(who) }, given));
  } catch (error) {
    return isOwners(asked) ? harmless(await plugin.sessions.withTyped(describe(error))) : failed(plugin, error);
  }
}

/** Signs without width that what was copied begins or ends with. */
const noWidth = /^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu;

/** The first word of what was typed, which phones write with a capital, and the rest. @param {string} typed @returns {{ name?: string, given: string }} */
function typedIn(typed) {
  const [, name, given = ""] = /^(\S+)\s*(.*)$/s.exec(typed.replaceAll(noWidth, "")) ?? [];
  return { name: name?.toLowerCase(), given };
}

/** @param {Plugin} plugin @param {CommandContext} ctx @param {string} sessionId @returns {Promise<Asked>} */
async function askedBy({ sessions, authority }, ctx, sessionId) {
  const { conversation } = await sessions.conversations.whose(sessionId, ctx.sessionKey);
  // The host may have been told to lead a group into the session of somebody alone: then others read the answer.
  const isElsewhere = conversation !== "group" && isFromGroup(ctx);
  return { conversation, sender: isElsewhere ? "stranger" : authority.senderOf(ctx) };
}

/** Why somebody may not use a part with what was typed behind it. @param {Asked} asked @param {string} typed @param {Declared} part @param {string} given */
function refusal(asked, typed, part, given) {
  if (!isAllowed(asked, part.may)) {
    return asked.sender === "owner"
      ? `\`${typed}\` works only in a private conversation: others take part in this one.`
      : `Only the owner can use \`${typed}\`.`;
  }
  const option = refusedOption(asked, part, given);
  return option === undefined ? undefined : `\`${option}\` works only for the owner, in a private conversation.`;
}

/** What those hear of an error who may not see what is the owner's: of ours nothing but that it is there. @param {Plugin} plugin @param {unknown} error */
async function failed({ failures }, error) {
  const { code } = /** @type {{ code?: string }} */ (error ?? {});
  if (!isFailure(error) && ownWords.has(code ?? "")) {
    return harmless(/** @type {Error} */ (error).message);
  }
  await failures.report("a command did not work", error);
  return "That did not work. The owner finds the reason in the log.";
}

/** @param {Asked} asked */
function help(asked) {
  const allowed = [...parts].filter(([, part]) => isAllowed(asked, part.may));
  const lines = allowed.map(([name, { usage, summary }]) => `- ${`${name} ${usage}`.trim()}: ${summary}`);
  return [`\`${command}\` takes:`, ...lines].join("\n");
}

/** A part that is answered in an open session. @param {(current: Changeable, given: string) => Promise<string>} answer @returns {Part["run"]} */
function opened(answer) {
  return async ({ plugin, who, asked, current }, given) => {
    if (current === undefined) {
      return offText(plugin, who, asked);
    }
    const { layout } = await plugin.sessions.settings();
    const { session, store } = current;
    const about = {
      session,
      store,
      cwd: who.cwd,
      host: "OpenClaw",
      command,
      typedStore: store.path,
      isConfined: !isOwners(asked),
    };
    return answer({ ...about, layout, tools: tools() }, given);
  };
}

/** Who chats is often elsewhere: the gateway serves no page. @param {Changeable} current */
function whereToOpen({ store, session }) {
  return openElsewhere(store, session.id, "To see it in a browser, run on the gateway's machine");
}

/** @param {Plugin} plugin @param {Who} who @param {Asked} asked */
async function offText({ sessions }, { sessionId }, asked) {
  if (!isOwners(asked)) {
    return "Palimpsest is off in this session.";
  }
  const why = await sessions.withTyped(sessions.whyOff(sessionId) ?? "it could not be opened");
  const [where, first] = why === turnedOff ? ["chat", ""] : ["session", "put that right, then "];
  const wrong = sessions.wrongSettings === undefined ? [] : [`notice: ${sessions.wrongSettings}`];
  const lines = [`Palimpsest is off in this ${where}: ${why}`, `To turn it on: ${first}\`${command} on\``];
  return [...lines, ...wrong].join("\n");
}

/** @param {Around} around */
async function status({ plugin, who, asked, current }) {
  if (current === undefined) {
    return offText(plugin, who, asked);
  }
  const { session, store, room } = current;
  const figures = session.status();
  const { newest } = plugin.failures;
  const { wrongSettings } = plugin.sessions;
  const notices = [
    ...(wrongSettings === undefined ? [] : [wrongSettings]),
    ...current.notices,
    ...figures.silentPlaces.map((path) => `\`${spelt(path)}\` does not answer`),
    ...(current.failed === undefined ? [] : [`the last call went out with OpenClaw's own messages: ${current.failed}`]),
    ...(newest === undefined ? [] : [`the newest failure: ${newest}`]),
  ];
  const { layout, thrift, faultTokens } = await plugin.sessions.settings();
  const recorded = await store.recordedCall(session.id).then(
    (call) => call.kinds,
    () => undefined,
  );
  // The record holds what is ours of the system prompt: OpenClaw does not show the rest.
  const isMeasured = recorded !== undefined && room.promptTokens > 0;
  const kinds = isMeasured ? { ...recorded, prompt: room.promptTokens } : undefined;
  const window = { host: "OpenClaw", contextWindow: room.whole, layout, thrift, faultTokens, kinds };
  const report = contextReport(figures, await session.ledger(), window);
  if (!isOwners(asked)) {
    // Where things are kept, and what failed elsewhere, is nothing of the conversation's.
    return asked.sender === "owner" ? `${report}\nnotice    ${notAlone}` : report;
  }
  const shared = await sharingSection(session);
  const told = notices.map((notice) => `notice    ${withTyped(notice, store.path)}`);
  return [report, `store     ${store.path}`, ...shared, ...told].join("\n");
}

/** @param {Around} around @param {string} filter */
async function settings({ plugin }, filter) {
  return withProblem(settingsText(await plugin.sessions.settingValues(), filter), plugin.sessions.wrongSettings);
}

/** @param {Around} around @param {string} chat */
async function off({ plugin, who, asked, current }, chat) {
  if (chat !== "") {
    return turnOther(plugin, chat, true);
  }
  if (current === undefined && plugin.sessions.whyOff(who.sessionId) === turnedOff) {
    return offText(plugin, who, asked);
  }
  const text = current && plainRequestOf("OpenClaw", current.session.status(), current.room.whole);
  const problem = await plugin.sessions.choose(who, "off", true);
  const off = `Palimpsest is off in this chat: the model gets OpenClaw's own messages, without our tools and guidance. \`${command} on\` turns it on again.`;
  return withProblem(text === undefined ? off : `${off}\n${text}`, problem);
}

/** @param {Around} around @param {string} chat */
async function on({ plugin, who, asked, current }, chat) {
  if (chat !== "") {
    return turnOther(plugin, chat, false);
  }
  if (current !== undefined) {
    return "Palimpsest is on in this chat.";
  }
  const problem = await plugin.sessions.choose(who, "off", false);
  const again = await plugin.sessions.of(who);
  const text = again === undefined ? await offText(plugin, who, asked) : "Palimpsest is on again in this chat.";
  return withProblem(text, problem);
}

/** Turns it off or on in another chat, such as a group, where the owner may not. @param {Plugin} plugin @param {string} chat @param {boolean} off */
async function turnOther(plugin, chat, off) {
  const [key, ...others] = plugin.keysOf(chat);
  if (key === undefined || others.length > 0) {
    const which = key === undefined ? "" : ` It may be ${[key, ...others].map((one) => `\`${one}\``).join(" or ")}.`;
    return `No chat is called \`${chat}\`: give the key of its session, such as \`agent:main:telegram:group:-1001\`.${which}`;
  }
  const who = { sessionId: plugin.sessionOf(key) ?? key, sessionKey: key };
  const problem = await plugin.sessions.choose(who, "off", off);
  return withProblem(`Palimpsest is ${off ? "off" : "on"} in \`${key}\`, from its next turn on.`, problem);
}

/** @param {Around} around @param {string} typed */
async function memory({ plugin, who, asked, current }, typed) {
  if (current === undefined) {
    return offText(plugin, who, asked);
  }
  const { name = "overview", given } = typedIn(typed);
  const typedAs = `${command} memory`;
  const part = memoryParts.get(name);
  const declared = part ?? memorySwitches.get(name);
  if (declared === undefined) {
    return (name === "help" ? "" : `\`${typedAs} ${name}\` is not known. `) + memoryHelp(asked, typedAs);
  }
  const refused = refusal(asked, `${typedAs} ${name}`, declared, given);
  if (refused !== undefined) {
    return refused;
  }
  if (part === undefined) {
    return turnMemory(plugin, who, name === "on");
  }
  if (isIncomplete(part, given)) {
    return `Which one? \`${typedAs} ${name} ${part.usage}\``;
  }
  const { store, session } = current;
  const around = {
    memory: current.memory.opened,
    say: current.memory.say,
    command: typedAs,
    // What was said in other chats is private, and others take part in this one.
    store: isOwners(asked) ? store : undefined,
    isConfined: !isOwners(asked),
    session: session.id,
    off: await current.memory.isOff(),
  };
  const { text } = await runPart(part, around, given);
  return name === "trust" ? withTyped(text, store.path) : text;
}

/** @param {Asked} asked @param {string} typedAs */
function memoryHelp(asked, typedAs) {
  const allowed = [...memoryParts].filter(([, part]) => isAllowed(asked, part.may));
  return [
    `\`${typedAs}\` takes:`,
    ...allowed.map(([known, { usage, summary }]) => `- ${`${known} ${usage}`.trim()}: ${summary}`),
    ...(isOwners(asked) ? ["- off, on: keep memory out of this chat's prompts, or not"] : []),
  ].join("\n");
}

/** @param {Plugin} plugin @param {Who} who @param {boolean} isOn */
async function turnMemory(plugin, who, isOn) {
  const problem = await plugin.sessions.choose(who, "memoryOff", !isOn);
  const text = isOn
    ? "Memory is on in this chat: the next prompt has it."
    : `Memory is off in this chat: the next prompt has none of it. \`${command} memory on\` turns it on again.`;
  return withProblem(text, problem);
}

/** @param {string} text @param {string | undefined} problem */
function withProblem(text, problem) {
  return problem === undefined ? text : `${text}\n${problem}`;
}
