// Publishes the tarballs in a folder (`dist` unless named), as `npm run pack:local -- --binaries DIR` writes them. `--check` does all but
// publishing. What follows `--` goes to `npm publish`. Run again after a failure, it goes on where that was.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { publishAll } from "./lib/publish.js";

const end = process.argv.indexOf("--");
const [own, options] =
  end < 0 ? [process.argv.slice(2), []] : [process.argv.slice(2, end), process.argv.slice(end + 1)];
const { values, positionals } = parseArgs({
  args: own,
  options: { check: { type: "boolean" } },
  allowPositionals: true,
});
const folder = positionals[0] ?? fileURLToPath(new URL("../dist", import.meta.url));
const problem = publishAll({ folder, options, isCheck: values.check === true });
if (problem !== undefined) {
  console.error(problem);
  process.exitCode = 1;
}
