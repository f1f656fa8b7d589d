// What was said: a window of lines that moves with the reader. What comes as HTML was made from Markdown by the server,
// which lets no HTML of people through, and is cleaned once more here.
import DOMPurify from "dompurify";
import { clock } from "/inbox/files/moment.js";

const MOST = 150; // lines in the document
const NEAR = 500; // pixels from an end at which more is asked for
const CLEAN = { ALLOWED_TAGS: ["p", "br", "strong", "em", "s", "code", "pre", "a", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "table", "thead", "tbody", "tr", "th", "td", "div"], ALLOWED_ATTR: ["href", "rel", "target", "class", "start"], ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i };
const cleaned = new Map();

function clean(html) {
  let known = cleaned.get(html);
  if (known === undefined) {
    known = DOMPurify.sanitize(html, CLEAN);
    if (cleaned.size > 400) cleaned.clear();
    cleaned.set(html, known);
  }
  return known;
}

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

export default {
  props: { words: Object },
  emits: ["older", "newer", "latest", "cut", "seen", "answer"],
  data: () => ({ chat: "", lines: [], tools: {}, growing: [], questions: [], typed: {}, hasOlder: false, hasNewer: false, isAsking: false, isAtEnd: true, fresh: 0, marked: 0, isShown: true, seen: 0, top: 0 }),
  mounted() {
    document.addEventListener("visibilitychange", this.look);
  },
  unmounted() {
    document.removeEventListener("visibilitychange", this.look);
  },
  methods: {
    /** Begin with another conversation, or at another place of it. */
    open(part, marked) {
      Object.assign(this, { chat: part.chat, lines: [], tools: {}, growing: [], questions: [], hasOlder: false, hasNewer: false, fresh: 0, marked: marked ?? 0, isShown: !marked, seen: 0, isAtEnd: !marked, top: 0 });
      this.merge(part);
    },
    /** Take lines and what else has changed; what is left out of the part stays as it is. */
    merge(part) {
      if (part.chat !== this.chat) return;
      const box = this.$refs.box;
      if (box.scrollTop < this.top) this.isAtEnd = false; // somebody scrolls up, and the event is still to come
      const anchor = this.isAtEnd ? null : this.anchor();
      const last = this.lines.length ? this.lines[this.lines.length - 1].number : 0;
      if (part.lines?.length) {
        const all = new Map(this.lines.map((line) => [line.number, line]));
        part.lines.forEach((line) => all.set(line.number, line));
        this.lines = [...all.values()].sort((a, b) => a.number - b.number);
        if (part.place === "end" && last) this.fresh += part.lines.filter((line) => line.number > last).length;
      }
      this.tools = { ...this.tools, ...(part.tools ?? {}) };
      if (part.older !== undefined) this.hasOlder = part.older;
      if (part.newer !== undefined) this.hasNewer = part.newer;
      if (part.growing) this.growing = part.growing;
      if (part.questions) this.questions = part.questions;
      this.trim(part.place);
      this.isAsking = false;
      this.$nextTick(() => {
        if (!this.isShown) {
          this.isShown = true;
          box.querySelector(".marked")?.scrollIntoView({ block: "center" });
        } else if (this.isAtEnd && !this.hasNewer) box.scrollTop = box.scrollHeight;
        else if (anchor) this.restore(anchor);
        this.look();
      });
    },
    trim(place) {
      if (this.lines.length <= MOST) return;
      const isTop = place === "top";
      this.lines = isTop ? this.lines.slice(0, MOST) : this.lines.slice(-MOST);
      if (isTop && !this.hasNewer) this.$emit("cut");
      if (isTop) this.hasNewer = true;
      else this.hasOlder = true;
      const runs = new Set(this.lines.map((line) => line.run));
      this.tools = Object.fromEntries(Object.entries(this.tools).filter(([run]) => runs.has(run)));
    },
    anchor() {
      const top = this.$refs.box.getBoundingClientRect().top;
      for (const node of this.$refs.box.querySelectorAll("[data-number]")) {
        const at = node.getBoundingClientRect();
        if (at.bottom > top) return { number: node.dataset.number, at: at.top };
      }
      return null;
    },
    restore(anchor) {
      const node = this.$refs.box.querySelector(`[data-number="${anchor.number}"]`);
      if (node) this.$refs.box.scrollTop += node.getBoundingClientRect().top - anchor.at;
    },
    /** Ask for what is needed near an end, and say what was seen. */
    look() {
      const box = this.$refs.box;
      if (!box) return;
      this.top = box.scrollTop;
      const below = box.scrollHeight - box.scrollTop - box.clientHeight;
      this.isAtEnd = below < 60 && !this.hasNewer;
      if (this.isAtEnd) this.fresh = 0;
      const last = this.lines[this.lines.length - 1];
      if (this.isAtEnd && last && last.number > this.seen && document.visibilityState === "visible") {
        this.seen = last.number;
        this.$emit("seen", { chat: this.chat, number: last.number });
      }
      if (this.isAsking || !this.lines.length) return;
      if (this.hasOlder && box.scrollTop < NEAR) this.ask("older", this.lines[0].number);
      else if (this.hasNewer && below < NEAR) this.ask("newer", last.number);
    },
    ask(way, number) {
      this.isAsking = true;
      this.$emit(way, { chat: this.chat, number });
    },
    latest() {
      this.fresh = 0;
      if (this.hasNewer) this.$emit("latest");
      else this.$refs.box.scrollTop = this.$refs.box.scrollHeight;
    },
    body(html) {
      return Vue.h("div", { class: "prose", innerHTML: clean(html) });
    },
    tool(call) {
      const h = Vue.h;
      const tone = { running: "accent", ok: "good", error: "bad" }[call.state];
      return h("details", { class: "ib-tool", key: call.call_id }, [
        h("summary", [
          h("i", { class: "material-icons", "aria-hidden": "true" }, call.state === "running" ? "hourglass_top" : "build_circle"),
          h("span", { class: "ib-tool-name" }, call.name),
          h("span", { class: `sb-chip sb-tone-${tone}` }, this.words[`tool_${call.state}`]),
        ]),
        h("pre", { class: "ib-tool-text" }, call.arguments),
        call.result === null ? null : h("pre", { class: "ib-tool-text" }, call.result),
      ]);
    },
    line(line, calls) {
      const h = Vue.h;
      const isOurs = line.role !== "user";
      const ending = { error: "bad", killed: "warn", silent: "plain" }[line.reason];
      return h("article", { key: line.number, "data-number": line.number, "data-role": line.role, class: ["ib-line", isOurs ? "ours" : "theirs", { aside: !line.in_context, marked: line.number === this.marked }] }, [
        calls,
        h("header", [
          h("span", { class: "ib-speaker" }, line.speaker),
          h("time", { class: "sb-time", title: clock(line.at, "full") }, clock(line.at, "time")),
          ending ? h("span", { class: `sb-chip sb-tone-${ending}` }, this.words[`end_${line.reason}`]) : null,
          line.in_context ? null : h("span", { class: "sb-chip" }, this.words.line_aside),
        ]),
        line.html ? this.body(line.html) : h("div", { class: "sb-quiet" }, this.words.line_empty),
      ]);
    },
    grown(draft) {
      const h = Vue.h;
      return h("article", { key: `run ${draft.run}`, class: "ib-line ours growing", "aria-busy": "true", "data-run": draft.run }, [
        h("header", [
          h("span", { class: "ib-speaker" }, this.words.line_bot),
          h("span", { class: "ib-dots" }, [h("i"), h("i"), h("i")]),
          draft.tool ? h("span", { class: "sb-chip sb-tone-accent" }, draft.tool) : draft.is_thinking ? h("span", { class: "sb-chip" }, this.words.line_thinking) : null,
        ]),
        this.body(draft.html),
      ]);
    },
    question(question) {
      const h = Vue.h;
      const say = (text) => text && this.$emit("answer", { id: question.id, text });
      const words = this.words;
      return h("section", { key: question.id, class: "ib-question", "data-question": question.id }, [
        h("header", [h("i", { class: "material-icons", "aria-hidden": "true" }, question.is_approval ? "verified_user" : "help"), question.is_approval ? words.ask_approval : words.ask_question]),
        h("div", { class: "ib-question-text" }, question.text),
        h("div", { class: "ib-options" }, question.options.map((option) => h("button", { type: "button", class: "sb-option", onClick: () => say(option) }, words[`option_${option}`] ?? option))),
        question.takes_text
          ? h("form", { class: "ib-options", onSubmit: (event) => (event.preventDefault(), say((this.typed[question.id] ?? "").trim())) }, [
              h("input", { "aria-label": words.ask_answer, placeholder: words.ask_answer, maxlength: 4000, value: this.typed[question.id] ?? "", onInput: (event) => (this.typed[question.id] = event.target.value) }),
              h("button", { type: "submit", class: "sb-option" }, words.ask_send),
            ])
          : null,
      ]);
    },
    said() {
      const parts = [];
      const answered = new Set(this.lines.filter((line) => line.role === "assistant").map((line) => line.run));
      let day = "";
      for (const line of this.lines) {
        const today = clock(line.at, "day");
        if (today !== day) parts.push(Vue.h("div", { key: `day ${line.number}`, class: "ib-day" }, today));
        day = today;
        const calls = (this.tools[line.run] ?? []).map(this.tool);
        const isAnswer = line.role === "assistant";
        parts.push(this.line(line, isAnswer ? calls : []));
        if (!isAnswer && !answered.has(line.run) && calls.length) parts.push(Vue.h("div", { key: `calls ${line.number}`, class: "ib-line ours" }, calls));
      }
      return parts;
    },
  },
  render() {
    const h = Vue.h;
    const answered = new Set(this.lines.filter((line) => line.role === "assistant" && line.in_context).map((line) => line.run));
    const parts = this.said();
    parts.push(...this.growing.filter((draft) => !answered.has(draft.run)).map(this.grown), ...this.questions.map(this.question));
    if (!parts.length) parts.push(h("div", { class: "sb-empty" }, this.words.line_none));
    const more = this.fresh ? `${this.fresh} ↓` : "↓";
    return h("div", { class: "ib-transcript" }, [
      h("div", { ref: "box", class: "ib-lines", role: "log", tabindex: 0, "aria-label": this.words.line_title, onScroll: this.look }, parts),
      this.isAtEnd ? null : h("button", { type: "button", class: "ib-latest", title: this.words.line_latest, "aria-label": this.words.line_latest, onClick: this.latest }, more),
    ]);
  },
};
