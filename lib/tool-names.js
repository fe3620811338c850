// The names of our tools, for what needs them before the native side is loaded: it has them from the same list.

export const toolNames = ["activate", "deactivate", "pin", "unpin"];

/** The names that they have in a session where another extension has a tool with one of these. */
export const prefixedNames = toolNames.map((name) => `palimpsest_${name}`);
