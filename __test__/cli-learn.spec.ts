// `palimpsest learn`, as a process of its own, on made sessions.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { LearnedHazards, Settings } from "../index.js";
import { loadSettings } from "../index.js";
import { type Desk, desk } from "./command.ts";
import { learnable } from "./learnable.ts";

function withSessions(again: boolean): Desk {
  const at = desk();
  at.write("sessions/a.jsonl", learnable("a", again));
  at.write("sessions/deep/b.jsonl", learnable("b", again));
  return at;
}

test("prints weights to stdout or a file, and sources to stderr", () => {
  const at = withSessions(true);
  at.write("sessions/notes.jsonl", "no session\n");
  const { status, stdout, stderr } = at.run("learn", "sessions");
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: expect.stringMatching(
      /learned from 2 sessions, 300 calls\noutputs: \d+ needs, area under the curve 0\.\d+\nsteps: \d+ needs, area under the curve 0\.\d+\nskipped: line 1 of `.*notes\.jsonl` .*\n$/,
    ),
  });
  const weights = JSON.parse(stdout);
  expect(Object.keys(weights)).toEqual(["version", "learned", "outputs", "steps"]);
  expect(weights.learned).toMatchObject({ sessions: 2, calls: 300 });
  expect(at.run("learn", "sessions", "--out", "mine.json")).toMatchObject({ status: 0, stdout: "" });
  expect(readFileSync(`${at.folder}/mine.json`, "utf8")).toBe(stdout);
  expect(at.json<LearnedHazards>("learn", "sessions")).toMatchObject({ hazards: weights });
});

test("refuses too little data and wrong usage, and writes nothing", () => {
  const at = withSessions(false);
  expect(at.failure("learn", "sessions", "--out", "mine.json")).toMatchObject({ status: 1, code: "TOO_FEW_NEEDS" });
  expect(at.failure("learn", "none.jsonl")).toMatchObject({ status: 1, code: "FILE" });
  expect(at.failure("learn")).toMatchObject({ status: 2, code: "USAGE" });
  expect(existsSync(`${at.folder}/mine.json`)).toBe(false);
});

test("the setting `hazards` counts from the settings file", async () => {
  const at = desk();
  const settings = at.write("palimpsest.json", JSON.stringify({ hazards: "mine.json" }));
  const loaded: Settings = await loadSettings({ agentDir: at.folder });
  expect(loaded.hazards).toBe(settings.replace("palimpsest.json", "mine.json"));
});
