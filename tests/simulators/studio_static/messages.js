// The messages of one chat; an element stays as long as its message, so that a press is not lost to a redraw.

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

export class Messages {
  constructor(list, { press, reply }) {
    this.list = list;
    this.press = press;
    this.reply = reply;
    this.known = new Map(); // by id: the element, and what it shows
  }

  show(messages, me) {
    const elements = inThreads(messages).map((message) => this.element(message, messages, me));
    const kept = new Set(elements);
    for (const [id, { node }] of this.known) {
      if (!kept.has(node)) {
        node.remove();
        this.known.delete(id);
      }
    }
    elements.forEach((node, place) => {
      if (this.list.children[place] !== node) this.list.insertBefore(node, this.list.children[place] ?? null);
    });
  }

  element(message, messages, me) {
    const quoted = messages.find((one) => one.id === message.reply_to);
    const signature = JSON.stringify([message, quoted?.text, me]);
    let one = this.known.get(message.id);
    if (one === undefined) {
      one = { node: document.createElement("li"), signature: "" };
      this.known.set(message.id, one);
    }
    if (one.signature !== signature) {
      one.signature = signature;
      this.fill(one.node, message, quoted, me);
    }
    return one.node;
  }

  fill(node, message, quoted, me) {
    node.className = ["message", message.author === "bot" ? "from-bot" : "from-person"].join(" ");
    node.classList.toggle("is-mine", message.author === me);
    node.classList.toggle("is-growing", message.is_preview);
    node.classList.toggle("in-thread", message.thread !== null);
    const body = element("div", "body");
    if (quoted) body.append(element("p", "quote", quoted.text));
    if (message.text) body.append(element("p", "text", message.text));
    body.append(...message.files.map(file));
    node.replaceChildren(element("span", "face", message.author[0].toUpperCase()), this.head(message), body);
    if (message.buttons.length) node.append(this.buttons(message));
    if (message.reactions.length) node.append(element("p", "reactions", message.reactions.join(" ")));
  }

  head(message) {
    const head = element("p", "head");
    head.append(element("b", "author", message.author));
    for (const note of notes(message)) head.append(element("span", "note", note));
    const reply = element("button", "reply", "Reply");
    reply.type = "button";
    reply.addEventListener("click", () => this.reply(message));
    if (!message.is_preview) head.append(reply);
    return head;
  }

  buttons({ id, buttons }) {
    const row = element("div", "buttons");
    for (const label of buttons) {
      const button = element("button", "button", label);
      button.type = "button";
      button.addEventListener("click", () => this.press(id, label));
      row.append(button);
    }
    return row;
  }
}

function notes({ edits, is_preview, ephemeral_to, pinged, thread }) {
  return [
    thread !== null && "in thread",
    is_preview && "growing",
    edits > 0 && `edited ${edits}×`,
    ephemeral_to !== null && `only for ${ephemeral_to}`,
    pinged.length > 0 && `notifies ${pinged.length}`,
  ].filter(Boolean);
}

function file({ name, url, is_picture }) {
  const link = element("a", is_picture ? "picture" : "attachment", is_picture ? "" : name);
  Object.assign(link, { href: url, target: "_blank", rel: "noopener" });
  if (is_picture) link.append(Object.assign(document.createElement("img"), { src: url, alt: name }));
  else link.download = name;
  return link;
}

// A thread stands below the message that it began with, else where its first message stands.
function inThreads(messages) {
  const threads = new Map();
  for (const one of messages) {
    if (one.thread !== null) threads.set(one.thread, [...(threads.get(one.thread) ?? []), one]);
  }
  const isRoot = (one, thread) => one.thread === null && (one.id === thread || one.id.endsWith(`:${thread}`));
  const rooted = new Map();
  for (const thread of threads.keys()) {
    const root = messages.find((one) => isRoot(one, thread));
    if (root) rooted.set(root.id, thread);
  }
  const below = new Set(rooted.values());
  const shown = [];
  for (const one of messages) {
    if (one.thread === null) shown.push(one, ...(threads.get(rooted.get(one.id)) ?? []));
    else if (!below.has(one.thread)) {
      below.add(one.thread);
      shown.push(...threads.get(one.thread));
    }
  }
  return shown;
}
