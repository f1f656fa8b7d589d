// The page of the simulators: draws what the server tells, posts what people do. Texts go in as text only.

import { Messages } from "./messages.js";

const TITLES = { telegram: "Telegram", discord: "Discord", slack: "Slack", feishu: "Feishu" };
const ORDER = Object.keys(TITLES);
const GROUP = "team";
const TYPING_MS = 6000; // how long a platform shows that the bot writes, without being told again

const find = (selector, within = document) => within.querySelector(selector);
const speaker = () => find("#who input:checked").value;
const columns = new Map();

async function act(deed) {
  const trouble = find("#trouble");
  try {
    const answer = await fetch("/do", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(deed),
    });
    trouble.textContent = answer.ok ? "" : await answer.text();
  } catch {
    trouble.textContent = "The studio does not answer: was it stopped?";
  }
  trouble.hidden = !trouble.textContent;
  return !trouble.textContent;
}

class Column {
  constructor(name) {
    this.name = name;
    this.isDirect = true;
    this.state = { chats: {}, typing: {} };
    this.typingSeen = {};
    this.root = find("#column").content.cloneNode(true).firstElementChild;
    this.root.classList.add(name);
    this.root.setAttribute("aria-label", TITLES[name]);
    find("h2", this.root).textContent = TITLES[name];
    this.scroll = this.part(".scroll");
    this.text = this.part("textarea");
    this.messages = new Messages(this.part(".messages"), {
      press: (message, label) => this.do("click", { message, label, user: speaker() }),
      reply: (message) => this.replyTo(message),
    });
    this.isAtEnd = true;
    this.listen();
    this.choose(true);
  }

  part(selector) {
    return find(selector, this.root);
  }

  get chat() {
    return this.isDirect ? speaker() : GROUP;
  }

  do(what, more = {}) {
    return act({ do: what, platform: this.name, ...more });
  }

  doHere(what, more) {
    return this.do(what, { user: speaker(), is_direct: this.isDirect, ...more });
  }

  listen() {
    const stay = new ResizeObserver(() => this.isAtEnd && this.toEnd());
    stay.observe(this.scroll);
    stay.observe(this.part(".messages"));
    this.scroll.addEventListener("scroll", () => {
      this.isAtEnd = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 40;
    });
    this.part(".direct").addEventListener("click", () => this.choose(true));
    this.part(".group").addEventListener("click", () => this.choose(false));
    this.part(".cut").addEventListener("click", () => this.do("drop"));
    this.part(".forget").addEventListener("click", () => this.replyTo(null));
    this.part(".composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.send();
      }
    });
    this.part(".file input").addEventListener("change", () => this.showFile());
    this.part(".slash").addEventListener("submit", (event) => {
      event.preventDefault();
      this.useSlash(find("input", event.target));
    });
  }

  choose(isDirect) {
    this.isDirect = isDirect;
    this.part(".direct").setAttribute("aria-pressed", String(isDirect));
    this.part(".group").setAttribute("aria-pressed", String(!isDirect));
    for (const one of this.root.querySelectorAll(".in-group")) one.hidden = isDirect;
    this.replyTo(null);
    this.draw();
    this.toEnd();
  }

  toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  replyTo(message) {
    this.reply = message;
    this.part(".replying").hidden = message === null;
    if (message !== null) {
      this.part(".replying span").textContent = `Reply to ${message.author}: ${message.text.slice(0, 60)}`;
      this.text.focus();
    }
  }

  async send() {
    const input = this.part(".file input");
    const text = this.text.value.trim();
    const [file] = input.files;
    if (!text && !file) return;
    const isDone = file
      ? await this.doHere("upload", { text, name: file.name, mime: file.type || "application/octet-stream", data: await base64(file) })
      : await this.say(text);
    if (!isDone) return;
    this.text.value = input.value = "";
    this.showFile();
    this.replyTo(null);
  }

  say(text) {
    const named = this.isDirect ? "" : this.part(".thread").value.trim();
    return this.doHere("say", {
      text,
      mentions_bot: this.part(".mention").checked,
      thread: this.reply?.thread ?? (named || null),
      reply_to: this.reply?.id ?? null,
    });
  }

  async useSlash(input) {
    const [command, ...rest] = input.value.trim().replace(/^\//, "").split(" ");
    if (command && (await this.doHere("slash", { command, arguments: rest.join(" ") }))) input.value = "";
  }

  showFile() {
    const [file] = this.part(".file input").files;
    this.part(".file").firstChild.textContent = file ? file.name : "File";
    this.part(".file").classList.toggle("is-chosen", Boolean(file));
  }

  take(state) {
    this.state = state;
    for (const [chat, count] of Object.entries(state.typing)) this.noteTyping(chat, count);
    this.draw();
  }

  noteTyping(chat, count) {
    const seen = this.typingSeen[chat];
    const said = (this.state.chats[chat] ?? []).filter((one) => one.author === "bot").length;
    if (seen && count > seen.count) {
      seen.until = Date.now() + TYPING_MS;
      setTimeout(() => this.draw(), TYPING_MS + 50);
    }
    if (seen && said > seen.said) seen.until = 0;
    this.typingSeen[chat] = { count, said, until: seen?.until ?? 0 };
  }

  draw() {
    const messages = this.state.chats[this.chat] ?? [];
    this.messages.show(messages, speaker());
    this.part(".nothing").hidden = messages.length > 0;
    this.part(".typing").hidden = !((this.typingSeen[this.chat]?.until ?? 0) > Date.now());
  }
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function column(name) {
  if (!columns.has(name)) {
    const made = new Column(name);
    columns.set(name, made);
    const later = ORDER.slice(ORDER.indexOf(name) + 1).find((other) => columns.has(other));
    find("#columns").insertBefore(made.root, later ? columns.get(later).root : null);
  }
  return columns.get(name);
}

function showBot({ state, url }) {
  const status = find("#bot");
  status.dataset.state = state;
  status.textContent = `bot ${state}`;
  if (url) {
    const link = Object.assign(document.createElement("a"), { href: url, target: "_blank", rel: "noopener", textContent: "its page" });
    status.append(" · ", link);
  }
  find("#kill").hidden = state === "stopped";
  find("#start").hidden = state !== "stopped";
}

function listen() {
  const events = new EventSource("/events");
  events.onmessage = ({ data }) => {
    const { name, ...state } = JSON.parse(data);
    if (name === "bot") showBot(state);
    else column(name).take(state);
  };
  events.onerror = () => showBot({ state: "unknown: the studio is gone", url: null });
}

find("#kill").addEventListener("click", () => act({ do: "kill" }));
find("#start").addEventListener("click", () => act({ do: "start" }));
find("#who").addEventListener("change", () => {
  for (const one of columns.values()) one.choose(one.isDirect);
});
find("#everywhere").addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = find("input", event.target);
  const text = input.value.trim();
  if (!text) return;
  input.value = "";
  await Promise.all([...columns.values()].map((one) => one.say(text)));
});
listen();
