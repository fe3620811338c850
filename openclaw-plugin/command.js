// The command `/palimpsest`, in every channel: what it takes and answers, as plain text. What it says of a session is in lib/, for all
// hosts. Decides nothing about contexts.
import { tools } from "../index.js";
import { continued } from "../lib/continue.js";
import { describe } from "../lib/failures.js";
import { isIncomplete, memoryParts } from "../lib/memory-command.js";
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
import { contextReport, settingsText, sharingSection } from "../lib/report.js";
import { harmless, name as spelt } from "../lib/terminal.js";
import { windowParts } from "../lib/window.js";
import { turnedOff } from "./sessions.js";

/**
 * @import { Changeable } from "../lib/objects.js"
 * @import { CommandContext } from "./host.d.ts"
 * @import { Plugin } from "./plugin.js"
 * @import { Current, Who } from "./sessions.js"
 *
 * @typedef {object} Around what a part may know
 * @property {Plugin} plugin
 * @property {Who} who
 * @property {Current | undefined} current undefined where Palimpsest is off
 *
 * @typedef {object} Part
 * @property {string} usage what it takes; what is needed stands in capitals
 * @property {string} summary
 * @property {(around: Around, given: string) => Promise<string>} run
 */

const command = "/palimpsest";

/** @type {ReadonlyMap<string, Part>} */
const parts = new Map(
  Object.entries({
    status: { usage: "", summary: "what is in the window, what it costs and saves", run: status },
    objects: {
      usage: "[FILTER]",
      summary: "list the files and outputs that the session met",
      run: opened(objectsText),
    },
    show: {
      usage: "NAME",
      summary: "show the text of one, also an earlier version (`f3@-1`)",
      run: opened(contentText),
    },
    history: { usage: "NAME", summary: "list the versions of one", run: opened(historyText) },
    why: { usage: "[NAME]", summary: "how the last call showed it, and why", run: opened(whyText) },
    open: { usage: "", summary: "say how to see in a browser what the model saw", run: opened(whereToOpen) },
    activate: {
      usage: "NAME [LINES] [/PATTERN/]",
      summary: "show its text to the model with the next message",
      run: opened(activated),
    },
    deactivate: {
      usage: "NAME",
      summary: "let its text leave the window with the next epoch",
      run: opened(deactivated),
    },
    pin: { usage: "NAME", summary: "keep its text in the window until it is unpinned", run: opened(pinned) },
    unpin: { usage: "NAME", summary: "lift its pin; its text stays for now", run: opened(unpinned) },
    continue: {
      usage: "NAME [FILE]",
      summary: "go on, in a new session, with another one, of Pi too; FILE: the store or archive that has it",
      run: continueHere,
    },
    settings: { usage: "[FILTER]", summary: "list the settings, and who set them", run: settings },
    memory: { usage: "[PART]", summary: "show, search and check memory; `memory help` lists its parts", run: memory },
    off: { usage: "", summary: "turn it off in this session", run: off },
    on: { usage: "", summary: "turn it on in this session", run: on },
  }),
);

/** Answers the command. Never rejects. @param {Plugin} plugin @param {CommandContext} ctx @returns {Promise<string>} */
export async function runCommand(plugin, ctx) {
  try {
    const { sessionId, sessionKey, agentId } = ctx;
    if (sessionId === undefined) {
      return "There is no session here yet: say something first.";
    }
    const who = { sessionId, sessionKey, cwd: plugin.workspaceOf(sessionId, agentId) };
    const [, name = "status", given = ""] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(ctx.args ?? "") ?? [];
    const part = parts.get(name);
    if (part === undefined) {
      return (name === "help" ? "" : `\`${command} ${name}\` is not known. `) + help();
    }
    if (given === "" && /^[A-Z]/.test(part.usage)) {
      return `Which one? \`${command} ${name} ${part.usage}\``;
    }
    return harmless(await part.run({ plugin, who, current: await plugin.sessions.of(who) }, given));
  } catch (error) {
    return describe(error);
  }
}

function help() {
  const lines = [...parts].map(([name, { usage, summary }]) => `- ${`${name} ${usage}`.trim()}: ${summary}`);
  return [`After \`${command}\` there are:`, ...lines].join("\n");
}

/** A part that is answered in an open session. @param {(current: Changeable, given: string) => Promise<string>} answer @returns {Part["run"]} */
function opened(answer) {
  return async ({ plugin, who, current }, given) => {
    if (current === undefined) {
      return offText(plugin, who);
    }
    const { layout } = await plugin.sessions.settings();
    const { session, store } = current;
    const about = {
      session,
      store,
      cwd: who.cwd,
      host: "OpenClaw",
      command,
      isShared: plugin.sessions.isShared(who.sessionKey),
    };
    return answer({ ...about, layout, tools: tools() }, given);
  };
}

/** Who chats is often elsewhere: the gateway serves no page. @param {Changeable} current */
function whereToOpen({ store, session }) {
  return openElsewhere(store, session.id, "To see it in a browser, run on the gateway's machine");
}

/** @param {Around} around @param {string} given */
async function continueHere(around, given) {
  return around.plugin.sessions.isShared(around.who.sessionKey)
    ? "Not here: others read this chat, and would read that session."
    : opened(continued)(around, given);
}

/** @param {Plugin} plugin @param {Who} who */
function offText({ sessions }, { sessionId }) {
  const why = sessions.whyOff(sessionId) ?? "it could not be opened";
  const first = why === turnedOff ? "" : "put that right, then ";
  return `Palimpsest is off in this session: ${why}\nTo turn it on: ${first}\`${command} on\``;
}

/** @param {Around} around */
async function status({ plugin, who, current }) {
  if (current === undefined) {
    return offText(plugin, who);
  }
  const { session, store, room } = current;
  const figures = session.status();
  const { newest } = plugin.failures;
  const notices = [
    ...current.notices,
    ...figures.silentPlaces.map((path) => `\`${spelt(path)}\` does not answer`),
    ...(current.failed === undefined ? [] : [`the last call went out with OpenClaw's own messages: ${current.failed}`]),
    ...(newest === undefined ? [] : [`the newest failure: ${newest}`]),
  ];
  const layout = (await plugin.sessions.settings()).layout;
  const recorded = await store.recordedCall(session.id).then(windowParts, () => undefined);
  // The record holds what is ours of the system prompt: OpenClaw does not show the rest.
  const isMeasured = recorded !== undefined && room.promptTokens > 0;
  const parts = isMeasured ? { ...recorded, prompt: room.promptTokens } : undefined;
  const window = { host: "OpenClaw", contextWindow: room.whole, layout, parts };
  const report = contextReport(figures, await session.ledger(), window);
  const shared = await sharingSection(session);
  return [report, `store     ${store.path}`, ...shared, ...notices.map((notice) => `notice    ${notice}`)].join("\n");
}

/** @param {Around} around @param {string} filter */
async function settings({ plugin }, filter) {
  return settingsText(await plugin.sessions.settingValues(), filter);
}

/** @param {Around} around */
async function off({ plugin, who, current }) {
  if (current === undefined) {
    return offText(plugin, who);
  }
  await plugin.sessions.choose(who.sessionId, { off: true });
  await plugin.sessions.close(who.sessionId);
  return `Palimpsest is off in this session: the model gets OpenClaw's own messages. \`${command} on\` turns it on again.`;
}

/** @param {Around} around */
async function on({ plugin, who, current }) {
  if (current !== undefined) {
    return "Palimpsest is on in this session.";
  }
  await plugin.sessions.choose(who.sessionId, { off: false });
  const again = await plugin.sessions.of(who);
  return again === undefined ? offText(plugin, who) : "Palimpsest is on again in this session.";
}

/** @param {Around} around @param {string} typed */
async function memory({ plugin, who, current }, typed) {
  if (current === undefined) {
    return offText(plugin, who);
  }
  const [, name = "overview", given = ""] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(typed) ?? [];
  const typedAs = `${command} memory`;
  if (name === "off" || name === "on") {
    return turnMemory(plugin, who, current, name === "on");
  }
  const part = memoryParts.get(name);
  if (part === undefined) {
    const lines = [...memoryParts].map(([known, { usage, summary }]) => `- ${`${known} ${usage}`.trim()}: ${summary}`);
    const unknown = name === "help" ? "" : `\`${typedAs} ${name}\` is not known. `;
    return [
      `${unknown}After \`${typedAs}\` there are:`,
      ...lines,
      "- off, on: keep memory out of this session's prompt, or not",
    ].join("\n");
  }
  if (isIncomplete(part, given)) {
    return `Which one? \`${typedAs} ${name} ${part.usage}\``;
  }
  const { store, session } = current;
  const around = {
    memory: current.memory.opened,
    say: current.memory.say,
    command: typedAs,
    // What was said in other chats is not for those who read this one.
    store: plugin.sessions.isShared(who.sessionKey) ? undefined : store,
    session: session.id,
    off: current.memory.isOff,
  };
  return (await part.run(around, given)).text;
}

/** @param {Plugin} plugin @param {Who} who @param {Current} current @param {boolean} isOn */
async function turnMemory(plugin, who, current, isOn) {
  await plugin.sessions.choose(who.sessionId, { memoryOff: !isOn });
  current.memory.isOff = !isOn;
  return isOn
    ? "Memory is on in this session: the next prompt has it."
    : `Memory is off in this session: the next prompt has none of it. \`${command} memory on\` turns it on again.`;
}
