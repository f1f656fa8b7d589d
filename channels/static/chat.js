// The chat page: puts the parts together and says what each frame of the bot means for them.

import { Composer } from "/chat/static/composer.js";
import { Connection, newId, Unsent } from "/chat/static/connection.js";
import { copyText } from "/chat/static/markdown.js";
import { Scroller } from "/chat/static/scroller.js";
import { Transcript } from "/chat/static/transcript.js";

const EXAMPLES = [
  "Explain how rainbows form, in three sentences",
  "Write a Python function that counts words",
  "Help me plan a quiet weekend",
];
const LOST_AFTER = 1000; // ms without a connection until the page says so

const byId = (id) => document.getElementById(id);
const chat = new URLSearchParams(location.search).get("chat") ?? "main";
const unsent = new Unsent(chat);
const transcript = new Transcript(byId("log"));
const scroller = new Scroller(byId("scroller"), byId("log"), byId("jump"), askOlder);
const composer = new Composer(
  { form: byId("composer"), text: byId("text"), list: byId("commands"), send: byId("send") },
  chat,
  { onSend: post, onStop: stop, recall: () => transcript.lastSent },
);
let hasMore = false;
let isAsking = false;
let lostTimer = 0;
let wasOpen = false;

const EVENTS = {
  agent_start: () => "Thinking",
  thinking: () => "Thinking",
  tool_start: ({ name }) => `Using ${name}`,
  tool_result: ({ name, status }) => (status === "ok" ? `Used ${name}` : `${name} failed, going on`),
  retry: ({ wait }) => `The model did not answer, trying again in ${Math.ceil(wait)} s`,
  compaction: ({ phase }) => (phase === "start" ? "Shortening the conversation" : "Thinking"),
  long_running: ({ stage, seconds }) => `Still busy (${stage}, ${Math.round(seconds)} s)`,
};

const FRAMES = {
  welcome(frame) {
    byId("bot").textContent = document.title = frame.bot;
    composer.configure(frame);
    const isFirst = transcript.isEmpty;
    const isFresh = transcript.welcome(frame);
    if (isFirst || isFresh) {
      hasMore = frame.more;
      scroller.toEnd();
    }
    isAsking = false;
    for (const message of unsent) transcript.post(message);
  },
  history({ messages, more }) {
    scroller.keepPlace(() => messages.forEach((message) => transcript.add(message)));
    hasMore = more;
    isAsking = false;
    byId("older").hidden = true;
  },
  accepted: ({ id, run }) => transcript.accept(id, run),
  refused: ({ id, text }) => transcript.refuse(id, text),
  said: ({ message }) => transcript.say(message),
  chunk: ({ run, text, replaces }) => transcript.grow(run, text, replaces),
  end(frame) {
    transcript.end(frame);
    if (scroller.isAtEnd && transcript.trim()) hasMore = true;
  },
  event({ event }) {
    if (event.type === "agent_start" && event.run) transcript.begin(event.run);
    if (event.type === "taken_up") transcript.takeUp(event.run);
    const status = EVENTS[event.type]?.(event);
    if (status && event.run) transcript.setStatus(event.run, status);
  },
  fault: ({ text }) => showBanner(text),
};

const connection = new Connection(chat, unsent, {
  onFrame(frame) {
    FRAMES[frame.type]?.(frame);
    refresh();
  },
  onState(state) {
    showState(state);
    refresh();
  },
});

function post(text, shown = text) {
  const message = { id: newId(), text, at: new Date().toISOString() };
  transcript.post({ ...message, text: shown });
  connection.post(message);
  scroller.toEnd();
  refresh();
}

/** A pressed button is a message that is said; it can be pressed once. What answers a question reads like it. */
function choose(button) {
  button.closest(".choices").remove();
  post(button.value, button.value.startsWith("/answer ") ? button.textContent : button.value);
}

function stop() {
  if (transcript.running.length) post("/kill");
}

function askOlder() {
  if (!hasMore || isAsking || !connection?.isOpen) return;
  isAsking = true;
  byId("older").hidden = false;
  connection.askOlder(transcript.oldestNumber || Number.MAX_SAFE_INTEGER);
}

function refresh() {
  byId("stop").hidden = transcript.running.length === 0;
  byId("empty").hidden = !(wasOpen && transcript.isEmpty);
}

function showState(state) {
  if (state === "open") {
    clearTimeout(lostTimer);
    lostTimer = 0;
    wasOpen = true;
    byId("state").textContent = "Online";
    byId("state").dataset.state = "open";
    showBanner("");
  } else {
    lostTimer ||= setTimeout(showLoss, LOST_AFTER);
  }
}

function showLoss() {
  byId("state").textContent = "Offline";
  byId("state").dataset.state = "lost";
  showBanner("The connection is lost. Trying again; what you write is kept and sent later.");
}

function showBanner(text) {
  byId("banner").textContent = text;
  byId("banner").hidden = !text;
}

async function copyCode(button) {
  await copyText(button.closest("figure").querySelector("code").textContent);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

byId("log").addEventListener("click", ({ target }) => {
  if (target.matches(".copy")) copyCode(target);
  if (target.matches("button.choice")) choose(target);
  const message = target.matches(".retry") && unsent.get(target.dataset.id);
  if (!message) return;
  transcript.retry(message.id);
  connection.post(message);
});
byId("stop").addEventListener("click", () => {
  stop();
  byId("text").focus();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target !== byId("text")) stop();
});
byId("examples").append(
  ...EXAMPLES.map((text) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    button.addEventListener("click", () => composer.write(text));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }),
);
