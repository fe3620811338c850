// What the page says of objects and their relations. Without a browser.
import { describe, expect, it } from "vitest";
import type { ObjectLink, TimelineObject } from "../../index.js";
import { heights, neighbours } from "../../inspector/page/objects/graph-layout.js";
import { runText, shownCalls, shownNow, wantedObjects } from "../../inspector/page/objects/runs.js";

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

  it("end before the newest request if the object is gone", () => {
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
