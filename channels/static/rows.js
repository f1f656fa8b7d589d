// One message on the page: what it looks like in each of its states.

import { Prose } from "/chat/static/markdown.js";

const STATES = { sending: "Sending", waiting: "Waiting for its turn", taken: "Taken up", failed: "Not sent" };
const TODAY = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const EARLIER = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit",
});

function element(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

function timeOf(at) {
  const date = new Date(at);
  const node = element("time", "", (date.toDateString() === new Date().toDateString() ? TODAY : EARLIER).format(date));
  node.dateTime = date.toISOString();
  node.title = date.toLocaleString();
  return node;
}

/** Buttons under an answer; which one was pressed is found by its `value`. */
function choices(buttons) {
  const node = element("p", "choices");
  for (const { label, value, style, url } of buttons) {
    const choice = element(url ? "a" : "button", `choice ${style ?? "secondary"}`, label);
    if (url) Object.assign(choice, { href: url, target: "_blank", rel: "noopener noreferrer" });
    else Object.assign(choice, { type: "button", value });
    node.append(choice);
  }
  return node;
}

/** What the person said; as they typed it, without markup. */
export class UserRow {
  number = 0;

  constructor({ text, at, platformId }) {
    this.platformId = platformId;
    this.text = text;
    this.element = element("article", "row user");
    this.element.setAttribute("aria-label", "You");
    if (/^[/!]\w/.test(text)) this.element.classList.add("command");
    this.note = element("span", "note");
    const meta = element("footer", "meta");
    meta.append(this.note, timeOf(at));
    this.element.append(element("div", "bubble", text), meta);
  }

  /** `state`: sending, waiting, taken, failed, or empty when all is well; `why` explains a failure. */
  setState(state, why = "") {
    if (this.state === state && !why) return;
    this.state = state;
    this.element.dataset.state = state;
    this.note.textContent = why || (STATES[state] ?? "");
    if (state !== "failed") return;
    const retry = element("button", "retry", "Try again");
    retry.type = "button";
    retry.dataset.id = this.platformId;
    this.note.append(" ", retry);
  }
}

/** What the bot says: grows, and then has one of several ends. */
export class AnswerRow {
  number = 0;
  isFinal = false;
  #text = "";
  #shown = null;
  #frame = 0;
  #pause = 0;

  constructor({ speaker, at }) {
    this.element = element("article", "row answer");
    this.element.setAttribute("aria-label", speaker);
    this.element.setAttribute("aria-busy", "true");
    this.status = element("p", "status");
    this.status.setAttribute("role", "status");
    this.body = element("div", "prose");
    this.meta = element("footer", "meta");
    this.meta.append(timeOf(at));
    this.element.append(this.body, this.status, this.meta);
    this.prose = new Prose(this.body);
    this.setStatus("Thinking");
  }

  setStatus(text) {
    if (this.isFinal || this.status.dataset.text === text) return;
    this.status.dataset.text = text;
    const dots = element("span", "dots");
    dots.setAttribute("aria-hidden", "true");
    dots.append(element("i", ""), element("i", ""), element("i", ""));
    this.status.replaceChildren(dots, element("span", "", text));
  }

  setText(text) {
    this.#text = text;
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  grow(text, replaces) {
    if (this.isFinal) return;
    this.setStatus("Writing");
    this.setText(replaces ? text : this.#text + text);
  }

  end(reason, text, reference, buttons) {
    this.isFinal = true;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#text = text;
    this.element.dataset.reason = reason ?? "done";
    this.status.remove();
    this.#show();
    this.element.querySelector(".ending")?.remove();
    this.reference ??= reference; // only the live end has it
    const ending = this.#ending(reason, this.reference);
    if (ending) this.meta.before(ending);
    if (buttons?.length) this.meta.before(choices(buttons));
    this.element.removeAttribute("aria-busy");
  }

  /** Draws at most once a frame, and after a slow drawing leaves the browser time for other things. */
  #draw() {
    this.#frame = 0;
    const now = performance.now();
    if (now < this.#pause) {
      this.#frame = requestAnimationFrame(() => this.#draw());
      return;
    }
    this.#show();
    this.#pause = performance.now() + 3 * (performance.now() - now);
  }

  #show() {
    if (this.#shown === this.#text) return;
    this.#shown = this.#text;
    this.prose.show(this.#text);
  }

  #ending(reason, reference) {
    if (reason === "killed") return element("p", "ending", "Stopped");
    if (reason === "error") {
      const node = element("p", "ending", "This answer ended in an error.");
      if (reference) node.append(" Reference: ", element("code", "", reference));
      return node;
    }
    return this.#text.trim() ? null : element("p", "ending", "No text came back.");
  }
}
