// Where an operator writes. What was typed stays in this browser's session, by conversation, until it is sent.
const KEY = "switchboard draft ";

export default {
  props: { words: Object, me: String },
  emits: ["send", "suggest", "canned"],
  data: () => ({ chat: "", person: "", text: "", sent: "", isOwn: false, isBusy: false, isSuggesting: false, canned: [], isOpen: false }),
  methods: {
    open(chat, person) {
      Object.assign(this, { chat, person, isBusy: false, isSuggesting: false, isOpen: false });
      this.text = sessionStorage.getItem(KEY + chat) ?? "";
      this.grow();
    },
    know(canned) {
      this.canned = canned;
    },
    write(text) {
      this.text = text;
      if (text) sessionStorage.setItem(KEY + this.chat, text);
      else sessionStorage.removeItem(KEY + this.chat);
      this.grow();
    },
    offer(chat, text) {
      this.isSuggesting = false;
      if (text && chat === this.chat) this.insert(text);
    },
    insert(text) {
      this.write(this.text.trim() ? `${this.text.trimEnd()}\n${text}` : text);
      this.isOpen = false;
      this.$nextTick(() => this.$refs.field.focus());
    },
    over(chat, isSent) {
      if (isSent) sessionStorage.removeItem(KEY + chat);
      if (chat !== this.chat) return;
      this.isBusy = false;
      if (isSent && this.text.trim() === this.sent) this.write(""); // more may have been typed meanwhile
      else if (isSent) this.write(this.text);
    },
    grow() {
      this.$nextTick(() => {
        const field = this.$refs.field;
        if (!field) return;
        field.style.height = "auto";
        field.style.height = `${Math.min(field.scrollHeight, 220)}px`;
      });
    },
    send() {
      const text = this.text.trim();
      if (!text || this.isBusy) return;
      this.isBusy = true;
      this.sent = text;
      this.$emit("send", { chat: this.chat, text, own: this.isOwn });
    },
    suggest() {
      this.isSuggesting = true;
      this.$emit("suggest", this.chat);
    },
    press(event) {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.send();
      } else if (event.key === "Escape") this.isOpen = false;
    },
    way(isOwn, text) {
      return Vue.h("button", { type: "button", class: { here: this.isOwn === isOwn }, "aria-pressed": this.isOwn === isOwn, onClick: () => (this.isOwn = isOwn) }, text);
    },
    tool(icon, text, onClick, isOff) {
      return Vue.h("button", { type: "button", class: "ib-tool-button", title: text, "aria-label": text, disabled: isOff, onClick }, [Vue.h("i", { class: "material-icons", "aria-hidden": "true" }, icon)]);
    },
    replies() {
      const h = Vue.h;
      const fill = (one) => one.text.replaceAll("{name}", this.person);
      const items = this.canned.map((one) => h("button", { type: "button", role: "menuitem", onClick: () => this.insert(fill(one)) }, [h("b", one.name), h("span", fill(one))]));
      const edit = h("button", { type: "button", role: "menuitem", class: "ib-canned-edit", onClick: () => ((this.isOpen = false), this.$emit("canned")) }, this.words.canned_edit);
      return h("div", { class: "ib-canned", role: "menu" }, [...items, edit]);
    },
  },
  render() {
    const h = Vue.h;
    const words = this.words;
    return h("form", { class: "ib-composer", onSubmit: (event) => (event.preventDefault(), this.send()) }, [
      this.isOpen ? this.replies() : null,
      h("textarea", { ref: "field", rows: 1, maxlength: 16000, value: this.text, placeholder: words.write_hint, "aria-label": words.write_label, onInput: (event) => this.write(event.target.value), onKeydown: this.press }),
      h("div", { class: "ib-composer-bar" }, [
        h("div", { class: "ib-ways", role: "group", "aria-label": words.write_as }, [this.way(false, words.write_bot), this.way(true, this.me)]),
        this.tool("quickreply", words.write_canned, () => (this.isOpen = !this.isOpen)),
        this.tool(this.isSuggesting ? "hourglass_top" : "auto_awesome", words.write_suggest, this.suggest, this.isSuggesting),
        h("span", { class: "sb-grow" }),
        h("kbd", { class: "ib-keys" }, "Ctrl ⏎"),
        h("button", { type: "submit", class: "ib-send", disabled: !this.text.trim() || this.isBusy, "aria-label": words.write_send }, words.write_send),
      ]),
    ]);
  },
};
