// What entries of memory may claim of a file, found in its text by rules of this file alone: it is the truth against which the study of marks
// (marks-study.js) holds what memory says, so it must not call memory, or share a rule with it.

/**
 * @typedef {"constant" | "parameters" | "fields" | "definition" | "message" | "script" | "phrase" | "file"} Kind
 *
 * @typedef {object} Claim
 * @property {Kind} kind
 * @property {string} name what it is about; of a message and a phrase, the words themselves
 * @property {string[]} said what is claimed: a value, parameters, fields, a command
 * @property {number} first the place on which the claim rests, in lines from 1
 * @property {number} last
 */

/** Longest place that an entry claims something of, in lines. */
const longest = 80;
const visible = String.raw`(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?`;
const value = String.raw`-?[\d_]+(?:\.\d+)?|"[^"\\]{3,40}"`;

/** What can be claimed of a file. @param {string} path @param {string} text @returns {Claim[]} */
export function claimsOf(path, text) {
  const lines = text.split("\n");
  const found = path.endsWith(".md")
    ? phrases(lines)
    : path === "package.json"
      ? scripts(lines, text)
      : [...constants(lines), ...definitions(lines), ...messages(lines)];
  const inPlace = found.filter(({ first, last }) => last - first < longest);
  return [...inPlace, { kind: "file", name: path, said: [], first: 1, last: lines.length }];
}

/** What a file says now of that of which something was claimed. @param {Claim} claim @param {Claim[]} now */
export function counterparts(claim, now) {
  return now.filter(({ kind, name }) => kind === claim.kind && name === claim.name);
}

/** Whether a claim is still true of a text. @param {Claim} claim @param {Claim[]} now what can be claimed of it @param {string} text */
export function holds(claim, now, text) {
  if (claim.kind === "message" || claim.kind === "phrase") {
    const words = (/** @type {string} */ of) => of.replace(/\s+/g, " ");
    return words(text).includes(words(claim.name));
  }
  return counterparts(claim, now).some(({ said }) =>
    claim.kind === "fields" ? claim.said.every((one) => said.includes(one)) : said.join("\n") === claim.said.join("\n"),
  );
}

/** The text of lines without blanks, by which places are compared. @param {string} text @param {number} [first] @param {number} [last] */
export function placeText(text, first = 1, last = Number.POSITIVE_INFINITY) {
  const lines = text.split("\n").slice(first - 1, last);
  return lines
    .map((line) => line.replace(/\s+/g, ""))
    .filter((line) => line !== "")
    .join("\n");
}

/** @param {string[]} lines @returns {Claim[]} */
function constants(lines) {
  const form = new RegExp(`^\\s*${visible}(?:const|static)\\s+(\\w+)(?::[^=]+)?\\s*=\\s*(${value});`);
  return lines.flatMap((line, at) => {
    const [, name, said] = form.exec(line) ?? [];
    return said === undefined ? [] : [{ kind: "constant", name, said: [said], first: at + 1, last: at + 1 }];
  });
}

/** Functions with their parameters, types with their fields. @param {string[]} lines @returns {Claim[]} */
function definitions(lines) {
  const callable = new RegExp(`^\\s*${visible}(?:async\\s+|const\\s+|unsafe\\s+)*(?:fn|function)\\s+(\\w+)`);
  const type = new RegExp(`^\\s*${visible}struct\\s+(\\w+)[^;(]*{$`);
  return lines.flatMap((line, at) => {
    const name = (callable.exec(line) ?? type.exec(line))?.[1];
    const last = name === undefined ? undefined : blockEnd(lines, at);
    if (name === undefined || last === undefined) {
      return [];
    }
    const place = { name, first: at + 1, last: last + 1 };
    const block = lines.slice(at, last + 1);
    const claimed = callable.test(line)
      ? { kind: /** @type {const} */ ("parameters"), said: parameters(block.join("\n")) }
      : { kind: /** @type {const} */ ("fields"), said: fields(block) };
    return [
      { kind: /** @type {const} */ ("definition"), said: [], ...place },
      ...(claimed.said.length > 0 ? [{ ...claimed, ...place }] : []),
    ];
  });
}

/** The line of the bracket that closes the block which begins on a line. @param {string[]} lines @param {number} from */
function blockEnd(lines, from) {
  let depth = 0;
  for (let at = from; at < Math.min(lines.length, from + 2 * longest); at += 1) {
    for (const [found] of plain(lines[at]).matchAll(/[{}]/g)) {
      depth += found === "{" ? 1 : -1;
      if (depth === 0) {
        return at;
      }
    }
    if (depth === 0 && /;\s*$/.test(lines[at])) {
      return undefined;
    }
  }
  return undefined;
}

/** A line of code without strings, characters and remarks. @param {string} line */
function plain(line) {
  return line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)'|`[^`]*`|\/\/.*$/g, "");
}

/** The names of the parameters of a function. @param {string} block */
function parameters(block) {
  const open = block.indexOf("(");
  let [depth, at] = [0, open];
  /** @type {string[]} */
  const parts = [""];
  for (; at < block.length; at += 1) {
    const char = block[at];
    depth += "([{<".includes(char) ? 1 : ")]}".includes(char) || (char === ">" && block[at - 1] !== "-") ? -1 : 0;
    if (depth === 0) {
      break;
    }
    if (depth === 1 && char === ",") {
      parts.push("");
    } else if (at > open) {
      parts[parts.length - 1] += char;
    }
  }
  const names = parts.map((part) => /^\s*(?:mut\s+)?(\w+)\s*(?:[:=]|$)/.exec(part)?.[1] ?? "");
  return names.filter((name) => name !== "" && name !== "self");
}

/** @param {string[]} block */
function fields(block) {
  const form = new RegExp(`^\\s*${visible}(\\w+):`);
  return block.slice(1).flatMap((line) => form.exec(line)?.[1] ?? []);
}

/** What a program says: strings of some words. @param {string[]} lines @returns {Claim[]} */
function messages(lines) {
  return lines.flatMap((line, at) => {
    const code = /^\s*(?:\/\/|\*)/.test(line) ? "" : line;
    const found = [...code.matchAll(/"([a-z][a-z ,`']{15,60}[a-z`])"/gi)].map((match) => match[1]);
    const said = found.filter((words) => words.split(" ").length > 2);
    return said.map((name) => ({
      kind: /** @type {const} */ ("message"),
      name,
      said: [],
      first: at + 1,
      last: at + 1,
    }));
  });
}

/** @param {string[]} lines @param {string} text @returns {Claim[]} */
function scripts(lines, text) {
  const found = /** @type {[string, string][]} */ (Object.entries(JSON.parse(text).scripts ?? {}));
  return found.map(([name, said]) => {
    const at = lines.findIndex((line) => line.trim().startsWith(`"${name}": `)) + 1;
    return { kind: "script", name, said: [said], first: at, last: at };
  });
}

/** Words of sentences in a document. @param {string[]} lines @returns {Claim[]} */
function phrases(lines) {
  return lines.flatMap((line, at) => {
    const name = /^(?:[-*] )?[A-Z][a-z]+ ([a-z]+(?: [a-z]+){4,6})(?= )/.exec(line)?.[1];
    return name === undefined ? [] : [{ kind: "phrase", name, said: [], first: at + 1, last: at + 1 }];
  });
}
