// The WebSocket: connects again when it breaks, and sends again what the bot has not accepted, under the same id.

const FIRST_WAIT = 250; // ms; doubles with each try
const LONGEST_WAIT = 10_000;
const ACCEPT_WITHIN = 15_000; // a connection that takes nothing for so long is dead

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is missing on plain http
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Messages the bot has not accepted; they outlive a reload of this tab. */
export class Unsent {
  #key;
  #messages;

  constructor(chat) {
    this.#key = `switchboard.unsent.${chat}`;
    this.#messages = new Map(JSON.parse(sessionStorage.getItem(this.#key) ?? "[]").map((one) => [one.id, one]));
  }

  [Symbol.iterator]() {
    return this.#messages.values();
  }

  get(id) {
    return this.#messages.get(id);
  }

  put(message) {
    this.#messages.set(message.id, message);
    this.#save();
  }

  remove(id) {
    if (this.#messages.delete(id)) this.#save();
  }

  #save() {
    sessionStorage.setItem(this.#key, JSON.stringify([...this.#messages.values()]));
  }
}

export class Connection {
  #chat;
  #unsent;
  #listener;
  #socket = null;
  #isOpen = false;
  #tries = 0;
  #timer = 0;
  #deadline = 0;

  /** The listener has `onFrame(frame)` and `onState("open" | "lost")`. */
  constructor(chat, unsent, listener) {
    this.#chat = chat;
    this.#unsent = unsent;
    this.#listener = listener;
    addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.#hurry());
    this.#connect();
  }

  get isOpen() {
    return this.#isOpen;
  }

  /** Sends a message now, or as soon as there is a connection. */
  post(message) {
    this.#unsent.put({ ...message, failed: false });
    if (this.#isOpen) this.#send(message);
  }

  askOlder(before) {
    if (this.#isOpen) this.#socket.send(JSON.stringify({ type: "older", before }));
  }

  #send({ id, text }) {
    this.#socket.send(JSON.stringify({ type: "send", id, text }));
    this.#deadline ||= setTimeout(() => this.#socket.close(), ACCEPT_WITHIN);
  }

  #connect() {
    clearTimeout(this.#timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/chat/ws`);
    this.#socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({ type: "hello", chat: this.#chat, channel: "web" }));
    socket.onmessage = ({ data }) => this.#take(JSON.parse(data));
    socket.onclose = () => this.#lose();
  }

  #take(frame) {
    if (frame.type === "accepted" || frame.type === "refused") this.#settle(frame);
    this.#listener.onFrame(frame);
    if (frame.type !== "welcome") return;
    this.#isOpen = true;
    this.#tries = 0;
    this.#listener.onState("open");
    for (const message of this.#unsent) if (!message.failed) this.#send(message);
  }

  #settle(frame) {
    clearTimeout(this.#deadline);
    this.#deadline = 0;
    const message = this.#unsent.get(frame.id);
    if (frame.type === "accepted") this.#unsent.remove(frame.id);
    else if (message) this.#unsent.put({ ...message, failed: true });
  }

  #lose() {
    clearTimeout(this.#deadline);
    this.#deadline = 0;
    this.#isOpen = false;
    this.#listener.onState("lost");
    const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#tries);
    this.#tries += 1;
    if (this.#tries % 3 === 0) this.#checkLogin();
    this.#timer = setTimeout(() => this.#connect(), longest * (0.5 + Math.random() / 2));
  }

  #hurry() {
    if (this.#socket.readyState === WebSocket.CLOSED) this.#connect();
  }

  /** A WebSocket can't tell "down" from "sign in again"; a redirect of the page can. */
  async #checkLogin() {
    const answer = await fetch("/chat", { method: "HEAD", redirect: "manual" }).catch(() => null);
    if (answer?.type === "opaqueredirect") location.reload();
  }
}
