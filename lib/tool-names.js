// The names of our tools, for what needs them before the native side is loaded: it has them from the same list.

export const toolNames = ["activate", "deactivate", "pin", "unpin"];
