// The real Pi: outputs that no call of the model's brought, in the bodies that the model receives: of a person's `!` command, of
// another extension, and files on Pi's command line.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { contentText } from "../../scripts/lib/measure.js";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { extension, ledgerOf, numbered, palimpsest, start } from "./support.ts";

/** Whatever pays leaves, but the newest result. */
const eager = { prices: "none", keepResults: 1, collapseTokens: 50, faultTokens: 10_000, previewTokens: 0 };

const run = (name: string): Step => ({
  calls: [{ name: "bash", args: { command: `seq -f 'line %g of ${name}' 1 60` } }],
});

/** The texts of a request's user messages. */
const saidIn = ({ messages }: RequestBody) => messages.filter(({ role }) => role === "user").map(contentText);

const words = `Why does it fail? ${"My own words stay. ".repeat(400)}`;

test("commands of a person and reports leave and come back", async () => {
  const script = [
    ...["one", "two", "three", "four"].map(run),
    { calls: [{ name: "activate", args: { name: "t1", lines: "7-8" } }] },
    { text: "Done." },
    { text: "And on." },
  ];
  const { model, sandbox } = await start(script, { palimpsest: eager });
  const reporter = join(sandbox.dir, "reporter.ts");
  writeFileSync(
    reporter,
    `export default (pi) => pi.on("session_start", () => pi.sendMessage({ customType: "watcher", display: true,
       content: Array.from({ length: 300 }, (_, at) => "report line " + (at + 1)).join("\\n") }));`,
  );
  const pi = startPiRpc(sandbox, ["-e", extension, "-e", reporter]);
  await pi.send({ type: "bash", command: "seq -f 'test %g passed' 1 900; exit 3" });
  await pi.prompt(words);
  await pi.prompt("And now?");
  await pi.close();
  expect(model.errors).toEqual([]);
  const [first, ...later] = model.requests.map(({ body }) => saidIn(body));
  const [report, command] = first;
  expect(report).toContain("report line 300");
  expect(command).toContain("Ran `seq -f 'test %g passed' 1 900; exit 3`\n```\ntest 1 passed\n");
  const last = later[later.length - 1];
  expect(last.slice(0, 2)).toEqual([
    '[t1] ok · 300 lines · watcher · last: "report line 300"',
    "Ran `seq -f 'test %g passed' 1 900; exit 3`\n```\n" +
      '[t2] exit 3 · 900 lines · last: "test 900 passed"\n```\n\nCommand exited with code 3',
  ]);
  expect(last[2].startsWith(words)).toBe(true);
  const results = model.requests.flatMap(({ body }) => body.messages.filter(({ role }) => role === "tool"));
  expect(results.map(({ content }) => content)).toContain(
    "[t1] watcher · lines 7-8 of 300\nreport line 7\nreport line 8",
  );
  const { bill, plainBill } = ledgerOf(sandbox);
  expect(bill).toBeLessThan(plainBill);
  const objects = palimpsest<{ objects: { fields: { title?: string } }[] }>(sandbox, "objects", "--type", "toolcall");
  const titles = objects.objects.map(({ fields }) => fields.title).filter((title) => title !== undefined);
  expect(titles.sort()).toEqual(["!seq -f 'test %g passed' 1 900; exit 3", "watcher"]);
});

test("files on Pi's command line leave around a person's words", async () => {
  const some = ["one", "two", "three", "four", "five"].map(run);
  const script = [...some, { text: "Done." }, ...some, { text: "And on." }];
  const files = { "notes.md": numbered("notes", 200) };
  const { model, sandbox } = await start(script, { files, palimpsest: eager });
  const finished = await runPi(sandbox, ["-e", extension, "-p", "@notes.md", words]);
  expect(finished).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
  await runPi(sandbox, ["-e", extension, "-p", "--continue", "And now?"]);
  const path = join(sandbox.projectDir, "notes.md");
  const [first] = saidIn(model.requests[0].body);
  expect(first).toBe(`<file name="${path}">\n${files["notes.md"]}\n</file>\n${words}`);
  const [now] = saidIn(model.requests[model.requests.length - 1].body);
  const block = `<file name="${path}">\n[t1] f1 notes.md · lines 1-200\n</file>\n`;
  expect(now.startsWith(block + words)).toBe(true);
  const { bill, plainBill } = ledgerOf(sandbox);
  expect(bill).toBeLessThan(plainBill);
});
