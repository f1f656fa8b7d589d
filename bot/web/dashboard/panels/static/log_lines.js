// Lines of the log: many of them, so that they are one element for the server. Texts are text nodes.
export default {
  props: { most: Number },
  data: () => ({ lines: [], atEnd: true }),
  methods: {
    show(lines) {
      this.lines = lines;
      this.scroll();
    },
    add(lines) {
      this.lines = this.lines.concat(lines).slice(-this.most);
      this.scroll();
    },
    scroll() {
      if (this.atEnd) this.$nextTick(() => this.$el && (this.$el.scrollTop = this.$el.scrollHeight));
    },
    noteScroll() {
      const box = this.$el;
      this.atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    },
  },
  render() {
    const language = document.documentElement.lang || undefined;
    const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    const full = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
    const row = (line) => {
      const parts = [
        Vue.h("time", { class: "sb-time", title: full.format(line.at * 1000) }, clock.format(line.at * 1000)),
        Vue.h("span", { class: "sb-log-level sb-log-" + line.level.toLowerCase() }, line.level.toLowerCase()),
        Vue.h("span", { class: "sb-log-text", title: line.logger }, [
          line.text,
          line.session || line.fields
            ? Vue.h("span", { class: "sb-quiet" }, "  " + [line.session, line.fields].filter(Boolean).join(" "))
            : null,
          line.traceback ? Vue.h("pre", { class: "sb-log-trace" }, line.traceback) : null,
        ]),
      ];
      return Vue.h("div", { class: "sb-log-line", key: line.number }, parts);
    };
    const props = { class: "sb-log", tabindex: 0, role: "log", onScroll: () => this.noteScroll() };
    return Vue.h("div", props, this.lines.map(row));
  },
};
