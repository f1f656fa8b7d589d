// The field where one writes: keys, the list of commands, and text that outlives a reload.

export class Composer {
  #text;
  #list;
  #send;
  #actions;
  #key;
  #commands = [];
  #maxText = Infinity;
  #chosen = 0;

  /** Actions: `onSend(text)`, `onStop()`, `recall()` which gives the last message. */
  constructor({ form, text, list, send }, chat, actions) {
    this.#text = text;
    this.#list = list;
    this.#send = send;
    this.#actions = actions;
    this.#key = `switchboard.draft.${chat}`;
    text.value = sessionStorage.getItem(this.#key) ?? "";
    text.addEventListener("input", () => this.#changed());
    text.addEventListener("keydown", (event) => this.#press(event));
    text.addEventListener("blur", () => (list.hidden = true));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps the focus
      const option = event.target.closest("[role=option]");
      if (option) this.#take(option.dataset.name);
    });
    this.#changed();
    list.hidden = true;
  }

  configure({ commands, max_text: maxText }) {
    this.#commands = commands;
    this.#maxText = maxText;
  }

  write(text) {
    this.#text.value = text;
    this.#changed();
    this.#text.focus();
    this.#text.setSelectionRange(text.length, text.length);
  }

  #submit() {
    const text = this.#text.value;
    if (!text.trim() || !this.#fits()) return;
    this.write("");
    this.#actions.onSend(text);
  }

  #fits() {
    const tooMuch = [...this.#text.value].length - this.#maxText;
    const fault = tooMuch > 0 ? `The message is ${tooMuch.toLocaleString()} characters too long.` : "";
    this.#text.setCustomValidity(fault);
    return this.#text.reportValidity();
  }

  #press(event) {
    if (event.isComposing) return;
    const isList = !this.#list.hidden;
    const actions = {
      Enter: () => !event.shiftKey && (isList && !this.#isWhole() ? this.#take() : this.#submit(), true),
      Tab: () => isList && !event.shiftKey && (this.#take(), true),
      Escape: () => (isList ? (this.#list.hidden = true) : this.#actions.onStop(), true),
      ArrowUp: () => (isList ? this.#step(-1) : this.#recall()),
      ArrowDown: () => isList && this.#step(1),
    };
    if (actions[event.key]?.()) event.preventDefault();
  }

  #recall() {
    if (this.#text.value) return false;
    this.write(this.#actions.recall());
    return true;
  }

  #changed() {
    const { value } = this.#text;
    sessionStorage.setItem(this.#key, value);
    this.#text.setCustomValidity("");
    this.#send.disabled = !value.trim();
    this.#text.style.height = "auto";
    this.#text.style.height = `${this.#text.scrollHeight}px`;
    this.#chosen = 0;
    this.#drawList();
  }

  #matches() {
    const { value } = this.#text;
    return value.startsWith("/") ? this.#commands.filter(({ name }) => name.startsWith(value)) : [];
  }

  #isWhole() {
    return this.#commands.some(({ name }) => name === this.#text.value) && this.#chosen === 0;
  }

  #drawList() {
    const matches = this.#matches();
    this.#list.hidden = matches.length === 0;
    this.#list.replaceChildren(
      ...matches.map(({ name, help }, index) => {
        const option = document.createElement("li");
        option.id = `command-${index}`;
        option.role = "option";
        option.dataset.name = name;
        option.setAttribute("aria-selected", String(index === this.#chosen));
        const code = document.createElement("code");
        code.textContent = name;
        option.append(code, Object.assign(document.createElement("span"), { textContent: help }));
        return option;
      }),
    );
    if (matches.length) this.#text.setAttribute("aria-activedescendant", `command-${this.#chosen}`);
    else this.#text.removeAttribute("aria-activedescendant");
  }

  #step(by) {
    const { length } = this.#matches();
    this.#chosen = (this.#chosen + by + length) % length;
    this.#drawList();
    return true;
  }

  #take(name = this.#matches()[this.#chosen].name) {
    this.write(name);
    this.#list.hidden = true;
  }
}
