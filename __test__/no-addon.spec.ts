// What a user of the package is told where the native addon is missing or does not load: in a clone, in an installed package, on a
// platform without one.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { copyOfPackage, temporaryFolder } from "./e2e/support.ts";

const machine = `${process.platform} ${process.arch}`;

/** A copy of the package; returns what importing it says: code, message, hint. */
function said(
  change: (folder: string, binaries: string[]) => void,
  before = "",
  variables = {},
): [string, string, string] {
  const folder = copyOfPackage();
  const binaries = readdirSync(folder).filter((name) => name.endsWith(".node"));
  expect(binaries.length).toBeGreaterThan(0);
  change(
    folder,
    binaries.map((name) => join(folder, name)),
  );
  const script = `${before}
    await import(${JSON.stringify(pathToFileURL(join(folder, "index.js")).href)}).then(
      () => console.log(JSON.stringify(["", "", ""])),
      ({ code, message, hint }) => console.log(JSON.stringify([code, message, hint.replace(${JSON.stringify(folder)}, "FOLDER")])),
    );`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    env: { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: undefined, ...variables },
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as [string, string, string];
}

/** Removes the binary, as in a clone that was not built, and in a package whose platform's package is missing. */
function unbuilt(_folder: string, binaries: string[]): void {
  for (const file of binaries) {
    rmSync(file);
  }
}

/** As the manifest of a published package. */
function published(folder: string, platforms: string[]): void {
  const file = join(folder, "package.json");
  const optionalDependencies = Object.fromEntries(platforms.map((name) => [`palimpsest-${name}`, "0.1.0"]));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), optionalDependencies }));
  expect(existsSync(join(folder, "Cargo.toml"))).toBe(false);
}

test("with its binary the package loads", () => {
  expect(said(() => {})).toEqual(["", "", ""]);
});

test("a clone that was not built says how to build it", () => {
  const clone = (folder: string, binaries: string[]) => {
    unbuilt(folder, binaries);
    writeFileSync(join(folder, "Cargo.toml"), "");
  };
  // An older Node is not to blame: it runs the command once that is built.
  const old = `Object.defineProperty(process.versions, "node", { value: "20.11.0" });`;
  for (const before of ["", old]) {
    expect(said(clone, before)).toEqual([
      "NO_ADDON",
      `the native addon for ${machine} is not built`,
      "run `npm install` and `npm run build` in `FOLDER`",
    ]);
  }
});

test("a package without this platform's package names it", () => {
  const here = binaryName();
  const [code, message, hint] = said((folder, binaries) => {
    unbuilt(folder, binaries);
    published(folder, ["darwin-arm64", here]);
  });
  expect([code, message]).toEqual([
    "NO_ADDON",
    `the package \`palimpsest-${here}\` with the native addon is not installed`,
  ]);
  expect(hint).toBe(
    "install palimpsest again, with optional dependencies: without `--omit=optional` and `--no-optional`",
  );
});

test("lists the supported platforms on one without a binary", () => {
  const freebsd = `Object.defineProperty(process, "platform", { value: "freebsd" });`;
  const change = (folder: string, binaries: string[]) => {
    unbuilt(folder, binaries);
    published(folder, ["darwin-arm64", "linux-x64-gnu"]);
  };
  expect(said(change, freebsd)).toEqual([
    "NO_ADDON",
    `there is no native addon for freebsd-${process.arch}`,
    "there is one for darwin-arm64, linux-x64-gnu; on other platforms build it from a clone",
  ]);
});

test("reports why a binary does not load, in one line", () => {
  const change = (folder: string, binaries: string[]) => {
    published(folder, [binaryName()]);
    for (const file of binaries) {
      writeFileSync(file, "not a library");
    }
  };
  const [code, message, hint] = said(change);
  expect(code).toBe("NO_ADDON");
  expect(message).toMatch(new RegExp(`^the native addon for ${machine} does not load: .+\\.node.*$`));
  expect(hint).toBe("install palimpsest again; if that does not help, build it from a clone");
});

test.each([
  ["/nowhere/a.node", "Cannot find module '/nowhere/a.node'"],
  [join(import.meta.dirname, "..", "package.json"), "it is another program's"],
])("a library given by a variable is named with it", (library, problem) => {
  expect(said(() => {}, "", { NAPI_RS_NATIVE_LIBRARY_PATH: library })).toEqual([
    "NO_ADDON",
    `\`NAPI_RS_NATIVE_LIBRARY_PATH\` names \`${library}\`, which is not palimpsest's native addon: ${problem}`,
    "unset the variable, then start again",
  ]);
});

test("a Node that is too old is named before anything else", () => {
  const old = `Object.defineProperty(process.versions, "node", { value: "20.11.0" });`;
  const change = (folder: string, binaries: string[]) => {
    unbuilt(folder, binaries);
    published(folder, [binaryName()]);
  };
  expect(said(change, old)).toEqual([
    "NO_ADDON",
    "Node 20.11.0 is too old: palimpsest needs Node 22.19 or later",
    "install a newer Node, then palimpsest again",
  ]);
  const { engines } = JSON.parse(readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8"));
  expect(engines.node).toBe(">=22.19");
});

test("a platform's package of another version is refused by name", () => {
  const change = (folder: string, binaries: string[]) => {
    // It is a link to the clone's own.
    rmSync(join(folder, "node_modules"));
    const platform = join(folder, "node_modules", `palimpsest-${binaryName()}`);
    mkdirSync(platform, { recursive: true });
    writeFileSync(join(platform, "package.json"), JSON.stringify({ version: "0.0.9", main: "a.node" }));
    copyFileSync(binaries[0], join(platform, "a.node"));
    unbuilt(folder, binaries);
    published(folder, [binaryName()]);
  };
  expect(said(change)).toEqual([
    "NO_ADDON",
    `the package \`palimpsest-${binaryName()}\` is of version 0.0.9, and palimpsest is 0.1.0`,
    "install both again: `npm install palimpsest@0.1.0`",
  ]);
});

test.each(["esm", "cjs"] as const)("inside a bundle (%s) it says what to do", async (format) => {
  const projectDir = temporaryFolder();
  writeFileSync(join(projectDir, "package.json"), JSON.stringify({ name: "app", version: "1.0.0" }));
  const entry = join(import.meta.dirname, "..", "index.js");
  const outfile = join(projectDir, "dist", `app.${format === "esm" ? "mjs" : "cjs"}`);
  const contents = `import(${JSON.stringify(entry)}).catch(({ code, hint }) => console.log(code, hint))`;
  await build({
    stdin: { contents, resolveDir: projectDir },
    bundle: true,
    platform: "node",
    format,
    outfile,
    logLevel: "silent",
  });
  const { stdout } = spawnSync(process.execPath, [outfile], { encoding: "utf8" });
  expect(stdout).toMatch(/^NO_ADDON mark `palimpsest` as external in the bundler, such as `--external:palimpsest`/);
});

/** This platform as the name of its binary has it. */
function binaryName(): string {
  const [name] = readdirSync(join(import.meta.dirname, "..")).filter((each) => each.endsWith(".node"));
  return name.split(".")[1];
}
