// What the page says of objects, their relations and memory. Without a browser.
import { describe, expect, it } from "vitest";
import type { ObjectLink, TimelineObject, Version } from "../../index.js";
import { heights, neighbours } from "../../inspector/page/graph-layout.js";
import { doubtText, pagesByFile, versionThen } from "../../inspector/page/memory-words.js";
import { runText, shownCalls, shownNow, wantedObjects } from "../../inspector/page/runs.js";

function object(some: Partial<TimelineObject>): TimelineObject {
  return { id: "a", handle: "f1", type: "file", name: "src/a.rs", pinned: false, shown: [], ...some };
}

const a = object({ shown: [{ from: 2, to: 5, as: "given" }] });
const b = object({
  id: "b",
  handle: "t1",
  type: "toolcall",
  name: "bash $ npm test",
  shown: [
    { from: 1, to: 6, as: "excerpt" },
    { from: 7, to: 9, as: "reference" },
  ],
});

describe("the calls that showed an object", () => {
  it("are named as a run", () => {
    expect(runText({ from: 2, to: 5, as: "given" })).toBe("calls 2 to 5: as given");
    expect(runText({ from: 2, to: 2, as: "current" })).toBe("call 2: as it is now");
  });

  it("end before the newest request where it is not shown any more", () => {
    expect(shownNow(a.shown, 9)).toBe("not shown since call 5");
    expect(shownNow(b.shown, 9)).toBe("one line instead");
    expect(shownNow([], 9)).toBe("never shown");
  });

  it("count where more than a line was shown", () => {
    expect(shownCalls(b.shown)).toBe(6);
  });
});

describe("the objects that a person looks for", () => {
  const wanted = { words: "", type: "", order: "as they were met", calls: 9 };

  it("have all words in handle, name or ID", () => {
    expect(wantedObjects([a, b], { ...wanted, words: "T1 npm" })).toEqual([b]);
  });

  it("are of one type", () => {
    expect(wantedObjects([a, b], { ...wanted, type: "file" })).toEqual([a]);
  });

  it("stand in the order that was asked for", () => {
    expect(wantedObjects([a, b], { ...wanted, order: "shown longest first" })).toEqual([b, a]);
    expect(wantedObjects([b, a], { ...wanted, order: "by name" })).toEqual([b, a]);
  });
});

describe("the graph of an object", () => {
  function link(some: Partial<ObjectLink>): ObjectLink {
    return {
      from: "a",
      version: 1,
      since: 1,
      kind: "wikilink",
      written: "note",
      embed: false,
      place: { field: "content", path: "" },
      target: { state: "found", id: "b", candidates: [] },
      ...some,
    };
  }

  it("has each neighbour once, with how often and by what", () => {
    const links = [link({}), link({ kind: "markdown" }), link({ target: { state: "unresolved", candidates: [] } })];
    expect(neighbours(links, "to")).toEqual([
      { id: "b", name: "b", words: "wikilink; markdown", count: 2 },
      { id: null, name: "note", words: "wikilink, unresolved", count: 1 },
    ]);
  });

  it("has those that refer to it by their own ID", () => {
    expect(neighbours([link({ from: "c" })], "from")[0].id).toBe("c");
  });

  it("stands evenly around the middle", () => {
    expect(heights(3, 90)).toEqual([15, 45, 75]);
  });
});

describe("memory", () => {
  it("says why a page is in doubt", () => {
    expect(doubtText({ reason: "cited_changed", paths: ["a.rs"] })).toBe("It cites what has changed:");
    expect(doubtText({ reason: "never_used", days: 90 })).toBe("Never used in 90 days");
  });

  it("compares a cited file with its last version of the day on which the page was confirmed", () => {
    const version = (txId: number, day: string) => ({ txId, systemTime: `${day}T10:00:00Z` }) as Version;
    const versions = [version(9, "2030-01-04"), version(7, "2030-01-03"), version(5, "2030-01-01")];
    expect(versionThen(versions, "2030-01-02")?.txId).toBe(5);
    expect(versionThen(versions, "2030-01-03")?.txId).toBe(7);
    expect(versionThen(versions, "2030-01-04")).toBeNull();
    expect(versionThen(versions, "2029-12-31")?.txId).toBe(5);
    expect(versionThen(versions.slice(0, 1), "2030-01-04")).toBeNull();
  });

  it("has its pages file by file", () => {
    const page = {
      id: "1",
      scope: "project",
      file: "MEMORY.md",
      heading: null,
      text: "x",
      fidelity: null,
      resident: false,
    };
    const files = pagesByFile([page, { ...page, id: "2", file: "topic.md" }, { ...page, id: "3" }]);
    expect(files.map(({ file, pages }) => [file, pages.map(({ id }) => id)])).toEqual([
      ["MEMORY.md", ["1", "3"]],
      ["topic.md", ["2"]],
    ]);
  });
});
