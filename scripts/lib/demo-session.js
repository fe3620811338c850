// The coding session that the demo plays: what the user says and what the scripted model does, over a copy of a library's sources.
// The model acts on what it sees: if it finds the tool and a reference line, it brings an output back with `activate`; otherwise
// it runs the command again. Everything else is the same in both runs.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contentText } from "./measure.js";

/**
 * @typedef {import("./scripted-model.js").ModelRequest} ModelRequest
 * @typedef {import("./scripted-model.js").Step} Step
 * @typedef {import("./standing-ranges.js").ReadCall} ReadCall
 *
 * @typedef {object} BroughtBack an output that had been collapsed
 * @property {string} referenceLine as the model saw it
 * @property {string} callId of the `activate`
 *
 * @typedef {object} DemoSession
 * @property {string[]} prompts what the user says, one per turn
 * @property {number} calls how many calls the model makes
 * @property {(request: ModelRequest) => Step} script for a scripted model
 * @property {Map<string, ReadCall>} reads every `read` of the session, by call ID
 * @property {BroughtBack[]} broughtBack
 */

/** The command that plays the part of a test suite; its log is long. */
const testCommand = "sh run-tests.sh";
const fixMark = "// Holds for the empty input too.";

/** A stand-in for a test suite: some hundred lines, one failure until the fix is in. */
const testScript = `#!/bin/sh
# Prints the log of a long test run. One test fails until the fix is in the sources.
i=0
while [ $i -lt 430 ]; do
  i=$((i + 1))
  name="suite_$((i % 23))::case_$i::holds_for_input_$((i * 7919 % 4093))"
  if [ $i -eq 317 ] && ! grep -rqF '${fixMark}' src; then
    echo "test $name ... FAILED"
    echo "---- $name stdout ----"
    echo "assertion \\\`left == right\\\` failed: the empty input"
    echo "  left: None"
    echo " right: Some(0)"
  else
    echo "test $name ... ok"
  fi
done
grep -rqF '${fixMark}' src && echo "test result: ok. 430 passed; 0 failed" || { echo "test result: FAILED. 429 passed; 1 failed"; exit 1; }
`;

/**
 * Prepares the session over the sources in the project's `src/`, which must be there.
 * @param {string} projectDir
 * @returns {DemoSession}
 */
export function createDemoSession(projectDir) {
  writeFileSync(join(projectDir, "run-tests.sh"), testScript);
  const project = openProject(projectDir);
  const turns = writeTurns(project);
  const steps = turns.flatMap((turn) => turn.steps);
  /** @type {Map<string, ReadCall>} */
  const reads = new Map();
  /** @type {BroughtBack[]} */
  const broughtBack = [];

  /** @param {ModelRequest} request */
  function script(request) {
    const makeStep = steps[request.n];
    if (makeStep === undefined) {
      throw new Error(`the session has no call ${request.n}`);
    }
    const step = makeStep(request);
    for (const [index, call] of (step.calls ?? []).entries()) {
      call.id = callId(request.n, index);
      if (call.name === "read") {
        const { path, offset } = /** @type {{ path: string, offset?: number }} */ (call.args);
        reads.set(call.id, { path, offset, text: project.text(path) });
      }
      if (call.name === "activate") {
        broughtBack.push({ referenceLine: findCollapsedLog(request.body)?.line ?? "", callId: call.id });
      }
    }
    return step;
  }

  return { prompts: turns.map((turn) => turn.prompt), calls: steps.length, script, reads, broughtBack };
}

/**
 * Looks like a provider's ID and is the same in both runs.
 * @param {number} n
 * @param {number} index
 */
function callId(n, index) {
  return `call_${createHash("sha256").update(`${n}/${index}`).digest("hex").slice(0, 24)}`;
}

/**
 * The latest test log that has been collapsed: its handle, and the line in its place.
 * @param {ModelRequest["body"]} body
 * @returns {{ handle: string, line: string } | undefined}
 */
export function findCollapsedLog(body) {
  const calls = body.messages.flatMap((message) => message.tool_calls ?? []);
  const testRuns = calls.filter((call) => call.function.arguments === JSON.stringify({ command: testCommand }));
  const ids = new Set(testRuns.map((call) => call.id));
  const shown = body.messages.filter((message) => ids.has(message.tool_call_id ?? "")).map(contentText);
  const collapsed = shown.map((text) => text.match(/^\[(t\d+)\] .*/)).filter((match) => match !== null);
  const latest = collapsed.at(-1);
  return latest === undefined ? undefined : { handle: latest[1], line: latest[0] };
}

/** @param {string} dir */
function openProject(dir) {
  const text = (/** @type {string} */ path) => readFileSync(join(dir, path), "utf8");
  const files = readdirSync(join(dir, "src"), { recursive: true })
    .map((name) => join("src", String(name)))
    .filter((path) => path.endsWith(".rs"))
    .map((path) => ({ path, lines: text(path).split("\n").length }))
    .sort((a, b) => b.lines - a.lines || (a.path < b.path ? -1 : 1));
  return {
    text,
    /** Paths, longest file first; the last one repeats if there are fewer. */
    file: (/** @type {number} */ rank) => files[Math.min(rank, files.length - 1)].path,
    /**
     * Someone else's change: a comment before the file's first line.
     * @param {string} path
     */
    changeFromOutside: (path) => writeFileSync(join(dir, path), `// Touched by a colleague.\n${text(path)}`),
  };
}

/**
 * @typedef {ReturnType<typeof openProject>} Project
 * @typedef {(request: ModelRequest) => Step} MakeStep
 * @typedef {{ prompt: string, steps: MakeStep[] }} Turn
 */

/**
 * @param {Project} project
 * @returns {Turn[]}
 */
function writeTurns(project) {
  const [a, b, c, d, e, f, g] = [0, 1, 2, 3, 4, 5, 6].map((rank) => project.file(rank));
  const edit = (/** @type {string} */ path, /** @type {number} */ nth, /** @type {string} */ note) =>
    editStep(project, path, nth, note);
  const test = () => bash(testCommand, "Run the tests.");
  return [
    {
      prompt: "One test fails. Get to know the code first, then tell me where you would look.",
      steps: [
        act("ls", { path: "src" }, "First the lay of the land."),
        bash("grep -rn 'pub fn' src | head -n 120", "Which functions are there?"),
        test(),
        read(a, 1, 160),
        read(a, 120, 160),
        read(b),
        read(b),
        bash(`grep -n 'fn ' ${c} ${d}`, "Where are the entry points?"),
        read(c),
        read(d, 1, 120),
        read(a, 1, 160),
        say(`The failure comes from how the empty input is handled; I would look at ${c} and its callers in ${a}.`),
      ],
    },
    {
      prompt: "Go ahead and fix it.",
      steps: [
        edit(c, 1, fixMark),
        read(c, 1, 80),
        test(),
        bash("grep -rn 'Option<' src | head -n 80", "Who else handles an absent value?"),
        read(e),
        read(f),
        edit(e, 1, "// The caller has checked for the empty input."),
        edit(f, 2, "// The caller has checked for the empty input."),
        test(),
        read(e, 1, 60),
        say("Fixed; all tests pass."),
      ],
    },
    {
      prompt: "The same check seems to stand in more places. Make them agree.",
      steps: [
        bash("grep -rn 'is_empty' src | head -n 80", "Where else?"),
        read(g),
        read(d),
        edit(d, 2, "// The empty input is the caller's to refuse."),
        read(a),
        edit(a, 3, "// The empty input is the caller's to refuse."),
        test(),
        read(b, 1, 100),
        edit(b, 2, "// The empty input is the caller's to refuse."),
        test(),
        bringBack("What did the first of these runs say exactly?"),
        read(g, 1, 90),
        say("They agree now."),
      ],
    },
    {
      prompt: "A colleague works in the same folder; mind what changed. Finish the documentation of these functions.",
      steps: [
        read(f, 1, 120),
        afterChangeOf(project, g, read(c, 1, 120)),
        edit(g, 3, "/// Refuses the empty input."),
        read(g, 1, 60),
        edit(f, 4, "/// Refuses the empty input."),
        bash("grep -rn 'Refuses the empty input' src", "Did both arrive?"),
        test(),
        edit(e, 5, "/// Refuses the empty input."),
        test(),
        say("The documentation says it everywhere."),
      ],
    },
    {
      prompt: "I am back after a break. Check everything once more and sum up.",
      steps: [
        read(c),
        bringBack("How did the earlier run end?"),
        test(),
        bash("grep -rn 'empty input' src", "All places, once more."),
        read(a, 1, 100),
        say("All tests pass; the empty input is refused by the caller everywhere, and documented."),
      ],
    },
  ];
}

/**
 * @param {string} name
 * @param {unknown} args
 * @param {string} thinking
 * @returns {MakeStep}
 */
function act(name, args, thinking) {
  return () => ({ thinking, calls: [{ name, args }] });
}

/**
 * @param {string} text
 * @returns {MakeStep}
 */
function say(text) {
  return () => ({ text });
}

/**
 * @param {string} path
 * @param {number} [offset]
 * @param {number} [limit]
 */
function read(path, offset, limit) {
  return act("read", { path, offset, limit }, `Look at ${path}.`);
}

/**
 * @param {string} command
 * @param {string} thinking
 */
function bash(command, thinking) {
  return act("bash", { command }, thinking);
}

/**
 * Puts a comment before the nth line of the file that is long enough and stands in it once.
 * @param {Project} project
 * @param {string} path
 * @param {number} nth
 * @param {string} note
 * @returns {MakeStep}
 */
function editStep(project, path, nth, note) {
  return () => {
    const text = project.text(path);
    const lines = text.split("\n").filter((line) => line.trim().length >= 20 && text.split(line).length === 2);
    const oldText = lines[Math.min(nth * 7, lines.length - 1)];
    const newText = `${oldText.match(/^\s*/)?.[0]}${note}\n${oldText}`;
    return { thinking: `Change ${path}.`, calls: [{ name: "edit", args: { path, edits: [{ oldText, newText }] } }] };
  };
}

/**
 * @param {Project} project
 * @param {string} path
 * @param {MakeStep} step
 * @returns {MakeStep}
 */
function afterChangeOf(project, path, step) {
  return (request) => {
    project.changeFromOutside(path);
    return step(request);
  };
}

/**
 * Brings a collapsed output back, or runs the tests again if there is none or no tool for it.
 * @param {string} thinking
 * @returns {MakeStep}
 */
function bringBack(thinking) {
  return (request) => {
    const hasActivate = request.body.tools?.some((tool) => tool.function.name === "activate") ?? false;
    const collapsed = hasActivate ? findCollapsedLog(request.body) : undefined;
    const call =
      collapsed === undefined
        ? { name: "bash", args: { command: testCommand } }
        : { name: "activate", args: { name: collapsed.handle } };
    return { thinking, calls: [call] };
  };
}
