// Those who follow sessions: a stream of events for each, and one look at the store for all of them. Must not know what is shown.

import { Refusal } from "./failures.js";

/** @import { IncomingMessage, ServerResponse } from "node:http" */

/** Streams at once: each holds a connection. A browser opens six at most. */
const mostFollowers = 16;

/** How often the store is looked at while somebody follows, in milliseconds. */
const lookMs = 700;
/** Of as many looks, one is also at all sessions: that reads the document of each. */
const looksAtAll = 5;
/** How often a stream is written to at least, so that one that broke is found out. */
const beatMs = 20_000;

/** @typedef {{ id: string, known: number, response: ServerResponse }} Follower */

export class Followers {
  /**
   * @param {(id: string) => Promise<{ now: number, told: number }>} newest transaction of a session, and the one that viewers know; an
   *   empty ID: of all sessions
   * @param {{ [name: string]: string }} headers of every answer
   */
  constructor(newest, headers) {
    this.newest = newest;
    this.headers = headers;
    /** @type {Set<Follower>} */
    this.all = new Set();
    this.isLooking = false;
    this.looks = 0;
    this.isClosed = false;
    /** @type {NodeJS.Timeout[]} */
    this.timers = [];
  }

  /**
   * Answers with the events of a session until one side ends it. An unknown session rejects before.
   * @param {string} id empty: of all sessions
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   */
  async add(id, request, response) {
    const { now, told } = await this.newest(id);
    // One side may have ended it meanwhile.
    if (this.isClosed || response.destroyed) {
      response.destroy();
      return;
    }
    if (this.all.size >= mostFollowers) {
      throw new Refusal("TOO_MANY", `${mostFollowers} pages follow sessions here`, "close one of them");
    }
    const last = Number(request.headers["last-event-id"] ?? told);
    response.writeHead(200, { ...this.headers, "content-type": "text/event-stream" });
    response.write("retry: 2000\n\n");
    const follower = { id, known: Number.isInteger(last) ? last : now, response };
    this.all.add(follower);
    response.once("close", () => this.remove(follower));
    this.tell(id, now);
    if (this.timers.length === 0) {
      this.timers = [setInterval(() => void this.look(), lookMs), setInterval(() => this.beat(), beatMs)];
      // What serves keeps the process alive, not what waits.
      this.timers.map((timer) => timer.unref());
    }
  }

  /** @param {Follower} follower */
  remove(follower) {
    this.all.delete(follower);
    if (this.all.size === 0) {
      this.timers.splice(0).forEach(clearInterval);
    }
  }

  async look() {
    if (this.isLooking) {
      return;
    }
    this.isLooking = true;
    this.looks += 1;
    const followed = new Set([...this.all].map(({ id }) => id));
    if (this.looks % looksAtAll > 0) {
      followed.delete("");
    }
    for (const id of followed) {
      // A store that cannot be read for a moment, or a session that was forgotten, has nothing to tell.
      const { now } = await this.newest(id).catch(() => ({ now: 0 }));
      this.tell(id, now);
    }
    this.isLooking = false;
  }

  /**
   * @param {string} id
   * @param {number} now
   */
  tell(id, now) {
    for (const follower of this.all) {
      if (follower.id === id && follower.known < now) {
        follower.known = now;
        follower.response.write(`id: ${now}\nevent: changed\ndata: ${now}\n\n`);
      }
    }
  }

  beat() {
    for (const { response } of this.all) {
      response.write(": here\n\n");
    }
  }

  close() {
    this.isClosed = true;
    for (const follower of this.all) {
      this.remove(follower);
      follower.response.end();
    }
  }
}
