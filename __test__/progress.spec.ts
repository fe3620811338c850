// Progress of the command line: nothing for what is quick, then lines on stderr; stdout stays free.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { pinnedNode, root } from "../scripts/setup.js";

/** Runs work of some milliseconds with progress, stderr being a pipe. */
function work(ms: number) {
  const module = pathToFileURL(join(root, "bin", "lib", "progress.js")).href;
  const source = `
    import { withProgress } from ${JSON.stringify(module)};
    const done = await withProgress("counting", async (say) => {
      say("7 files");
      await new Promise((done) => setTimeout(done, ${ms}));
      return "done";
    });
    process.stdout.write(done);`;
  const { stdout, stderr } = spawnSync(pinnedNode(), ["--input-type=module", "-e", source], { encoding: "utf8" });
  return { stdout, stderr };
}

test("quick work goes without a word", () => {
  expect(work(1)).toEqual({ stdout: "done", stderr: "" });
});

test("work of more than a second says how far it is", () => {
  expect(work(1_500)).toEqual({ stdout: "done", stderr: "counting 7 files (1 s)\n" });
});
