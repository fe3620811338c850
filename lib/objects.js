// What a person's command says of the objects of a session: which there are, their content and versions, and why the model sees them as it
// does. And what it does to them for a person: what the tools do for the model, and an archive. Holds no policy.
import { existsSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { plural, size, what, wholeOutput, whyNoText } from "./describe.js";
import { describeObject } from "./describing.js";
import { shortCount } from "./figures.js";
import { typed } from "./program.js";
import { reasons } from "./reasons.js";
import { line, name as spelt } from "./terminal.js";
import { age, byteSize, cameWith, counted, cut } from "./words.js";

/**
 * @import { ContextTool, Session, SessionSets, Settings, Store } from "../index.js"
 *
 * @typedef {object} Opened an open session with its store
 * @property {Session} session
 * @property {Store} store
 * @property {string} cwd the working folder, from which paths are shown and taken
 * @property {string} host its name
 * @property {string} command the person's command: `/context`
 * @property {string} [typedStore] the store's path, where the command line does not find it by itself
 * @property {boolean} [isConfined] whether others than the user read the answer: then it shows what the session met, as it met it
 */

/** Objects, versions and messages that are listed: a terminal shows no more at a time. */
const listed = 30;
/** Lines of a content that are shown, and characters of each. */
const shownLines = 60;
const shownCharacters = 200;
/** `NAME@12`, `NAME@-1`. */
const versioned = /^(.+)@(-?\d+)$/s;
/** Characters of what a completion says of an object. */
const shownDescription = 120;

/** The objects whose handle, type, path, tool or state holds `filter`, newest last. @param {Opened} opened @param {string} filter */
export async function objectsText({ session, store, cwd }, filter) {
  const sets = await session.sets();
  const wanted = filter.toLowerCase();
  /** @param {SessionSets["index"][number]} object */
  const fits = ({ handle, type, path, tool }) =>
    [handle, type, path ?? "", tool ?? "", ...statesOf(sets, handle)].some((word) =>
      word.toLowerCase().includes(wanted),
    );
  const found = sets.index.filter(fits);
  if (found.length === 0) {
    return filter === "" ? "No file and no output yet." : `No file or output fits \`${filter}\`.`;
  }
  const rows = found.slice(-listed).map(async ({ handle, id, path }) => {
    const name = path === null ? await store.get(id).then(what, () => id) : within(cwd, path);
    return `${handle.padEnd(6)} ${statesOf(sets, handle).join(", ").padEnd(15)} ${cut(name, 90)}`;
  });
  const more = found.length > listed ? [`the newest ${listed} of ${found.length}; a filter finds others`] : [];
  return [...(await Promise.all(rows)), ...more].join("\n");
}

/**
 * The content of an object, or its beginning.
 * @param {Opened} opened
 * @param {string} name a handle, path, nickname or ID, also of a version (`f3@-1`)
 */
export async function contentText(opened, name) {
  const { id, lines: asked } = await versionOf(opened, name);
  const version = await opened.store.get(id);
  const content = await opened.store.content(id, { lines: asked, field: wholeOutput(version) });
  if (content === null) {
    return `\`${name}\` has no text: ${whyNoText(version) ?? size(version, shortCount)}`;
  }
  const lines = content.replace(/\r?\n$/, "").split(/\r?\n/);
  const shown = lines.slice(0, shownLines).map((text) => cut(text, shownCharacters));
  const rest = lines.length - shown.length;
  const { session, isConfined, typedStore } = opened;
  const all = isConfined ? "" : `: \`${typed(["show", name, "--session", session.id], typedStore)}\` prints all`;
  const more = `… ${counted(rest, "more line")}${all}`;
  return [...shown, ...(rest > 0 ? [more] : [])].join("\n");
}

/** The versions of an object, newest first. @param {Opened} opened @param {string} name */
export async function historyText(opened, name) {
  const versions = await versionsOf(opened, name);
  const rows = versions.slice(0, listed).map((version, at) => {
    const moved = version.id === versions[0].id ? "" : `  as ${spelt(version.source?.path ?? version.id)}`;
    return `${at === 0 ? "latest" : `@-${at}`.padEnd(6)}  ${age(Date.now() - Date.parse(version.systemTime))} ago  ${size(version, shortCount)}${moved}`;
  });
  const more = versions.length > listed ? [`… ${counted(versions.length - listed, "earlier version")}`] : [];
  return [...rows, ...more].join("\n");
}

/** How the last call showed an object, or all that it did not show as the host had it, and why. @param {Opened} opened @param {string} name */
export async function whyText({ session, store, host, isConfined }, name) {
  const { about, call, failedOpen } = await store.recordedCall(session.id);
  if (failedOpen !== null) {
    return `Call ${call} went out with ${host}'s own messages${isConfined ? "." : `: ${line(failedOpen)}`}`;
  }
  // A message may have a name that the session no longer gives.
  /** @type {unknown} */
  let unknown;
  const known =
    name === ""
      ? null
      : await session.find(name).catch((error) => {
          unknown = error;
          return null;
        });
  const names = [name, known?.handle ?? name];
  // A note that shows an object begins with its name.
  const tells = (/** @type {string} */ note) => names.some((one) => note.startsWith(`[${one}] `));
  const found = about.filter(({ handle, fileHandle, path, shown, notes, folds }) =>
    name === ""
      ? (shown !== null && shown.as !== "given") || notes.length > 0 || folds.length > 0
      : names.some((one) => [handle, fileHandle, path].includes(one)) || notes.some(tells),
  );
  if (found.length === 0 && unknown !== undefined) {
    throw unknown;
  }
  if (found.length === 0) {
    return name === ""
      ? `Call ${call} showed everything as ${host} had it.`
      : `\`${name}\` has no message of its own in call ${call}: it left the window before, or its text never came into it.`;
  }
  const entries = found.slice(-listed).map((message) => {
    const { handle, fileHandle, path } = message;
    const names = [handle, fileHandle, path === null ? null : spelt(path)].filter((known) => known !== null);
    return [names.join(" ") || "a message", ...reasons(message).map((reason) => `  ${cut(reason, shownCharacters)}`)];
  });
  const more =
    found.length > listed ? [`the newest ${listed} of ${found.length}; a name after \`why\` finds others`] : [];
  return [`In call ${call}:`, ...entries.flat(), ...more].join("\n");
}

/**
 * Names of objects that go on from what was typed, the newest first: handles, and paths that have it at the start of a part. Of all, or
 * of those in a set. None where what was typed names an object as it stands, in that set or not: it would become another's.
 * @param {string} cwd
 * @param {SessionSets} sets
 * @param {string} typed
 * @param {"all" | "active" | "pinned"} of
 * @returns {{ name: string, description: string }[]}
 */
export function nameItems(cwd, sets, typed, of) {
  /** @param {SessionSets["index"][number]} object */
  const isIn = ({ handle }) =>
    of === "all" || sets[of].includes(handle) || (of === "pinned" && sets.pinnedWithoutRoom?.includes(handle) === true);
  /** @param {SessionSets["index"][number]} object */
  const isNamed = ({ handle, path }) =>
    handle === typed || (path !== null && [path, within(cwd, path)].includes(typed));
  if (sets.index.some(isNamed)) {
    return [];
  }
  const items = sets.index.filter(isIn).flatMap(({ handle, path, tool, type }) => {
    if (handle.startsWith(typed)) {
      const description = path === null ? spelt(tool ?? type.replace("_", " ")) : within(cwd, path);
      return [{ name: handle, description: cut(description, shownDescription) }];
    }
    const shown = path === null ? "" : within(cwd, path);
    const begins = shown.startsWith(typed) || path?.startsWith(typed) === true || shown.includes(`/${typed}`);
    return begins ? [{ name: path?.startsWith(typed) ? spelt(path) : shown, description: handle }] : [];
  });
  return items.slice(-listed).reverse();
}

/** A path as a line has it. @param {string} cwd @param {string} path */
function within(cwd, path) {
  return spelt(path.startsWith(join(cwd, sep)) ? relative(cwd, path) : path);
}

/** In which sets an object is, in words. @param {SessionSets} sets @param {string} handle */
function statesOf({ active, pinned, pinnedNext, pinnedWithoutRoom }, handle) {
  if (pinnedWithoutRoom?.includes(handle)) {
    return ["pinned, no room"];
  }
  if (pinned.includes(handle)) {
    return [pinnedNext?.includes(handle) ? "pinned (next)" : "pinned"];
  }
  return active.includes(handle) ? ["in the window"] : [];
}

/** The full ID of the object of a name, with the version and the lines that it names. @param {Opened} opened @param {string} name */
async function versionOf(opened, name) {
  if (!opened.isConfined) {
    const { name: id, lines } = await opened.session.find(name);
    return { id, lines: lines ?? undefined };
  }
  const [, plain = name, at] = versioned.exec(name) ?? [];
  const versions = await versionsOf(opened, plain);
  const found = at?.startsWith("-")
    ? versions[-Number(at)]
    : versions.find(({ txId }) => at === undefined || txId === Number(at));
  if (found === undefined) {
    throw unmet(name);
  }
  return { id: `${found.id}@${found.txId}`, lines: undefined };
}

/** The versions of an object that are to be shown, newest first. @param {Opened} opened @param {string} name */
async function versionsOf(opened, name) {
  if (!opened.isConfined) {
    return opened.store.history((await opened.session.find(name)).name);
  }
  const { id, versions } = await opened.session.met(name);
  const known = (await opened.store.history(id)).filter(({ contentHash }) => versions.includes(contentHash));
  if (known.length === 0) {
    throw unmet(name);
  }
  return known;
}

/** @param {string} name */
function unmet(name) {
  return Object.assign(new Error(`this session has met no \`${name}\``), { code: "UNKNOWN_NAME" });
}

/** An open session, as a person changes it. @typedef {Opened & { layout: Settings["layout"], tools: readonly ContextTool[] }} Changeable */

/** `NAME [LINES] [/PATTERN/]`; the tool reads a name with lines behind it. */
const wanted = /^(.+?)(?:\s+\/(.+)\/)?$/s;

/** Activates an object, or some of its lines. @param {Changeable} current @param {string} given */
export async function activated(current, given) {
  const [, name = given, pattern] = wanted.exec(given) ?? [];
  const result = await execute(current, "activate", { name, pattern });
  const came = cameWith(name, result);
  const hasCame = current.layout === "pools" || result.content[0].text.includes("\n");
  return hasCame ? `\`${name}\` goes to the model with the next message: ${came}` : `\`${name}\`: ${came}`;
}

/** Pins an object. @param {Changeable} current @param {string} name */
export async function pinned(current, name) {
  const answered = await changed(current, "pin", name);
  return answered.startsWith("done: ") || answered.includes("\n")
    ? `Pinned: \`${name}\` stays in the window until \`${current.command} unpin ${name}\`. If it is not there, it comes with the next message.`
    : answered;
}

/** Lifts a pin. @param {Changeable} current @param {string} name */
export async function unpinned(current, name) {
  const answered = await changed(current, "unpin", name);
  return answered.startsWith("done: ")
    ? `\`${name}\` is no longer pinned: what stands of it may leave as any other text does.`
    : answered;
}

/** Lets the text of an object go. @param {Changeable} current @param {string} name */
export async function deactivated(current, name) {
  const answered = (await changed(current, "deactivate", name)).replace(/^done: /, "");
  const [, tokens] = /, ([\d,]+ tokens?)$/.exec(answered) ?? [];
  return tokens === undefined ? answered : `\`${name}\` leaves the window with the next epoch: ${tokens}.`;
}

/** Gives an object a nickname. @param {Changeable} current @param {string} given `NAME NICKNAME` */
export async function named({ session, store }, given) {
  const [, name, nickname] = /^(.+)\s+(\S+)$/s.exec(given) ?? [];
  if (nickname === undefined) {
    return "A name and a nickname are needed, such as `t17 failing-test`.";
  }
  await store.name((await session.find(name)).name, nickname);
  return `\`${spelt(name)}\` is named \`${nickname}\`: you and the model may use that name.`;
}

/** Says what an object is. @param {Changeable} current @param {string} given `NAME TEXT` */
export async function described({ session, store }, given) {
  const [, name, summary] = /^(\S+)\s+(.+)$/s.exec(given) ?? [];
  if (summary === undefined) {
    return "A name and a line are needed, such as `t17 the first failing run`.";
  }
  await describeObject(store, (await session.find(name)).name, { summary });
  return `\`${spelt(name)}\` is described: the line stands behind it once its text has left the window.`;
}

/** Does what the tool of that name does. @param {Changeable} current @param {string} tool @param {string} name */
async function changed(current, tool, name) {
  const { content } = await execute(current, tool, { name });
  return content[0].text;
}

/** A person's command belongs to no call of the model. @param {Changeable} current @param {string} name @param {unknown} args */
async function execute({ session, tools }, name, args) {
  const tool = tools.find((known) => known.name === name);
  if (tool === undefined) {
    throw new Error(`\`${name}\` is not a tool`);
  }
  const { content, tokens } = await tool.execute(session, "", args);
  return { content, details: { tokens } };
}

/**
 * Writes an archive of the session. A file of a name that was given is not replaced; the one that has the session's own name is.
 * @param {Opened} opened
 * @param {string} given `[FILE] [--redact]`
 */
export async function exported({ session, store, cwd }, given) {
  const words = given.split(/\s+/).filter((word) => word !== "");
  const redact = words.includes("--redact");
  // Mistaken for a name, it would put the secrets into a file that the person thinks has none.
  const unknown = words.find((word) => word.startsWith("-") && word !== "--redact");
  if (unknown !== undefined) {
    return `\`${unknown}\` is not an option, and nothing was written. There is \`--redact\`.`;
  }
  const file = given.replaceAll(/(?<=^|\s)--redact(?=\s|$)/g, "").trim() || undefined;
  const own = `palimpsest-${session.id.replace(/^session:/, "").replaceAll(/[^\w.-]/g, "-")}.jsonl`;
  const path = resolve(cwd, file ?? own);
  if (file !== undefined && existsSync(path)) {
    return `\`${spelt(path)}\` is there already, and nothing was written. Name another file.`;
  }
  const { objects, versions, writtenBytes, redactions } = await store.maintenance.exportArchive({
    path,
    session: session.id,
    redact,
  });
  const secrets = Object.values(redactions).reduce((sum, count) => sum + count, 0);
  const left = redact
    ? `${plural(secrets, "secret")} left out`
    : "it holds what the session read, secrets too: `--redact` leaves out what looks like one";
  const what = `${plural(objects, "object")} in ${plural(versions, "version")}, ${byteSize(writtenBytes)}`;
  return `Wrote \`${spelt(path)}\`: ${what}; ${left}. \`palimpsest import\` reads it.`;
}
