// A time in the reader's own zone and words. `at`: seconds since 1970; `look`: relative, time, day or full.
const LIST = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];

/** The reader's own form of the page's language: 24 hours or 12, day or month first. */
export function language() {
  const page = document.documentElement.lang || "en";
  return navigator.languages.find((tag) => tag.split("-")[0] === page.split("-")[0]) ?? page;
}

const formats = new Map(); // they are dear to make

function format(name, make) {
  if (!formats.has(name)) formats.set(name, make(language()));
  return formats.get(name);
}

export function relative(at) {
  const seconds = at - Date.now() / 1000;
  const said = format("relative", (tag) => new Intl.RelativeTimeFormat(tag, { numeric: "auto", style: "narrow" }));
  for (const [unit, length] of LIST) {
    if (Math.abs(seconds) >= length) return said.format(Math.trunc(seconds / length), unit);
  }
  return said.format(0, "second");
}

export function clock(at, look) {
  const options = { time: { timeStyle: "short" }, day: { dateStyle: "full" }, full: { dateStyle: "medium", timeStyle: "medium" } };
  return format(look, (tag) => new Intl.DateTimeFormat(tag, options[look])).format(at * 1000);
}

export default {
  props: { at: Number, look: String },
  data: () => ({ tick: 0, timer: null }),
  mounted() {
    if (this.look === "relative") this.timer = setInterval(() => (this.tick += 1), 30000);
  },
  unmounted() {
    clearInterval(this.timer);
  },
  render() {
    void this.tick;
    if (this.at === null || this.at === undefined) return Vue.h("span", { class: "sb-time" }, "–");
    const text = this.look === "relative" ? relative(this.at) : clock(this.at, this.look);
    const date = new Date(this.at * 1000);
    return Vue.h("time", { class: "sb-time", datetime: date.toISOString(), title: clock(this.at, "full") }, text);
  },
};
