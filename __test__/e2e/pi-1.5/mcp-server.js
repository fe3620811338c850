// A small MCP server over stdio for the tests: `report` answers in several blocks and structured content, `list` with structured
// content alone, `long` with a text that Pi shows in part, `fail` with an error. Knows nothing of Pi.
import { createInterface } from "node:readline";

const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const lines = (/** @type {number} */ count) =>
  Array.from({ length: count }, (_, at) => `row ${at + 1} of the report, in words`);
const text = (/** @type {string} */ value) => ({ type: "text", text: value });

/** @type {Record<string, (args: { rows?: number }) => object>} */
const answers = {
  report: ({ rows = 6 }) => ({
    content: [
      text("The report:"),
      text(lines(rows).join("\n")),
      { type: "image", data: image, mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///r.txt", mimeType: "text/plain", text: "a resource" } },
    ],
    structuredContent: { rows: lines(rows) },
  }),
  list: ({ rows = 6 }) => ({ content: [], structuredContent: lines(rows) }),
  long: ({ rows = 3_000 }) => ({ content: [text(lines(rows).join("\n"))] }),
  fail: () => ({ content: [text("the report is not there")], isError: true }),
};

const inputSchema = { type: "object", properties: { rows: { type: "number" } } };
const tools = Object.keys(answers).map((name) => ({ name, description: `The report, by ${name}`, inputSchema }));

/** @param {{ method: string, params: any }} request */
function answerTo({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "reports", version: "1" },
        instructions: "Reports for the tests.",
      };
    case "tools/list":
      return { tools };
    case "tools/call":
      return answers[params.name](params.arguments ?? {});
    default:
      return {};
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  // Notifications have no ID and get no answer.
  if (request.id !== undefined) {
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: request.id, result: answerTo(request) })}\n`);
  }
});
