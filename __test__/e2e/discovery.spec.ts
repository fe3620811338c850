// Files that `bash` names, with the real Pi: they can be activated by path and by handle, and stand nowhere before that.
import { spawnSync } from "node:child_process";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { runPi } from "../../scripts/lib/pi.js";
import { pinnedNode, root } from "../../scripts/setup.js";
import { expectPairedCalls, extension, start } from "./support.ts";

const files = { "src/a.c": "int a;\nint b\n", "src/b.c": "int c;\n", "notes.txt": "Words.\n" };

function call(name: string, args: unknown) {
  return { name, args };
}

/** The files of a store by their names, and why each has no content. */
function stored(store: string): Record<string, string> {
  const program = join(root, "bin", "palimpsest.js");
  const args = [program, "objects", "--type", "file", "--json", "--store", store];
  const { stdout } = spawnSync(pinnedNode(), args, { encoding: "utf8" });
  const { objects } = JSON.parse(stdout) as {
    objects: { source: { path: string }; fields: { no_content?: string } }[];
  };
  return Object.fromEntries(objects.map(({ source, fields }) => [basename(source.path), fields.no_content ?? "text"]));
}

test("a file that a command names has a path and a handle", async () => {
  const command = "cat notes.txt; ls src/*.c; echo 'src/a.c:2:6: error'; exit 3";
  const { model, sandbox } = await start(
    [
      { calls: [call("bash", { command })] },
      { calls: [call("activate", { name: "src/a.c" }), call("activate", { name: "f3" })] },
      { text: "Done." },
    ],
    { files },
  );
  const finished = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(finished).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
  const results = (request: number) =>
    model.requests[request].body.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  const shown = "Words.\nsrc/a.c\nsrc/b.c\nsrc/a.c:2:6: error\n\n\nCommand exited with code 3";
  expect(results(1)).toEqual([shown]);
  expect(results(2)).toEqual([
    shown,
    "[f2] src/a.c · lines 1-2 of 2\nint a;\nint b\n",
    "[f3] src/b.c · line 1 of 1\nint c;\n",
  ]);
  expectPairedCalls(model);
  const known = stored(join(sandbox.agentDir, "palimpsest", "store.sqlite"));
  expect(known).toEqual({ "notes.txt": "not_read", "a.c": "text", "b.c": "text" });
});
