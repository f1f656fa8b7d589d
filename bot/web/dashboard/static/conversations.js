// The conversations: rows that stay in order, hits of a search, and the keys that walk through them.
import { clock, relative } from "/inbox/files/moment.js";

const ICONS = { telegram: "send", discord: "sports_esports", slack: "tag", feishu: "flight", web: "language", terminal: "terminal", api: "api" };
const NEAR = 400; // pixels from the end at which more is asked for

export default {
  props: { words: Object, here: String },
  emits: ["pick", "hit", "more", "key"],
  data: () => ({ rows: [], hits: [], hasMore: false, isLoading: true, isAsking: false, chosen: "", tick: 0 }),
  created() {
    this.chosen = this.here ?? "";
  },
  mounted() {
    this.timer = setInterval(() => (this.tick += 1), 30000);
    document.addEventListener("keydown", this.press);
  },
  unmounted() {
    clearInterval(this.timer);
    document.removeEventListener("keydown", this.press);
  },
  methods: {
    /** The newest page: what stood above its end before and is not in it any more has gone. */
    show(rows, hasMore, isFresh) {
      const kept = new Set(rows.map((row) => row.chat));
      const end = rows.length ? rows[rows.length - 1].at : -Infinity;
      const older = isFresh || !hasMore ? [] : this.rows.filter((row) => row.at < end && !kept.has(row.chat));
      if (isFresh || older.length === 0) this.hasMore = hasMore;
      this.rows = [...rows, ...older];
      this.isLoading = false;
      if (isFresh) this.isAsking = false;
    },
    /** A page further down. */
    add(rows, hasMore) {
      const kept = new Set(this.rows.map((row) => row.chat));
      this.rows = [...this.rows, ...rows.filter((row) => !kept.has(row.chat))];
      this.hasMore = hasMore;
      this.isAsking = false;
    },
    find(hits) {
      this.hits = hits;
    },
    choose(chat) {
      this.chosen = chat;
      this.$nextTick(() => this.$el.querySelector(".here")?.scrollIntoView({ block: "nearest" }));
    },
    scroll(event) {
      const box = event.target;
      if (!this.hasMore || this.isAsking || box.scrollHeight - box.scrollTop - box.clientHeight > NEAR) return;
      this.isAsking = true;
      const last = this.rows[this.rows.length - 1];
      this.$emit("more", { at: last.at, chat: last.chat });
    },
    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector(".q-dialog__inner")) return;
      if (event.target.closest?.("input, textarea, select, [contenteditable]")) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      const step = { j: 1, k: -1 }[event.key];
      if (step) this.walk(step);
      else if (event.key === "/") document.querySelector(".ib-search input")?.focus();
      else if (event.key === "r") document.querySelector(".ib-composer textarea")?.focus();
      else if (["e", "u", "?"].includes(event.key)) this.$emit("key", event.key);
      else return;
      event.preventDefault();
    },
    walk(step) {
      const at = this.rows.findIndex((row) => row.chat === this.chosen);
      const row = this.rows[at < 0 ? 0 : Math.min(this.rows.length - 1, Math.max(0, at + step))];
      if (row && row.chat !== this.chosen) this.pick(row.chat);
    },
    pick(chat) {
      this.choose(chat);
      this.$emit("pick", chat);
    },
    row(row) {
      const h = Vue.h;
      const words = this.words;
      const chips = [];
      if (row.taken) chips.push(h("span", { class: "sb-chip sb-tone-accent" }, `${words.list_taken} ${row.taken}`));
      else if (row.state !== "open") {
        const tone = { waiting: "warn", handled: "good", muted: "plain" }[row.state];
        chips.push(h("span", { class: `sb-chip sb-tone-${tone}` }, words[`state_${row.state}`]));
      }
      if (row.assignee && row.assignee !== row.taken) chips.push(h("span", { class: "sb-chip" }, row.assignee));
      row.labels.forEach((label) => chips.push(h("span", { class: "sb-chip ib-label" }, label)));
      return h(
        "button",
        {
          key: row.chat,
          type: "button",
          role: "option",
          class: ["ib-row", { here: row.chat === this.chosen, unread: row.unread > 0 }],
          "aria-selected": row.chat === this.chosen,
          "data-chat": row.chat,
          onClick: () => this.pick(row.chat),
        },
        [
          h("span", { class: `ib-face ib-${row.channel}`, title: row.channel }, [
            h("i", { class: "material-icons", "aria-hidden": "true" }, ICONS[row.channel] ?? "chat"),
          ]),
          h("span", { class: "ib-who" }, row.name),
          h("time", { class: "sb-time", title: clock(row.at, "full") }, relative(row.at)),
          h("span", { class: "ib-last" }, [
            row.running ? h("span", { class: "ib-dots", title: words.list_running }, [h("i"), h("i"), h("i")]) : null,
            row.running ? words.list_running : row.last,
          ]),
          row.unread > 0 ? h("span", { class: "ib-unread" }, row.unread > 99 ? "99+" : String(row.unread)) : null,
          chips.length ? h("span", { class: "ib-chips" }, chips) : null,
        ],
      );
    },
    hit(hit) {
      const h = Vue.h;
      return h(
        "button",
        { key: `${hit.session} ${hit.number}`, type: "button", class: "ib-row ib-hit", onClick: () => this.$emit("hit", hit) },
        [h("span", { class: "ib-who" }, hit.name), h("time", { class: "sb-time" }, relative(hit.at)), h("span", { class: "ib-last" }, hit.text)],
      );
    },
  },
  render() {
    void this.tick;
    const h = Vue.h;
    const parts = this.rows.map(this.row);
    if (this.isLoading) parts.push(h("div", { class: "ib-hint" }, "…"));
    else if (!parts.length) {
      parts.push(h("div", { class: "sb-empty" }, [h("i", { class: "material-icons" }, "inbox"), h("div", this.words.list_empty)]));
    }
    if (this.hits.length) parts.push(h("div", { class: "ib-heading" }, this.words.list_hits), ...this.hits.map(this.hit));
    return h("div", { class: "ib-rows", role: "listbox", "aria-label": this.words.list_title, onScroll: this.scroll }, parts);
  },
};
