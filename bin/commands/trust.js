// `palimpsest trust`: says that a project's memory and settings may be used, or no longer.
import { resolve } from "node:path";
import { piAgentDir } from "../../lib/places.js";
import { trustedText } from "../../lib/trust.js";
import { UsageError } from "../lib/arguments.js";
import { noteNothing, write, writeJson } from "../lib/output.js";
import { oneLine, writeTable } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const trust = {
  name: "trust",
  usage: "[PATH] [--list] [--remove]",
  summary: "Trust the memory and settings of a project",
  arguments: [0, 1],
  options: {
    list: { type: "boolean", text: "list the projects that you decided about" },
    remove: { type: "boolean", text: "take it back: you are asked again" },
  },
  notes: [
    "PATH is the project's folder; default: the working folder. A clone may bring `.pi/memory` and `.pi/palimpsest.json`, which reach the model's instructions; they are not used before you trust them once, for the real path. You are asked again when the folder belongs to another user or is another repository. What your own sessions wrote on this machine is used unasked.",
  ],
  json: "ProjectTrust, or TrustedProject[] with --list",
  examples: ["palimpsest trust", "palimpsest trust --list", "palimpsest trust ~/src/other --remove"],
  async run(given) {
    const { list, remove } = given.values;
    if (list === true && (remove === true || given.positionals.length > 0)) {
      throw new UsageError("`--list` takes nothing else", "such as `palimpsest trust --list`");
    }
    const { trustedProjects, trustProject } = await import("../../index.js");
    const agentDir = piAgentDir();
    if (list === true) {
      const all = await trustedProjects(agentDir);
      if (given.json) {
        return void (await writeJson(all));
      }
      const rows = all.map(({ path, trusted, at }) => [
        trusted ? "trusted" : "not trusted",
        at.slice(0, 10),
        oneLine(path),
      ]);
      return void (await (rows.length === 0
        ? noteNothing("no project")
        : writeTable(["ANSWER", "SINCE", "PROJECT"], rows, { order: ["PROJECT", "ANSWER", "SINCE"] })));
    }
    const project = resolve(given.positionals[0] ?? ".");
    const found = await trustProject({ agentDir, project }, remove === true ? null : true);
    await (given.json ? writeJson(found) : write(`${trustedText(found)}\n`));
  },
};
