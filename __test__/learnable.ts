// Sessions of which there is something to learn.

/** A session in the neutral form in which every second call says again what was shown or written long before. */
export function learnable(name: string, again: boolean): string {
  const line = (what: string, call: number, row: number) =>
    `${what} ${call} of ${name} has row ${row} with these words`;
  const messages: object[] = [{ session: { id: name } }, { role: "user", content: "Begin.", timestamp: 1 }];
  for (let call = 0; call < 150; call += 1) {
    const said = again && call > 30 && call % 2 === 0 ? [line("output", call - 25, 3), line("code", call - 24, 4)] : [];
    const rows = (what: string) => Array.from({ length: 10 }, (_, row) => line(what, call, row)).join("\n");
    const args = { path: `${call}.ts`, content: rows("code") };
    const timestamp = 10 + call;
    messages.push(
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: said.join("\n") },
          { type: "toolCall", id: `c${call}`, name: "bash", arguments: args },
        ],
        timestamp,
      },
      {
        role: "toolResult",
        toolCallId: `c${call}`,
        toolName: "bash",
        content: [{ type: "text", text: rows("output") }],
        isError: false,
        timestamp,
      },
    );
  }
  return messages.map((message) => `${JSON.stringify(message)}\n`).join("");
}
