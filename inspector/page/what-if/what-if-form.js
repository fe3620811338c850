// What a person asks for when a session is played again: a form that has what they asked before. Judges nothing: whether a value is right
// says who plays.
import { element, put } from "../elements/dom.js";
import { whole } from "../elements/numbers.js";

/** @typedef {import("../../protocol.js").AsSet} AsSet */
/** Values by the names of fields, as the person wrote them. @typedef {{ [name: string]: string }} Asked */
/** @typedef {import("../../protocol.js").Failure} Failure */

/** What settings mean, in the order in which they stand. @type {{ [key in keyof import("../../../index.js").Settings]?: string }} */
const MEANINGS = {
  layout: "log: content stands where it first appeared; pools: active content stands at the end",
  thrift: "how much a need of what has left weighs against the saving",
  keepResults: "how many of the newest results always stay",
  collapseTokens: "least tokens that an epoch has to free",
  previewTokens: "longer outputs are shown in part at first; 0: none",
  previewReads: "long files that are read are shown in part, too",
  highWater: "share of the window that a request may fill",
  extraShare: "how far the bill may exceed plain’s, as a share of it",
  extraTokens: "how far the bill may exceed plain’s in any case, in input tokens",
  firstTokenSeconds: "local models: longest time to the first token; 0: content leaves only when the window is full",
  promptTokensPerSecond: "local models: tokens of a prompt that are read in a second",
  activePerTurn: "layout pools: newest tool calls of a turn that are active",
  activeTurns: "layout pools: newest turns whose tool calls are active",
  poolTokens: "layout pools: tokens of the metadata pool",
};

/** @type {{ [key: string]: string[] }} */
const CHOICES = { layout: ["log", "pools"], thrift: ["careful", "balanced", "thrifty"] };

/** The form. */
export class WhatIfForm {
  /**
   * @param {AsSet} set
   * @param {Asked} asked
   * @param {{ prices: string, play: (asked: Asked) => void }} how `prices`: what the session's are called
   */
  constructor(set, asked, { prices, play }) {
    this.set = set;
    this.asked = asked;
    this.play = play;
    /** @type {Map<string, { input: HTMLInputElement | HTMLSelectElement, problem: HTMLElement }>} */
    this.fields = new Map();
    this.button = element("button", { type: "submit" }, "Play it again");
    const rest = Object.keys(set.settings).filter((key) => !Object.hasOwn(MEANINGS, key));
    const keys = [...Object.keys(MEANINGS).filter((key) => Object.hasOwn(set.settings, key)), ...rest];
    this.settings = element(
      "details",
      {},
      element("summary", {}, settingsText(keys, asked)),
      element("div", { class: "fields" }, ...keys.map((key) => this.setting(key))),
    );
    this.node = element(
      "form",
      { class: "what-if-form", novalidate: true, onsubmit: (/** @type {Event} */ event) => this.submit(event) },
      element(
        "div",
        { class: "fields" },
        this.field("prices", "what tokens cost, and what a cache holds", this.choice("prices", set.presets, prices)),
        this.field("window", "tokens of the model’s window", this.text("window", "numeric", windowText(set.window))),
      ),
      this.settings,
      element("div", { class: "tools" }, this.button),
    );
  }

  /** @param {string} key */
  setting(key) {
    const value = this.set.settings[key];
    const meaning = MEANINGS[/** @type {keyof typeof MEANINGS} */ (key)] ?? "";
    if (typeof value === "boolean") {
      return this.field(key, meaning, this.choice(key, ["true", "false"], String(value)));
    }
    const input = Object.hasOwn(CHOICES, key)
      ? this.choice(key, CHOICES[key], String(value))
      : this.text(key, "decimal", String(value));
    return this.field(key, meaning, input);
  }

  /**
   * @param {string} name
   * @param {string} meaning
   * @param {HTMLInputElement | HTMLSelectElement} input
   */
  field(name, meaning, input) {
    const problem = element("p", { class: "problem", id: `problem-${name}` });
    this.fields.set(name, { input, problem });
    input.setAttribute("aria-describedby", `means-${name} problem-${name}`);
    return element(
      "div",
      { class: "field" },
      element("label", { for: `ask-${name}` }, name),
      input,
      element("p", { class: "faint", id: `means-${name}` }, meaning),
      problem,
    );
  }

  /**
   * @param {string} name
   * @param {string[]} values
   * @param {string} now
   */
  choice(name, values, now) {
    const asked = this.asked[name] ?? "";
    const given = values.includes(asked) || asked === "" ? values : [...values, asked];
    const options = given.map((value) => element("option", { value, selected: value === asked }, value));
    return element(
      "select",
      { id: `ask-${name}`, name },
      element("option", { value: "" }, `as set: ${now}`),
      ...options,
    );
  }

  /**
   * @param {string} name
   * @param {string} inputmode
   * @param {string} now
   */
  text(name, inputmode, now) {
    const value = this.asked[name] ?? "";
    const more = { inputmode, autocomplete: "off", spellcheck: "false" };
    return element("input", { type: "text", id: `ask-${name}`, name, value, placeholder: `as set: ${now}`, ...more });
  }

  /** @param {Event} event */
  submit(event) {
    event.preventDefault();
    if (this.button.disabled) {
      return;
    }
    const given = [...this.fields].map(([name, { input }]) => [name, writtenOf(name, input.value)]);
    this.play(Object.fromEntries(given.filter(([, value]) => value !== "")));
  }

  /** @param {boolean} isPlaying */
  show(isPlaying) {
    this.button.disabled = isPlaying;
    this.button.textContent = isPlaying ? "Playing …" : "Play it again";
  }

  /**
   * Says at their fields what is wrong with values. Whether it was about fields.
   * @param {Failure} failure
   */
  refuse({ message }) {
    const problems = problemsOf(message, [...this.fields.keys()]);
    for (const [name, { input, problem }] of this.fields) {
      const text = problems.get(name);
      put(problem, text ?? null);
      input.setAttribute("aria-invalid", String(text !== undefined));
    }
    const first = [...this.fields].find(([name]) => problems.has(name))?.[1].input;
    this.settings.open ||= first !== undefined && this.settings.contains(first);
    first?.focus();
    return first !== undefined;
  }
}

/**
 * What a refusal says of each field. It names them in backticks, one after another: `` `settings` has wrong values: `a` must …; `b` must … ``.
 * @param {string} message
 * @param {string[]} names
 * @returns {Map<string, string>}
 */
function problemsOf(message, names) {
  /** @type {Map<string, string>} */
  const problems = new Map();
  let last = "";
  for (const part of message.replace(/^`settings` has wrong values: /, "").split("; ")) {
    const name = /^`(\w+)` /.exec(part)?.[1] ?? "";
    if (names.includes(name)) {
      last = name;
      problems.set(name, part);
    } else if (last !== "") {
      problems.set(last, `${problems.get(last)}; ${part}`);
    }
  }
  return problems;
}

/**
 * A value as it is asked for: the window without what stands between its thousands.
 * @param {string} name
 * @param {string} value
 */
function writtenOf(name, value) {
  return name === "window" ? value.replace(/[\s,_]/g, "") : value.trim();
}

/** @param {number | null} window */
function windowText(window) {
  return window === null ? "no limit" : whole(window);
}

/**
 * @param {string[]} keys
 * @param {Asked} asked
 */
function settingsText(keys, asked) {
  const changed = keys.filter((key) => Object.hasOwn(asked, key)).map((key) => `${key} ${asked[key]}`);
  return changed.length === 0 ? "Settings: as they are set" : `Settings: ${changed.join(", ")}`;
}
