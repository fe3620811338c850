// Follows the session on show, or all where none is, and says in the bar how that goes: whether it is written, and whether the server is
// still there. Must not know what views show.
import { element } from "./elements/dom.js";
import { clock } from "./elements/numbers.js";

/** The shortest time between two looks at a session that is being written, in milliseconds. */
const FOLLOW_MS = 1000;
/** How long after a write a session counts as live, in milliseconds. */
const LIVE_MS = 60_000;
/** What is told so soon after a stream was opened was written before, and nobody knows when; in milliseconds. */
const OPENING_MS = 300;

const LOST =
  "The inspector does not answer any more. `palimpsest open` starts it again, at a new address; so does `/context open` in Pi.";

/** Tells `written` when what is on show is to be looked at anew. */
export class Following extends EventTarget {
  /** @param {import("./data/remembered.js").Remembering} source */
  constructor(source) {
    super();
    this.source = source;
    /** The session that is followed; null: all. @type {string | null | undefined} */
    this.session = undefined;
    this.end = () => {};
    this.looking = 0;
    this.resting = 0;
    this.badge = element("span", { class: "badge", role: "status", hidden: true });
    this.line = element("p", { class: "lost", role: "alert" });
  }

  /**
   * Follows another session from now on.
   * @param {string | null} session
   */
  show(session) {
    if (session === this.session || !this.source.live) {
      return;
    }
    this.end();
    clearTimeout(this.looking);
    this.looking = 0;
    this.session = session;
    this.badge.hidden = true;
    this.rest();
    let opened = 0;
    this.end = this.source.follow(session, {
      changed: () => {
        if (Date.now() - opened > OPENING_MS) {
          this.live();
        }
        this.look();
      },
      lost: () => this.tell(LOST),
      found: () => {
        this.tell("");
        // Nobody tells what was written while there was no stream.
        if (opened > 0) {
          this.look();
        }
        opened = Date.now();
      },
    });
  }

  /** Soon, and once for all that is written until then. */
  look() {
    this.looking ||= setTimeout(() => {
      this.looking = 0;
      this.source.forget(this.session ?? null);
      this.dispatchEvent(new Event("written"));
    }, FOLLOW_MS);
  }

  live() {
    this.badge.textContent = "live";
    this.badge.title = `Written at ${clock(new Date().toISOString())}`;
    this.badge.classList.add("live");
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), LIVE_MS);
  }

  rest() {
    clearTimeout(this.resting);
    this.badge.textContent = "following";
    this.badge.title = "Shows what is written to this session as soon as it is written";
    this.badge.classList.remove("live");
  }

  /** @param {string} problem empty: the server is there */
  tell(problem) {
    this.badge.hidden = problem !== "" || this.session === null;
    // What stands there already is not to be read out again.
    if (this.line.textContent !== problem) {
      this.line.textContent = problem;
    }
  }
}
