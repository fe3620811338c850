import { element } from "./dom.js";
/** @param {import("./main.js").Context} context @param {import("./main.js").Route} route @returns {import("./main.js").View} */
export function memoryView(context, route) {
  return { node: element("div", {}, element("h1", { tabindex: "-1" }, "memory")) };
}
