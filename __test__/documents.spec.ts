// The documents against what they name: the example of the README runs, commands and files exist. And the names of tests.
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { pinnedNode, root } from "../scripts/setup.js";

const read = (name: string) => readFileSync(join(root, name), "utf8");

/** The first groups of all matches, without repetitions. */
function findAll(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1]))];
}

test("the README's example is the type-checked one, and runs", () => {
  const example = join("__test__", "readme-example.ts");
  expect(read("README.md")).toContain(`\`\`\`ts\n${read(example)}\`\`\``);
  const { status, stdout, stderr } = spawnSync(pinnedNode(), [join(root, example)], { encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: "3 [t1] bash · line 1 of 1\n96 passed\n",
    stderr: "",
  });
});

const texts = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
const pages = texts.map((name) => `docs/${name}`);

describe.each(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", ...pages])(
  "%s names",
  (name) => {
    const text = read(name);

    test("commands that exist", () => {
      const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
      const commands = findAll(text, /\bnpm run ([\w:]+)/g);
      expect(commands.filter((command) => scripts[command] === undefined)).toEqual([]);
    });

    test("files that exist", () => {
      const paths = findAll(text, /`((?:src|crates|tests|benches|scripts|bin|pi-extension|__test__|\.ci)\/[\w./-]*)`/g);
      const links = findAll(text, /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g).map((link) => join(dirname(name), link));
      expect([...paths, ...links].filter((path) => !existsSync(join(root, path)))).toEqual([]);
    });
  },
);

test("each row of the threat model names tests that exist", () => {
  const [section] = read("SECURITY.md").split("## Threat model\n")[1].split("\n## ");
  const rows = section.split("\n").filter((line) => line.startsWith("| ") && !/^\| (?:-|who )/.test(line));
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) {
    const named = [...(row.split(" | ").at(-1) ?? "").matchAll(/`([\w./-]+)`: `([^`]+)`/g)];
    expect(named.length, row).toBeGreaterThan(0);
    for (const [, file, name] of named) {
      expect(existsSync(join(root, file)) && read(file).includes(name), `${file}: ${name}`).toBe(true);
    }
  }
});

test("the README lists the commands as their help does", () => {
  const { stdout } = spawnSync(pinnedNode(), [join(root, "bin", "palimpsest.js"), "--help"], { encoding: "utf8" });
  const rows = [...stdout.matchAll(/^ {2}(\S.*?) {2,}(\S.*)$/gm)].map(([, command, summary]) => ({ command, summary }));
  expect(rows.length).toBeGreaterThan(0);
  const [section] = read("README.md").split("## Commands\n")[1].split("\n## ");
  const listed = [...section.matchAll(/^\| `(.+?)` +\| (.+?) +\|$/gm)];
  expect(listed.map(([, command, summary]) => ({ command, summary }))).toEqual(rows);
});

test("tests have names of fewer than 60 characters", () => {
  // The first argument of `test(`, or of what `test.each(…)` and `test.skipIf(…)` return.
  const inNode = /(?:(?<![.\w])(?:describe|it|test)(?:\.\w+)*|\))\(\s*(["'`])(?<name>(?:\\.|(?!\1).)*)\1/gs;
  const inRust = /#\[test\]\s+(?:#\[[^\]]*\]\s+)*fn (?<name>\w+)/g;
  const exclude = (path: string) => path.endsWith("node_modules");
  const files = globSync("{__test__,crates,src,tests}/**/*.{js,mjs,rs,ts}", { cwd: root, exclude });
  const named = files.flatMap((file) => {
    const found = read(file).matchAll(file.endsWith(".rs") ? inRust : inNode);
    return [...found].map(({ groups }) => ({ file, name: groups?.name ?? "" }));
  });
  expect(named.length).toBeGreaterThan(2_000);
  expect(named.filter(({ name }) => name.length >= 60)).toEqual([]);
});
