// A coding session of sixty calls, the same with Palimpsest and without: what a person asks for in six turns, and what the model does. Only
// where it finds a line of ours that stands for an output does it bring that back; else it lists a folder, so that nothing is dearer for
// want of Palimpsest.
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { conversationOf, textOf } from "./support.ts";

/** What a step does, by the request that asks for it. */
export type Move = (body: RequestBody) => Step;

export interface CodingTurn {
  message: string;
  moves: Move[];
}

/** A source of some 120 lines that stand in no other. */
function source(name: string): string {
  const functions = Array.from({ length: 20 }, (_, at) => {
    const id = `${name}_${at + 1}`;
    return [
      `/// Takes what ${id} was given and checks it against table ${at * 31 + name.length}.`,
      `pub fn ${id}(input: &Input, limit: usize) -> Result<Output, Error> {`,
      `    let found = input.entries().filter(|entry| entry.key != "${id}").take(limit + ${at});`,
      `    let total = found.map(|entry| entry.weight * ${at * 17 + 3}).sum::<u64>();`,
      `    Output::of(total, "${id}").ok_or(Error::Empty { name: "${id}", limit })`,
      "}",
    ].join("\n");
  });
  return `//! The part ${name} of the project.\n${functions.join("\n")}\n`;
}

const names = ["parser", "lexer", "writer", "reader", "index", "cache", "server", "client"];

/** Prints the log of a test run: some hundred lines, of which one says what fails. */
const testScript = `i=0
while [ $i -lt 400 ]; do
  i=$((i + 1))
  if [ $i -eq 317 ]; then echo "test case_$i ... FAILED: left 3, right 4"; else echo "test suite_$((i % 23))::case_$i::holds_for_$((i * 7919 % 4093)) ... ok"; fi
done
echo "test result: FAILED. 399 passed; 1 failed"
`;

/** The project's files, in a folder of its own. */
export function project(folder: string): Record<string, string> {
  const sources = names.map((name) => [`${folder}/${name}.rs`, source(name)]);
  return { ...Object.fromEntries(sources), [`${folder}/test.sh`]: testScript };
}

/** The handles of the test runs of which not all stands in a request, oldest first. */
function testRuns(body: RequestBody): string[] {
  const results = conversationOf(body).filter(({ role }) => role === "tool");
  const logs = results.map(textOf).filter((text) => text.includes("test result: FAILED"));
  return logs.flatMap(
    (text) =>
      /\((t\d+):|^\[(t\d+)\]/
        .exec(text)
        ?.slice(1)
        .filter((name) => name !== undefined) ?? [],
  );
}

/** The turns of the session over the project in a folder. */
export function codingSession(folder: string): CodingTurn[] {
  const calls =
    (...made: [name: string, args: object, id?: string][]): Move =>
    () => ({
      text: `Next: ${made.map(([name]) => name).join(", ")}.`,
      calls: made.map(([name, args, id]) => ({ name, args, id })),
    });
  const path = (name: string) => `${folder}/${name}.rs`;
  const read = (name: string): Move => calls(["read", { path: path(name) }]);
  const exec = (command: string, id?: string): Move => calls(["exec", { command }, id]);
  const test = exec(`sh ${folder}/test.sh`);
  const edit = (name: string, at: number, id?: string): Move =>
    calls([
      "edit",
      {
        path: path(name),
        edits: [
          {
            oldText: `.take(limit + ${at});\n    let total = found.map(|entry| entry.weight * ${at * 17 + 3})`,
            newText: `.take(limit);\n    let total = found.map(|entry| entry.weight * ${at * 17 + 4})`,
          },
        ],
      },
      id,
    ]);
  const lookBack =
    (at: number): Move =>
    (body) => {
      const handle = testRuns(body).at(at);
      return handle === undefined
        ? { calls: [{ name: "exec", args: { command: `ls ${folder}` } }] }
        : { calls: [{ name: "activate", args: { name: handle, pattern: "case_317" } }] };
    };
  const say =
    (text: string): Move =>
    () => ({ text });
  const grep = (word: string, id?: string) => exec(`grep -n ${word} ${folder}/*.rs`, id);
  return [
    {
      message: "Get to know the code, run the tests, and tell me where you would look.",
      moves: [
        exec(`ls ${folder}`),
        read("parser"),
        calls(["read", { path: path("lexer") }], ["read", { path: path("writer") }]),
        read("reader"),
        test,
        read("index"),
        grep("Error::Empty"),
        read("cache"),
        read("missing"),
        say("I would look at the parser first."),
      ],
    },
    {
      message: "Then look closer, and begin to mend the parser.",
      moves: [
        lookBack(-1),
        read("parser"),
        edit("parser", 3),
        edit("parser", 4),
        test,
        read("server"),
        read("client"),
        grep("limit"),
        exec(`wc -l ${folder}/*.rs`),
        say("Two places of the parser are mended."),
      ],
    },
    {
      message: "Do the same in the lexer and the writer.",
      // A server that numbers its calls anew in each answer.
      moves: [
        exec(`ls -l ${folder}`, "call_0"),
        edit("lexer", 5, "call_0"),
        edit("writer", 6, "call_0"),
        exec(`sh ${folder}/test.sh`, "call_0"),
        grep("table", "call_0"),
        edit("nowhere", 1, "call_0"),
        exec("echo between", "call_0"),
        edit("lexer", 7, "call_0"),
        grep("Output::of", "call_0"),
        say("Lexer and writer are mended."),
      ],
    },
    {
      message: "Why does case_317 still fail? Look at what the first run said.",
      moves: [
        lookBack(0),
        read("index"),
        grep("case"),
        calls(["read", { path: path("reader") }], ["exec", { command: "echo both" }]),
        test,
        lookBack(-1),
        edit("index", 8),
        exec(`git -C ${folder} status`),
        test,
        say("It fails for want of a table."),
      ],
    },
    {
      message: "Add the table, then clean up the cache.",
      moves: [
        edit("cache", 2),
        edit("cache", 9),
        read("cache"),
        grep("weight"),
        calls(["write", { path: `${folder}/table.rs`, content: "pub const TABLE: &[u64] = &[3, 4];\n" }]),
        test,
        lookBack(-1),
        exec("echo done"),
        edit("server", 11),
        say("The table is there."),
      ],
    },
    {
      message: "Run everything once more and sum up.",
      moves: [
        test,
        lookBack(-1),
        exec(`cat ${folder}/table.rs`),
        read("client"),
        edit("client", 12),
        test,
        grep("table"),
        exec(`wc -c ${folder}/*.rs`),
        exec("echo end"),
        say("All is mended but case_317."),
      ],
    },
  ];
}
