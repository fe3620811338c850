// A Bot API server of Telegram on loopback, enough for OpenClaw's own channel: people write in private chats and in groups, and what the bot
// sends is kept. Must not know OpenClaw beyond how its channel is configured.
import { createServer } from "node:http";

/**
 * @typedef {Awaited<ReturnType<typeof startTelegram>>} Telegram
 *
 * @typedef {object} Sent what the bot sent
 * @property {number} chat
 * @property {number} id of the message
 * @property {string} text
 *
 * @typedef {{ [key: string]: any }} Json
 */

const bot = { id: 4242, is_bot: true, first_name: "Bot", username: "scripted_bot", can_read_all_group_messages: true };
/** A poll for news is answered at the latest then, as Telegram's own server does. */
const pollMs = 5_000;

/** Starts the server on a port of its own. */
export async function startTelegram() {
  /** @type {Json[]} */
  const updates = [];
  /** @type {Sent[]} */
  const sent = [];
  /** @type {Set<() => void>} */
  const polls = new Set();
  /** @type {Set<() => void>} */
  const listeners = new Set();
  let lastId = 1_000;

  /** @param {Json} params */
  const news = async ({ offset = 0 }) => {
    const due = () => updates.filter(({ update_id: id }) => id >= Number(offset));
    if (due().length === 0) {
      await new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          polls.delete(wake);
          resolve(undefined);
        };
        const timer = setTimeout(wake, pollMs);
        polls.add(wake);
      });
    }
    return due();
  };

  /** @param {Json} params */
  const send = ({ chat_id: chat, text = "", message_id: id = ++lastId }) => {
    sent.push({ chat: Number(chat), id: Number(id), text });
    for (const listener of listeners) {
      listener();
    }
    return { message_id: Number(id), date: now(), chat: chatOf(Number(chat)), from: bot, text };
  };

  /** @type {Record<string, (params: Json) => unknown>} */
  const methods = {
    getMe: () => bot,
    getUpdates: news,
    getChat: ({ chat_id: chat }) => chatOf(Number(chat)),
    getChatMember: ({ user_id: id }) => ({ status: "member", user: { ...bot, id: Number(id) } }),
    getWebhookInfo: () => ({ url: "", has_custom_certificate: false, pending_update_count: 0 }),
    getMyCommands: () => [],
    sendMessage: send,
    editMessageText: send,
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://loopback");
    let body = "";
    for await (const chunk of request) {
      body += chunk;
    }
    const isJson = request.headers["content-type"]?.includes("json") === true && body !== "";
    const params = { ...Object.fromEntries(url.searchParams), ...(isJson ? JSON.parse(body) : {}) };
    const result = await (methods[url.pathname.split("/").at(-1) ?? ""]?.(params) ?? true);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ok: true, result }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());

  return {
    sent,
    /** How OpenClaw's channel finds the server. */
    account: {
      enabled: true,
      botToken: "4242:scripted",
      apiRoot: `http://127.0.0.1:${port}`,
      network: { dangerouslyAllowPrivateNetwork: true },
    },
    /**
     * Somebody writes, in their private chat or in a group (a number below zero).
     * @param {number} from
     * @param {string} text
     * @param {number} [chat]
     */
    write(from, text, chat = from) {
      const command = { type: "bot_command", offset: 0, length: text.split(/\s/)[0].length };
      const entities = text.startsWith("/") ? { entities: [command] } : {};
      const person = { id: from, is_bot: false, first_name: `Person ${from}`, username: `person${from}` };
      const message = { message_id: ++lastId, date: now(), from: person, chat: chatOf(chat), text, ...entities };
      updates.push({ update_id: updates.length + 1, message });
      for (const wake of polls) {
        wake();
      }
    },
    /**
     * Resolves when the bot sent something into a chat that fits, to its text.
     * @param {number} chat
     * @param {(text: string) => boolean} fits
     * @param {number} since number of messages that were sent before
     * @returns {Promise<string>}
     */
    heard(chat, fits, since) {
      return new Promise((resolve) => {
        const look = () => {
          const found = sent.slice(since).find((one) => one.chat === chat && fits(one.text));
          if (found !== undefined) {
            listeners.delete(look);
            resolve(found.text);
          }
        };
        listeners.add(look);
        look();
      });
    },
    async close() {
      for (const wake of polls) {
        wake();
      }
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function now() {
  return Math.floor(Date.now() / 1_000);
}

/** @param {number} id */
function chatOf(id) {
  return id < 0 ? { id, type: "supergroup", title: "The group" } : { id, type: "private", first_name: `Person ${id}` };
}
