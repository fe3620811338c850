// What charts draw: values over calls, and marks.

/** `colour`: name of a custom property of the style sheet. Areas are stacked in their order, from below. A call without a value is a gap. */
export interface Series {
  name: string;
  colour: string;
  draw: "area" | "line" | "dashes";
  values: (number | null)[];
}

/** Marks of one kind, by the numbers of their calls. */
export interface Lane {
  name: string;
  colour: string;
  marks: { call: number; faint: boolean }[];
}
