// The manifest of the OpenClaw plugin, made of the table of settings in docs/settings.md.

import { toolNames } from "../../lib/tool-names.js";

/** Settings that most people never touch stand behind the others. */
const common = new Set([
  "enabled",
  "layout",
  "store",
  "exclude",
  "excludeAlso",
  "highWater",
  "previewTokens",
  "prices",
]);

const labels = {
  enabled: "On",
  layout: "Layout",
  store: "Store",
  exclude: "Excluded files",
  highWater: "High-water mark",
};

/**
 * The manifest as JSON.
 * @param {string} docs docs/settings.md
 */
export function manifest(docs) {
  const settings = settingsOf(docs);
  // OpenClaw does not start where its own check refuses a value. So it refuses none: what is right stands first, for its forms, and the
  // plugin says what is wrong.
  const schema = {
    type: "object",
    properties: Object.fromEntries(
      settings.map(({ key, right, ...about }) => [key, { anyOf: withOthers(right), ...about }]),
    ),
  };
  const hints = settings.map(({ key, description }) => {
    const label = /** @type {Record<string, string>} */ (labels)[key] ?? spaced(key);
    return [key, { label, help: description, ...(common.has(key) ? {} : { advanced: true }) }];
  });
  const whole = {
    id: "palimpsest",
    name: "Palimpsest",
    description:
      "Context manager and memory: versioned objects and references instead of texts poured into chat again and again",
    kind: "context-engine",
    activation: { onStartup: true },
    contracts: {
      tools: toolNames,
      agentToolResultMiddleware: ["openclaw"],
    },
    configSchema: schema,
    uiHints: Object.fromEntries(hints),
  };
  return `${JSON.stringify(whole, null, 2).replaceAll(/\{\s+"type": ("\w+")\s+\}/g, '{ "type": $1 }')}\n`;
}

/** The rows of the first table. @param {string} docs */
function settingsOf(docs) {
  const [table] = /^\| setting .*?(?=\n\n)/ms.exec(docs) ?? [];
  if (table === undefined) {
    throw new Error("docs/settings.md has no table of settings");
  }
  const rows = table.split("\n").slice(2);
  return rows.map((row) => {
    const [key, value, kind, text] = row.split("|").slice(1, -1);
    const description = text
      .trim()
      .replace(/ Not in project files$/, "")
      .replace(/\.$/, "")
      .replaceAll(/,? see \[[^\]]+\]\([^)]+\)/g, "");
    const given = JSON.parse(plain(value));
    return { key: plain(key), right: schemaOf(kind.trim()), default: given, description };
  });
}

/** @param {string} cell */
function plain(cell) {
  return cell.trim().replaceAll("`", "");
}

/** What a value must be, as JSON Schema. @param {string} kind */
function schemaOf(kind) {
  const [, least, most] = /^a whole number from (\d+) to (\d+)$/.exec(kind) ?? [];
  if (least !== undefined) {
    return { type: "integer", minimum: Number(least), maximum: Number(most) };
  }
  const choices = [...kind.matchAll(/`"(\w+)"`/g)].map(([, choice]) => choice);
  if (choices.length > 0) {
    return { type: "string", enum: choices };
  }
  const known = /** @type {Record<string, object>} */ ({
    "`true` or `false`": { type: "boolean" },
    "a string that is not empty, or `null`": { type: ["string", "null"], minLength: 1 },
    "a number above 0 and up to 1": { type: "number", exclusiveMinimum: 0, maximum: 1 },
    "an address that begins with `http://` or `https://`, or `null`": {
      type: ["string", "null"],
      pattern: "^https?://[^@?#]+$",
    },
    "a list of globs, or `null`": { type: ["array", "null"], items: { type: "string" } },
    "a list of mount mappings": { type: "array", items: { type: "object" } },
    "a preset's name, or tables by model": { type: ["string", "object"] },
  })[kind];
  if (known === undefined) {
    throw new Error(`a setting must be ${kind}, for which there is no schema`);
  }
  return known;
}

/** The schema of a right value, and of every other. @param {object} schema */
function withOthers(schema) {
  const { enum: _, ...right } = /** @type {{ [keyword: string]: unknown }} */ (schema);
  const isAll = Object.keys(right).length === 1;
  const others = ["boolean", "number", "string", "array", "object", "null"].filter(
    (type) => !isAll || type !== right.type,
  );
  return [right, ...others.map((type) => ({ type }))];
}

/** `keepResults` → `Keep results` @param {string} key */
function spaced(key) {
  const words = key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words[0].toUpperCase() + words.slice(1);
}
