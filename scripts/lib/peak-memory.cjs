// Prints the peak memory of a process in KiB on stderr when it ends. `maxRSS` is at least that of the process which started it.
const { readFileSync } = require("node:fs");

process.once("exit", () => {
  const status = readFileSync("/proc/self/status", "utf8");
  process.stderr.write(`peak ${/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0}\n`);
});
