// The log file: levels, rotation, and what may stand in it.
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { withoutSecrets } from "../index.js";
import { openLog } from "../lib/log.js";
import { pinnedNode, root } from "../scripts/setup.js";
import { cloneIsPublic, missing, temporaryFolder } from "./e2e/support.ts";

const lines = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n");

test.each([
  ["off", []],
  ["error", ["error"]],
  ["info", ["error", "info"]],
  ["debug", ["error", "info", "debug"]],
])("the level `%s` writes %j", async (level, written) => {
  vi.stubEnv("PALIMPSEST_LOG", level);
  const log = openLog(join(temporaryFolder(), "palimpsest"));
  vi.unstubAllEnvs();
  for (const each of ["error", "info", "debug"] as const) {
    await log.write(each, "text");
  }
  const found = existsSync(log.file) ? lines(log.file) : [];
  expect(found).toEqual(written.map((each) => expect.stringMatching(new RegExp(`^\\d{4}-\\S+Z ${each} text$`))));
});

test("writes only failures by default and at an invalid level", async () => {
  vi.stubEnv("PALIMPSEST_LOG", undefined);
  const usual = openLog(temporaryFolder());
  vi.unstubAllEnvs();
  expect([usual.writes("error"), usual.writes("info"), usual.wrongLevel]).toEqual([true, false, undefined]);
  const wrong = openLog(temporaryFolder(), { level: "loud" });
  expect([wrong.writes("error"), wrong.writes("info")]).toEqual([true, false]);
  expect(wrong.wrongLevel).toBe("`PALIMPSEST_LOG` is `loud`, which is none of off, error, info, debug");
});

test("neither secrets nor the name of the home folder stand in it", async () => {
  const log = openLog(temporaryFolder(), { withoutSecrets });
  const key = ["ghp", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"].join("_");
  await log.write("error", `${homedir()}/project: remote refused ${key}`);
  const [line] = lines(log.file);
  expect(line).toMatch(/ error ~\/project: remote refused \[redacted:[\w-]+\]$/);
  expect(line).not.toContain(key);
});

test.skipIf(process.getuid?.() !== 0 || missing("setpriv") || !cloneIsPublic())(
  "is written without a home folder",
  () => {
    const folder = temporaryFolder();
    const stranger = 54_321;
    chownSync(folder, stranger, stranger);
    const { HOME: _, PI_CODING_AGENT_DIR: __, ...env } = process.env;
    const module = (name: string) => JSON.stringify(pathToFileURL(join(root, "lib", name)).href);
    const code = `import { openLog } from ${module("log.js")}; import { piAgentDir } from ${module("places.js")};
    await openLog(${JSON.stringify(folder)}).write("error", "text"); piAgentDir();`;
    const node = [pinnedNode(), "--input-type=module", "--eval", code];
    const user = [`--reuid=${stranger}`, `--regid=${stranger}`, "--clear-groups"];
    const { stderr } = spawnSync("setpriv", [...user, ...node], { env, encoding: "utf8" });
    expect(stderr).toContain("there is no home folder: `HOME` is not set");
    expect(lines(join(folder, "palimpsest.log"))).toEqual([expect.stringMatching(/ error text$/)]);
  },
);

test("a long log is put aside, and the last two are kept", async () => {
  const folder = temporaryFolder();
  const [log, other] = [openLog(folder), openLog(folder)];
  const block = "x".repeat(300_000);
  for (let number = 0; number < 22; number++) {
    // As two processes would write.
    await (number % 3 === 0 ? other : log).write("error", `${number} ${block}`);
  }
  const files = readdirSync(folder).sort();
  expect(files).toEqual(["palimpsest.log", "palimpsest.log.1", "palimpsest.log.2"]);
  const kept = [...files]
    .reverse()
    .flatMap((name) => lines(join(folder, name)).map((line) => Number(line.split(" ")[2])));
  expect(kept.at(-1)).toBe(21);
  expect(kept).toEqual(kept.map((_, index) => kept[0] + index));
  expect(files.every((name) => statSync(join(folder, name)).size < 1_400_000)).toBe(true);
});

test("where it cannot be written nothing fails", async () => {
  const log = openLog(join(temporaryFolder(), "a\0b"));
  await expect(log.write("error", "text")).resolves.toBeUndefined();
});
