// `npm run xtdb`: the development server of XTDB, on loopback, until Ctrl-C. See xtdb/README.md.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { configurations, prepareXtdb, startXtdb } from "./lib/xtdb.js";
import { root } from "./setup.js";

const usage = `npm run xtdb -- [--config ${configurations.join("|")}|FILE] [--port N] [--data FOLDER] [--token-file FILE] [--read-only]`;

const { config, port, data, tokenFile, readOnly } = read(process.argv.slice(2));
const missing = prepareXtdb();
if (missing !== undefined) {
  fail(missing);
}
const dataDir = data ?? join(root, "xtdb", "target", "data", config.replace(/\W+/g, "-"));
const server = startXtdb({ config, dataDir, port, tokenFile, readOnly });
// Ctrl-C reaches the server too, which closes its node; this process ends when the server has.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => server.child.kill());
server.url.then(
  (url) => console.log(`XTDB answers at ${url} (${config}, data in ${dataDir}); Ctrl-C ends it`),
  () => {},
);
const code = await server.ended.catch((error) => fail(`java does not start: ${error.message}`));
process.exit(code === 130 || code === 143 ? 0 : (code ?? 1));

/** @param {string[]} args */
function read(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        config: { type: "string", default: "standalone" },
        port: { type: "string" },
        data: { type: "string" },
        "token-file": { type: "string" },
        "read-only": { type: "boolean" },
      },
    });
    const port = values.port === undefined ? undefined : Number(values.port);
    if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65536)) {
      throw new Error(`\`${values.port}\` is no port`);
    }
    return {
      config: values.config,
      port,
      data: values.data,
      tokenFile: values["token-file"],
      readOnly: values["read-only"],
    };
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n${usage}`);
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(message);
  process.exit(1);
}
