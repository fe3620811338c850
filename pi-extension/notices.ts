// What the user is told of a session: in words, what its events mean. Pure.
import type { SessionEvent } from "./addon.ts";

/** The notice about an event; undefined for those that a person need not know. */
export function noticeOf(event: SessionEvent): string | undefined {
  switch (event.type) {
    case "message_volatile":
      return `message ${event.at + 1} changes on every call; it passes through, and caching ends before it`;
    case "files_polled":
      return event.reason === "watch_limit"
        ? `the system allows no more watches; files of ${event.folders} folders are looked at every 2 s`
        : undefined;
    case "window_exceeded":
      return `the request has about ${event.tokens} tokens, the model's window ${event.window}: what may leave has left`;
    case "tracking_failed":
      return `tracking: ${event.problem}; files are looked at before each call all the same`;
    case "disk_silent":
      return `\`${event.path}\` does not answer; what is known of its files stands, and they are looked at again later`;
    case "disk_answers":
      return `\`${event.path}\` answers again`;
    default:
      return undefined;
  }
}
