// A session that began in the real Pi goes on in the real OpenClaw, and from there in Pi again: outputs by their names, the chat as text, pins.
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createOpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { startGateway } from "../../scripts/lib/openclaw-gateway.js";
import { startPiRpc } from "../../scripts/lib/pi.js";
import { expectPairedCalls, extension, palimpsest, resultsOf, said, start } from "../e2e/support.ts";
import { call, fromNow, isPaired, lines, linkPalimpsest, startPuppet } from "./support.ts";

const log = "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); echo $1 number $i; done\n";
const look = (name: string, lines: string) => call("activate", { name, lines });

test("from Pi to OpenClaw and back", async () => {
  const { model: inPi, sandbox: pi } = await start(
    [
      call("bash", { command: "sh log.sh apple" }),
      call("read", { path: "notes.txt" }),
      call("pin", { name: "f2" }),
      { text: "The build is done." },
      look("t1", "450"),
      look("t3", "460"),
      { text: "Seen in Pi again." },
    ],
    { files: { "log.sh": log, "notes.txt": "remember the milk\n" } },
  );
  const first = startPiRpc(pi, ["-e", extension]);
  await first.prompt("build it, and keep the notes");
  expect(await first.close()).toMatchObject({ code: 0, stderr: "" });
  const stores = { pi: join(pi.agentDir, "palimpsest", "store.sqlite"), openclaw: "" };
  const [{ id }] = palimpsest<{ sessions: { id: string }[] }>(
    { env: { ...pi.env, PALIMPSEST_STORE: stores.pi } },
    "sessions",
  ).sessions;

  const model = await startPuppet();
  onTestFinished(() => model.close());
  const sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files: { "log.sh": log } });
  onTestFinished(() => sandbox.remove());
  stores.openclaw = sandbox.store;
  linkPalimpsest(sandbox);
  const gateway = await startGateway(sandbox);
  onTestFinished(async () => void (await gateway.stop()));
  const key = "agent:main:portable";
  const turn = async (message: string, ...steps: Parameters<typeof model.play>) => {
    const since = fromNow(model);
    model.play(...steps);
    expect(await gateway.agent({ sessionKey: key, message })).toMatchObject({ status: "ok" });
    const requests = since();
    expect(requests.map(isPaired)).toEqual(requests.map(() => true));
    return requests;
  };

  const answer = await gateway.chat(`/palimpsest continue ${id} ${stores.pi}`, { sessionKey: key });
  expect(answer.text).toMatch(/goes on with `session:.*` \(pi, 1 turn\): \d+ objects with their handles, 1 pinned/);
  const requests = await turn("go on", look("t1", "450"), call("exec", { command: "sh log.sh berry" }), {
    text: "Seen in OpenClaw.",
  });
  const told = lines(requests[0]).join("\n");
  expect(told).toContain("This conversation was begun in pi.");
  expect(told).toMatch(/turn 1: build it, and keep the notes[\s\S]*The last answer:\nThe build is done\.[\s\S]*go on/);
  const results = lines(requests[2]).filter((line) => line.startsWith("tool: "));
  expect(results[0]).toContain("apple number 450");
  const again = await turn("and on", { text: "Yes." });
  expect(lines(again[0]).slice(0, lines(requests[2]).length)).toEqual(lines(requests[2]));
  const sets = (await gateway.chat("/palimpsest objects", { sessionKey: key })).text;
  expect(sets).toMatch(/f\d+ +.*pinned.*notes\.txt/);

  const back = startPiRpc(pi, ["-e", extension]);
  const { sessions } = palimpsest<{ sessions: { id: string; harness: string }[] }>(sandbox, "sessions");
  const inOpenClaw = sessions.find(({ harness }) => harness === "openclaw")?.id;
  expect(await said(back, `/context continue ${inOpenClaw} ${stores.openclaw}`)).toContain("(openclaw, 3 turns)");
  await back.prompt("and now?");
  const inRequest = JSON.stringify(inPi.requests.at(-1)?.body.messages.slice(1));
  expect(inRequest).toMatch(
    /was begun in openclaw\..*turn 2: go on.*turn 3: and on.*The last answer:\\nYes\..*and now\?/,
  );
  expect(resultsOf(inPi).slice(-2)).toEqual([
    expect.stringContaining("apple number 450"),
    expect.stringContaining("berry number 460"),
  ]);
  expectPairedCalls(inPi);
  expect(await back.close()).toMatchObject({ code: 0, stderr: "" });
});
