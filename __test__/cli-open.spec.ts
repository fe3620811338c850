// `palimpsest open` as a process of its own: what it prints where, what it refuses, and the browser that it opens. What the page gets
// is in `inspector/server.spec.ts`.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openerFor } from "../inspector/server/browser.js";
import { claimPort } from "../scripts/lib/ports.js";
import { launch } from "../scripts/lib/processes.js";
import { pinnedNode } from "../scripts/setup.js";
import { type Desk, desk, program, withSession } from "./command.ts";

const address = /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/;

/** What shows a person's screen, and what says that they sit elsewhere. */
const noScreen = {
  DISPLAY: "",
  WAYLAND_DISPLAY: "",
  WSL_DISTRO_NAME: "",
  SSH_CONNECTION: "",
  SSH_CLIENT: "",
  SSH_TTY: "",
};

/** `palimpsest open`, until the test has finished. */
function opened({ env, folder }: Desk, args: string[], more: Record<string, string> = {}) {
  const command = [pinnedNode(), program, "open", ...args];
  const all = { ...(env as Record<string, string>), ...noScreen, ...more };
  const { child, finished, outcome } = launch({ name: "open", command, cwd: folder, env: all, deadlineMs: 40_000 });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await finished.catch(() => {});
  });
  return {
    finished,
    /** What it has said once it serves. */
    async said() {
      await expect.poll(() => outcome.stderr, { timeout: 20_000 }).toMatch(/Ctrl-C ends it\n/);
      return { ...outcome };
    },
    interrupt: () => child.kill("SIGINT"),
  };
}

async function withStore(): Promise<Desk> {
  const made = desk();
  await withSession(made);
  return made;
}

describe("what it serves", () => {
  test("prints only the address to stdout, instructions to stderr", async () => {
    const at = await withStore();
    const open = opened(at, []);
    const { stdout, stderr } = await open.said();
    expect(stdout.trimEnd()).toMatch(address);
    expect(stderr).toBe("open this address in a browser on this machine; Ctrl-C ends it\n");
    const about = await (await fetch(`${stdout.trim()}api/about`)).json();
    expect(about).toMatchObject({ store: at.store, session: null, redacted: false });
    open.interrupt();
    expect(await open.finished).toMatchObject({ code: 0, signal: null, stdout, stderr });
  });

  test.each(["latest", "s", "session:s"])("is the session `%s`, by any name that it has", async (name) => {
    const at = await withStore();
    const { stdout } = await opened(at, [name, "--json"]).said();
    const { url, ...rest } = JSON.parse(stdout);
    expect({ url, rest }).toEqual({
      url: expect.stringMatching(address),
      rest: { store: at.store, session: "session:s" },
    });
    expect(await (await fetch(`${url}api/about`)).json()).toMatchObject({ session: "session:s" });
  });

  test("is over SSH told with the way to it", async () => {
    const at = await withStore();
    const env = { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22", DISPLAY: ":0" };
    const { stdout, stderr } = await opened(at, [], env).said();
    const { port } = new URL(stdout);
    expect(stderr).toBe(
      `open this address where you sit, after \`ssh -L ${port}:127.0.0.1:${port}\` to this machine; Ctrl-C ends it\n`,
    );
  });

  test("uses the requested port, and reports one that is in use", async () => {
    const at = await withStore();
    const { port, release } = await claimPort();
    onTestFinished(release);
    const other = createServer().listen(port, "127.0.0.1");
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once("listening", resolve));
    expect(at.failure("open", "--port", String(port))).toMatchObject({
      status: 1,
      code: "NO_PORT",
      message: `port \`${port}\` cannot be used: another program listens on it`,
      hint: "choose another port, or none: then any that is free is taken",
    });
    await new Promise((resolve) => other.close(resolve));
    const { stdout } = await opened(at, ["--port", String(port)]).said();
    expect(new URL(stdout).port).toBe(String(port));
  });

  test("ends without a word where nobody reads its address", async () => {
    const at = await withStore();
    const command = ["sh", "-c", `"$0" "$1" open --no-browser | true`, pinnedNode(), program];
    const env = at.env as Record<string, string>;
    const { finished } = launch({ name: "open", command, cwd: at.folder, env, deadlineMs: 20_000 });
    const { stderr } = await finished;
    expect(stderr).not.toMatch(/EPIPE|Error|\n\s+at /);
  });
});

describe("the browser", () => {
  /** A folder with a program that stands for the one that opens browsers; it writes down what it is given. */
  function opener(at: Desk, name: string, end: string) {
    const folder = join(at.folder, "programs");
    mkdirSync(folder);
    writeFileSync(join(folder, name), `#!/bin/sh\necho "$@" > "${join(folder, "given")}"\n${end}\n`);
    chmodSync(join(folder, name), 0o755);
    const given = () => (existsSync(join(folder, "given")) ? readFileSync(join(folder, "given"), "utf8").trim() : null);
    return { path: [folder, process.env.PATH].join(delimiter), given };
  }

  test.each([
    { how: "ends", end: "exit 0" },
    { how: "stays as long as the browser", end: "exec sleep 5" },
  ])("is opened by a program that $how", async ({ end }) => {
    const at = await withStore();
    const { path, given } = opener(at, "xdg-open", end);
    const { stdout, stderr } = await opened(at, [], { DISPLAY: ":9", PATH: path }).said();
    expect(stderr).toBe("opened in the browser; Ctrl-C ends it\n");
    expect(given()).toBe(stdout.trim());
  });

  test("is not reported as open if it fails or is absent", async () => {
    const at = await withStore();
    const { path, given } = opener(at, "xdg-open", "exit 4");
    const open = /^open this address in a browser on this machine; /;
    expect((await opened(at, [], { DISPLAY: ":9", PATH: path }).said()).stderr).toMatch(open);
    expect(given()).not.toBeNull();
    writeFileSync(join(at.folder, "programs", "given"), "");
    expect((await opened(at, ["--no-browser"], { DISPLAY: ":9", PATH: path }).said()).stderr).toMatch(open);
    expect((await opened(at, [], { PATH: path }).said()).stderr).toMatch(open);
    expect((await opened(at, [], { DISPLAY: ":9", PATH: "/nowhere" }).said()).stderr).toMatch(open);
    expect(given()).toBe("");
  });

  test("is the one of Windows in WSL, and none over SSH", () => {
    const at = desk();
    const { path } = opener(at, "wslview", "");
    const wsl = { PATH: path, WSL_DISTRO_NAME: "Debian" };
    expect(openerFor(wsl, "linux")).toEqual(["wslview"]);
    expect(openerFor({ PATH: path, DISPLAY: ":0" }, "linux")).not.toEqual(["wslview"]);
    expect(openerFor({}, "darwin")).toEqual(["open"]);
    expect(openerFor({ SystemRoot: "D:\\Win" }, "win32")?.[0]).toBe("D:\\Win\\System32\\rundll32.exe");
    expect(openerFor({}, "linux")).toBeUndefined();
    for (const remote of [{ SSH_TTY: "/dev/pts/1" }, { SSH_CLIENT: "192.0.2.1 5 22" }]) {
      expect(openerFor({ ...wsl, ...remote }, "linux")).toBeUndefined();
      expect(openerFor(remote, "darwin")).toBeUndefined();
    }
  });
});

describe("it refuses", () => {
  test("a store that is not there, and makes none", () => {
    const at = desk();
    expect(at.failure("open")).toMatchObject({ status: 1, code: "STORE_UNAVAILABLE" });
    expect(existsSync(at.store)).toBe(false);
  });

  test("a session that nobody knows", async () => {
    const at = await withStore();
    expect(at.failure("open", "unknown")).toMatchObject({
      status: 3,
      code: "UNKNOWN_NAME",
      hint: "`palimpsest sessions` lists the sessions",
    });
    expect(at.failure("open", "unknown", "--html", "a.html")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
    expect(readdirSync(at.folder)).toEqual([]);
  });

  test.each([
    [["--port", "abc"], "`--port` must be a whole number, is `abc`"],
    [["--port", "65536"], "`--port` must be at most 65535, is `65536`"],
    [["--port", "-1"], "`--port` must be a whole number, is `-1`"],
    [["--minutes", "0"], "`--minutes` must be between 1 and 1440, is `0`"],
    [["--minutes", "1441"], "`--minutes` must be between 1 and 1440, is `1441`"],
    [["--minutes", "soon"], "`--minutes` must be a whole number, is `soon`"],
    [["--redact"], "`--redact` is for a page that is written"],
    [["latest", "--redact"], "`--redact` is for a page that is written"],
    [["latest", "--memory"], "`--memory` is for a page that is written"],
    [["--html", "page.html"], "`--html` writes one session"],
    [["--html"], "html"],
    [["latest", "other"], "other"],
  ])("`open %j`, which cannot be meant", async (args, message) => {
    const at = await withStore();
    const { status, code, message: said } = at.failure("open", ...args);
    expect({ status, code, said }).toEqual({ status: 2, code: "USAGE", said: expect.stringContaining(message) });
  });
});

describe("--html", () => {
  test("writes a page only its user can read, and prints its path", async () => {
    const at = await withStore();
    const path = join(at.folder, "page.html");
    const { status, stdout, stderr } = at.run("open", "latest", "--html", "page.html");
    const { size, mode } = statSync(path);
    expect({ status, stdout, stderr, mode: mode & 0o777 }).toEqual({
      status: 0,
      stdout: `wrote ${size} bytes to ${path}\n`,
      stderr: "",
      mode: 0o600,
    });
    expect(readFileSync(path, "utf8")).toMatch(/^<!doctype html>/i);
    expect(at.json("open", "s", "--html", "page.html", "--redact")).toEqual({
      path,
      bytes: statSync(path).size,
      session: "session:s",
    });
  });

  test("replaces a file or a link, but not the link's target", async () => {
    const at = await withStore();
    const [kept, file, link] = ["kept.txt", "old.html", "link.html"].map((name) => join(at.folder, name));
    writeFileSync(kept, "mine");
    writeFileSync(file, "old", { mode: 0o644 });
    symlinkSync(kept, link);
    expect(at.run("open", "s", "--html", "old.html").status).toBe(0);
    expect(at.run("open", "s", "--html", "link.html").status).toBe(0);
    expect(readFileSync(kept, "utf8")).toBe("mine");
    for (const path of [file, link]) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readFileSync(path, "utf8")).toMatch(/^<!doctype html>/i);
    }
  });

  test("reports why it cannot write a page, and leaves no part", async () => {
    const at = await withStore();
    mkdirSync(join(at.folder, "folder"));
    writeFileSync(join(at.folder, "file.txt"), "mine");
    const before = readdirSync(at.folder);
    expect(at.failure("open", "s", "--html", "folder")).toMatchObject({ status: 1, code: "FILE" });
    expect(at.failure("open", "s", "--html", "no/such/page.html")).toMatchObject({ status: 1, code: "FILE" });
    expect(at.failure("open", "s", "--html", "file.txt/page.html")).toMatchObject({ status: 1, code: "FILE" });
    expect(readdirSync(at.folder)).toEqual(before);
    expect(readdirSync(join(at.folder, "folder"))).toEqual([]);
  });

  test("writes into a pipe as it is", async () => {
    const at = await withStore();
    const shell = `"$0" "$1" open s --html /dev/stdout | cat`;
    const options = { cwd: at.folder, env: at.env, encoding: "utf8" } as const;
    const { stdout, stderr } = spawnSync("sh", ["-c", shell, pinnedNode(), program], options);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^<!doctype html>.*wrote \d+ bytes to \/dev\/stdout\n$/is);
  });
});
