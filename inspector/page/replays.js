import { element } from "./dom.js";
/** @param {import("../../index.js").ReplayReport} report */
export function replaysView(report) {
  return element("div", {}, String(report.files.length));
}
