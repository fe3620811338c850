// Prints the peak memory of a process in KiB on stderr when it ends.
process.once("exit", () => process.stderr.write(`peak ${process.resourceUsage().maxRSS}\n`));
