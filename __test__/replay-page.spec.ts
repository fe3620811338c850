// The scripts of the page that `palimpsest replay --html` writes, run on a document of a few lines: it has what they use, and
// nothing that reads text as markup. How the page looks only a browser shows.
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";

const read = (name: string) => readFileSync(new URL(`../src/replay/html/${name}`, import.meta.url), "utf8");

type Listener = (event: object) => void;

/** An element that keeps what is put into it. */
class Element {
  readonly attributes = new Map<string, string>();
  readonly listeners = new Map<string, Listener>();
  readonly style: Record<string, string> = {};
  readonly classes = new Set<string>();
  readonly classList = {
    add: (name: string) => this.classes.add(name),
    remove: (name: string) => this.classes.delete(name),
    toggle: (name: string, on: boolean) => (on ? this.classes.add(name) : this.classes.delete(name)),
  };
  children: (Element | string)[] = [];
  hidden = false;
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  setAttribute(name: string, value: string) {
    this.attributes.set(name, String(value));
    if (name === "class") {
      for (const one of String(value).split(" ")) {
        this.classes.add(one);
      }
    }
  }

  addEventListener(name: string, listener: Listener) {
    this.listeners.set(name, listener);
  }

  append(...children: (Element | string)[]) {
    this.children = this.children.filter((child) => !children.includes(child) || typeof child === "string");
    this.children.push(...children);
  }

  replaceChildren(...children: (Element | string)[]) {
    this.children = children;
  }

  getBoundingClientRect() {
    return { left: 0, width: 1_100 };
  }

  click() {
    this.listeners.get("click")?.({});
  }

  get textContent(): string {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join(" ");
  }

  set textContent(text: string) {
    this.children = [text];
  }

  all(name: string): Element[] {
    const inside = this.children.flatMap((child) => (typeof child === "string" ? [] : child.all(name)));
    return this.name === name || this.classes.has(name) ? [this, ...inside] : inside;
  }
}

/** Runs the page's scripts on a report as the page holds it, and gives the sections. */
function open(report: object) {
  const sections = new Map(["terms", "sum", "files", "session"].map((id) => [id, new Element(id)]));
  const data = new Element("script");
  data.textContent = JSON.stringify(report);
  const document = {
    getElementById: (id: string) => (id === "report" ? data : sections.get(id)),
    createElement: (name: string) => new Element(name),
    createElementNS: (_space: string, name: string) => new Element(name),
    querySelector: () => sections.get("files")?.all("name")[0]?.all("button")[0],
    querySelectorAll: () => sections.get("files")?.all("chosen") ?? [],
  };
  const context = createContext({ document });
  for (const script of ["chart.js", "page.js"]) {
    // Modules of a page have scopes of their own.
    runInContext(`(() => {${read(script)}})()`, context, { filename: script });
  }
  const section = (id: string) => sections.get(id) as Element;
  return { section, text: (id: string) => section(id).textContent };
}

function session(name: string, calls: number) {
  const column = (value: (at: number) => number) => Array.from({ length: calls }, (_, at) => value(at));
  return {
    name,
    calls,
    bill: { ours: 6, plain: 10, ratio: 0.6 },
    tokens: { ours: 12_400, plain: 1_250_000 },
    peakWindow: { ours: 81_234, plain: 196_000 },
    cachedShare: { ours: 0.9, plain: 0.95 },
    faults: { raw: 3, strict: 1, ownWords: 1 },
    plainFaults: { raw: 0, strict: 0, ownWords: 0 },
    plainCompactions: 1,
    epochCount: calls > 2 ? 1 : 0,
    epochs: calls > 2 ? [{ call: 2, reason: "<b>cold</b>", collapsed: 4, freedTokens: 9_000 }] : [],
    faultCalls: calls > 2 ? [{ call: 2, kind: "strict", lines: 1, cost: 2_500 }] : [],
    hostCompactions: calls > 2 ? [{ call: 2, side: "plain" }] : [],
    notes: ["bad lines: 2"],
    points: {
      call: column((at) => at),
      fixed: column(() => 4_600),
      user: column((at) => at),
      assistant: column((at) => 10 * at),
      output: column((at) => 100 * at),
      reference: column(() => 5),
      plain: column((at) => 120 * at),
      oursBill: column((at) => 6 * at),
      plainBill: column((at) => 10 * at),
    },
  };
}

const sum = { files: 2, leftOut: 1, calls: 200, epochs: 1, bill: { ratio: 0.53 }, median: 0.6, worst: 1.01 };

test("a report is shown in sum, as a table, and the first session in charts", () => {
  const page = open({ layout: "log", prices: "anthropic", window: 200_000, files: [session("shop", 5)], sum });
  expect(page.text("terms")).toContain("layout log, prices anthropic, a window of 200k tokens");
  expect(page.text("sum")).toContain("53\u00a0%");
  expect(page.text("files")).toMatch(/shop 5 60\.0\u00a0%.*12\.4k \/ 1\.25M 81\.2k \/ 196k/);
  expect(page.text("session")).toContain("plain, 1 compactions");
  expect(page.text("session")).toContain("1 epochs");
  expect(page.text("session")).toContain("Of the file: bad lines: 2.");
  const paths = page.section("session").all("path");
  expect(paths.length).toBeGreaterThan(8);
  for (const path of paths) {
    expect(path.attributes.get("d")).toMatch(/^M[\d.]/);
  }
});

test("pointing at a call tells its figures, the epoch's reason and the fault, as text", () => {
  const page = open({ files: [session("shop", 5)], sum });
  const [chart] = page.section("session").all("chart");
  const [svg] = chart.children as Element[];
  const [tip] = chart.all("tip");
  svg.listeners.get("pointermove")?.({ clientX: 64 + (1_020 * 2.5) / 5 });
  expect(tip.hidden).toBe(false);
  expect(tip.textContent).toContain("call 2 window, ours 4,827");
  expect(tip.textContent).toContain("Epoch at call 2: <b>cold</b> (4 collapsed, 9,000 tokens freed)");
  expect(tip.textContent).toContain("Fault at call 2: line of an output, 2,500");
  expect(tip.textContent).toContain("The host compacts plain's request at call 2");
  svg.listeners.get("keydown")?.({ key: "ArrowRight", preventDefault: () => {} });
  expect(tip.textContent).toContain("call 3");
  svg.listeners.get("pointerleave")?.({});
  expect(tip.hidden).toBe(true);
});

test("a heading sorts the table and a name shows its session", () => {
  const page = open({ files: [session("a", 3), session("b", 9)], sum });
  const names = () =>
    page
      .section("files")
      .all("name")
      .map((cell) => cell.textContent);
  expect(names()).toEqual(["a", "b"]);
  page.section("files").all("thead")[0].all("button")[1].click();
  expect(names()).toEqual(["b", "a"]);
  page.section("files").all("name")[0].all("button")[0].click();
  expect(page.text("session")).toMatch(/^b /);
  expect(page.section("files").all("chosen")).toHaveLength(1);
});

test("a report without sessions says so, and one call fills its chart", () => {
  const none = open({ files: [], sum: { files: 0, calls: 0 } });
  expect(none.text("files")).toBe("No session was replayed.");
  const page = open({ files: [session("once", 1)], sum });
  expect(page.text("session")).toContain("No epoch started.");
  expect(page.section("session").all("path")[8].attributes.get("d")).toContain("H1084.0");
});
