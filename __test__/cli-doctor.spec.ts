// `palimpsest doctor` about the installation: versions, addon, settings, what Pi loads, log. What it says of stores is in
// cli-upkeep.spec.ts.
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderFindings, nameFindings } from "../bin/lib/obstacles.js";
import { root } from "../scripts/setup.js";
import { type Desk, desk } from "./command.ts";
import { temporaryFolder } from "./e2e/support.ts";

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

/** A folder to work in whose machine has a Pi of this version. */
function withPi(pi: string): Desk & { agent: string } {
  const at = desk();
  const programs = temporaryFolder();
  writeFileSync(join(programs, "pi"), `#!/bin/sh\necho ${pi}\n`);
  chmodSync(join(programs, "pi"), 0o755);
  at.env.PATH = [programs, at.env.PATH].join(delimiter);
  const agent = at.env.PI_CODING_AGENT_DIR ?? "";
  mkdirSync(agent, { recursive: true });
  return { ...at, agent };
}

/** A package of ours of another version. */
function otherVersion(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "palimpsest", version: "9.9.9" }));
  return folder;
}

test("says what is installed, where no session has run yet", () => {
  const at = withPi("1.5.2");
  writeFileSync(join(at.agent, "settings.json"), JSON.stringify({ packages: ["npm:other", { source: root }] }));
  const { status, stdout, stderr } = at.run("doctor");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  for (const line of [
    `palimpsest +${version}`,
    "addon +native",
    `node +${process.versions.node}, ${process.platform} ${process.arch}`,
    "pi +1\\.5\\.2",
    `pi loads it from +${root}`,
    "by the settings +on",
    "log +\\S+palimpsest\\.log: no failures",
    "store +none yet: the first session makes one",
    "nothing is wrong",
  ]) {
    expect(stdout).toMatch(new RegExp(`^${line}$`, "m"));
  }
  expect(at.json("doctor")).toMatchObject({ healthy: true, store: null, installation: { pi: "1.5.2", enabled: true } });
});

test.skipIf(process.platform === "win32")("a clone fills no memory and has no program of its own run", () => {
  const at = withPi('"$NoDefaultCurrentDirectoryInExePath.5.2"');
  at.write(".pi/extensions/x", "");
  symlinkSync("/dev/zero", join(at.folder, ".pi", "settings.json"));
  symlinkSync("/dev/zero", join(at.folder, ".pi", "extensions", "x.js"));
  const { stdout } = at.run("doctor");
  expect(stdout).toMatch(/^pi +1\.5\.2$/m);
  expect(stdout).toMatch(/Pi's settings `\S+work\/\.pi\/settings\.json` cannot be read as JSON/);
});

test("says what is installed even if the store cannot be opened", () => {
  const at = withPi("0.80.1");
  mkdirSync(at.store, { recursive: true });
  const { status, stdout, stderr } = at.run("doctor");
  expect(status).not.toBe(0);
  expect(stdout).toMatch(/^pi +0\.80\.1$/m);
  expect(stdout).toContain("pi: Pi 0.80.1 is older than 0.87");
  expect(stderr).toContain(at.store);
});

test.each<[string, string, (at: Desk & { agent: string }) => void]>([
  [
    "an old Pi",
    "pi: Pi 0.80.1 is older than 0.87",
    (at) => {
      writeFileSync(join(at.env.PATH?.split(delimiter)[0] ?? "", "pi"), "#!/bin/sh\necho 0.80.1\n");
    },
  ],
  [
    "two packages",
    "pi: Pi's settings name the package more than once: ",
    (at) => {
      writeFileSync(join(at.agent, "settings.json"), JSON.stringify({ packages: [root, "npm:palimpsest"] }));
    },
  ],
  [
    "another version in the project's settings",
    "pi: Pi loads version 9.9.9 from ",
    (at) => {
      at.write(".pi/settings.json", JSON.stringify({ packages: [otherVersion()] }));
    },
  ],
  [
    "a wrong setting of the user",
    "settings: .*layout",
    (at) => {
      writeFileSync(join(at.agent, "palimpsest.json"), JSON.stringify({ layout: "sideways" }));
    },
  ],
  [
    "a wrong setting of the project",
    "settings: .*`colour`",
    (at) => {
      at.write(".pi/palimpsest.json", JSON.stringify({ colour: "red" }));
      at.run("trust");
    },
  ],
  [
    "a file that a setting names and that is not there",
    "settings: the setting `hazards` names `.*agent/nowhere\\.json`, which is not there",
    (at) => {
      writeFileSync(join(at.agent, "palimpsest.json"), JSON.stringify({ hazards: "nowhere.json" }));
    },
  ],
  [
    "answers about projects that cannot be read",
    "settings: cannot read `.*trust\\.json`: it is damaged",
    (at) => {
      at.run("trust");
      writeFileSync(join(at.agent, "palimpsest", "trust.json"), "{");
    },
  ],
  [
    "settings of Pi that it cannot read",
    "pi: Pi's settings `.*settings\\.json` cannot be read as JSON",
    (at) => {
      writeFileSync(join(at.agent, "settings.json"), "{ broken");
    },
  ],
  [
    "a Pi that says no version",
    "pi: `pi --version` says no version",
    (at) => {
      writeFileSync(join(at.env.PATH?.split(delimiter)[0] ?? "", "pi"), "#!/bin/sh\nexit 1\n");
    },
  ],
  [
    "another extension with one of our tools",
    "pi: the extension `.*other/index\\.ts` has a tool `palimpsest_pin`",
    (at) => {
      mkdirSync(join(at.agent, "extensions", "other"), { recursive: true });
      const text = 'export default (pi) => pi.registerTool({ name: "palimpsest_pin" });\n';
      writeFileSync(join(at.agent, "extensions", "other", "index.ts"), text);
    },
  ],
  [
    "a file in the place of the folder",
    "disk: `.*palimpsest` is not a folder",
    (at) => {
      writeFileSync(join(at.agent, "palimpsest"), "");
    },
  ],
  [
    "a level of the log that is none",
    "log: `PALIMPSEST_LOG` is `loud`",
    (at) => {
      at.env.PALIMPSEST_LOG = "loud";
    },
  ],
])("fails and names %s", (_what, line, change) => {
  const at = withPi("1.5.2");
  change(at);
  const { status, stdout } = at.run("doctor");
  expect(stdout).toMatch(new RegExp(`^${line}.*\\n {2}\\S`, "m"));
  expect(stdout).not.toContain("nothing is wrong");
  expect(status).toBe(1);
});

describe("OpenClaw", () => {
  /** A machine with a Pi and an OpenClaw that has this configuration. */
  function withOpenClaw(config: object) {
    const at = withPi("1.5.2");
    const state = join(at.env.HOME ?? "", ".openclaw");
    mkdirSync(join(state, "palimpsest"), { recursive: true });
    writeFileSync(join(state, "openclaw.json"), JSON.stringify(config));
    const program = join(at.env.PATH?.split(delimiter)[0] ?? "", "openclaw");
    writeFileSync(program, "#!/bin/sh\necho OpenClaw 2026.9.6\n");
    chmodSync(program, 0o755);
    return { ...at, state };
  }
  const slots = { contextEngine: "palimpsest" };
  const entries = { palimpsest: { enabled: true } };

  test("is named where the plugin is, with its store and its log", () => {
    const at = withOpenClaw({ plugins: { slots, entries } });
    writeFileSync(join(at.state, "palimpsest", "palimpsest.log"), "2026-01-02T03:04:05.678Z error one\n");
    const { status, stdout } = at.run("doctor");
    expect(stdout).toMatch(/^openclaw +2026\.9\.6, state in \S+\.openclaw$/m);
    expect(stdout).toMatch(/^its context engine +palimpsest$/m);
    expect(stdout).toMatch(/^its store +\S+store\.sqlite$/m);
    expect(stdout).toMatch(/^its log +\S+: 1 failure, the last 2026-01-02T03:04:05\.678Z$/m);
    expect(stdout).toMatch(/\nnothing is wrong; what failed before is in the log\n$/);
    expect(status).toBe(0);
  });

  test.each<[string, string, object]>([
    ["another engine", "OpenClaw uses the context engine `other`", { slots: { contextEngine: "other" }, entries }],
    ["none", "OpenClaw's own context engine is used", { entries }],
    [
      "a plugin that is off",
      "OpenClaw's configuration turns the plugin off",
      { slots, entries: { palimpsest: { enabled: false } } },
    ],
    ["a plugin that is not allowed", "OpenClaw's configuration turns the plugin off", { slots, entries, allow: ["x"] }],
    [
      "a key that is not a setting",
      "in `plugins.entries.palimpsest.config` `colour` is not a setting",
      { slots, entries: { palimpsest: { config: { colour: 1 } } } },
    ],
    [
      "a value of a wrong type",
      'in `plugins.entries.palimpsest.config` `enabled` must be `true` or `false`, is `"yes"`',
      { slots, entries: { palimpsest: { config: { enabled: "yes" } } } },
    ],
    [
      "prices that do not exist",
      "in `plugins.entries.palimpsest.config` `prices` must be ",
      { slots, entries: { palimpsest: { config: { prices: "acme" } } } },
    ],
  ])("has %s, and that is said", (_what, line, plugins) => {
    const { status, stdout } = withOpenClaw({ plugins }).run("doctor");
    expect(stdout).toContain(`\nopenclaw: ${line}`);
    expect(status).toBe(1);
  });

  test("runs models where it does not ask, and these are named", () => {
    const models = {
      "anthropic/x": { agentRuntime: { id: "claude-cli" } },
      "a/b": { agentRuntime: { id: "openclaw" } },
    };
    const { stdout } = withOpenClaw({ plugins: { slots, entries }, agents: { defaults: { models } } }).run("doctor");
    expect(stdout).toContain("`anthropic/x` runs in `claude-cli`");
    expect(stdout).not.toContain("`a/b`");
  });

  test("is not mentioned where it does not have the plugin", () => {
    // The second is what OpenClaw leaves of one that was uninstalled.
    for (const left of [{}, { palimpsest: { enabled: false } }]) {
      const { status, stdout } = withOpenClaw({ plugins: { entries: left } }).run("doctor");
      expect(stdout).not.toContain("openclaw");
      expect(status).toBe(0);
    }
  });

  test("has its configuration in JSON5", () => {
    const at = withOpenClaw({});
    const text = `// mine\n{ plugins: { slots: { contextEngine: 'palimpsest', }, /* "x": */
      entries: { palimpsest: { enabled: true, config: { store: "a; // b, }.sqlite", colour: 'it\\'s "red"', }, }, } } }`;
    writeFileSync(join(at.state, "openclaw.json"), text);
    const { stdout } = at.run("doctor");
    expect(stdout).toMatch(/^its store +\S+\/a; \/ b, \}\.sqlite$/m);
    expect(stdout).toContain("`colour` is not a setting");
    expect(stdout).not.toContain("cannot be read");
  });
});

test("finds a full disk and a folder that cannot be written", () => {
  const folder = temporaryFolder();
  const missing = join(folder, "agent", "palimpsest");
  const free = () => 3_200_000;
  const refused = () => {
    throw Object.assign(new Error("no"), { code: "EROFS" });
  };
  const problems = (system: { free: () => number; write: () => void }) =>
    folderFindings([missing, folder], system).map(({ problem }) => problem);
  expect(problems({ free: () => 1e12, write: () => {} })).toEqual([]);
  expect(problems({ free, write: () => {} })).toEqual([`the disk of \`${folder}\` is full: 3.2 MB are free`]);
  expect(problems({ free, write: refused })).toEqual([
    `nothing can be written into \`${folder}\`: its disk is read-only`,
  ]);
});

test("finds a tool name of ours among Pi's extensions", () => {
  const agentDir = temporaryFolder();
  expect(nameFindings(agentDir)).toEqual([]);
  const extensions = join(agentDir, "extensions");
  mkdirSync(join(extensions, "whole"), { recursive: true });
  mkdirSync(join(extensions, "folder.ts"));
  symlinkSync(join(agentDir, "nowhere"), join(extensions, "gone.ts"));
  writeFileSync(join(extensions, "other.ts"), 'pi.registerTool({ name: "other" })');
  writeFileSync(join(extensions, "\u001b[2Kbad.ts"), 'pi.registerTool({ name: "palimpsest_pin" })');
  writeFileSync(join(extensions, "whole", "index.ts"), "pi.registerTool({ name: 'palimpsest_activate' })");
  expect(nameFindings(agentDir).map(({ problem }) => problem)).toEqual([
    expect.stringContaining("/extensions/\\u001b[2Kbad.ts` has a tool `palimpsest_pin`"),
    expect.stringContaining("/extensions/whole/index.ts` has a tool `palimpsest_activate`"),
  ]);
  rmSync(extensions, { recursive: true });
  writeFileSync(extensions, "no folder");
  expect(nameFindings(agentDir)).toEqual([]);
});

test("counts the failures in the log and shows when the last was", () => {
  const at = withPi("1.5.2");
  mkdirSync(join(at.agent, "palimpsest"));
  const lines = [
    "2026-01-02T03:04:05.678Z error one: odd",
    "    at stack",
    "2026-01-03T03:04:05.678Z error two",
    "2026-01-04T00:00:00.000Z info x",
  ];
  writeFileSync(join(at.agent, "palimpsest", "palimpsest.log"), `${lines.join("\n")}\n`);
  expect(at.run("doctor").stdout).toMatch(/^log +\S+: 2 failures, the last 2026-01-03T03:04:05\.678Z$/m);
});

test("finds nothing wrong without Pi or if settings turn it off", () => {
  const at = withPi("1.5.2");
  at.env.PATH = temporaryFolder();
  writeFileSync(join(at.agent, "palimpsest.json"), JSON.stringify({ enabled: false }));
  const { status, stdout } = at.run("doctor");
  expect(stdout).toMatch(/^pi +not on the path$/m);
  expect(stdout).toMatch(/^by the settings +off: the setting `enabled` is false$/m);
  expect(stdout).toMatch(/\nnothing is wrong, but no host loads it\n$/);
  expect(status).toBe(0);
});
