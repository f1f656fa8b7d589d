// The conversation on the page: each message once, in its place, however and how often it arrives.
//
// Messages are recognised by (run, role), one's own before they have a run by the id they were sent under. They stand in
// the order of their numbers in the history; behind those, what has none yet, as it came; at the end, what waits. An answer
// that goes on after a question of its own was asked and answered goes on below them.

import { AnswerRow, UserRow } from "/chat/static/rows.js";

const UNPLACED = "~"; // begins the keys of what has no run yet
const WAITING = new Set(["sending", "waiting", "failed"]);
const MAX_ROWS = 400; // kept while one looks at the newest

/** Where a row belongs: the group, and the place in it. */
const rankOf = ({ number, since, state }) => (number ? [0, number] : [WAITING.has(state) ? 2 : 1, since]);

const isBefore = ([group, place], [otherGroup, otherPlace]) =>
  group < otherGroup || (group === otherGroup && place < otherPlace);

const keyOf = (run, role) => `${run}/${role === "user" ? 0 : 1}`;

export class Transcript {
  #log;
  #rows = new Map(); // by key
  #order = []; // keys, sorted by the ranks of their rows
  #count = 0; // of what was placed so far
  #own = new Map(); // by platform id: key
  #speaker = "Bot";
  #session = null;
  #sent = 0;

  constructor(log) {
    this.#log = log;
  }

  get isEmpty() {
    return this.#order.length === 0;
  }

  /** The runs that have an answer which is still growing. */
  get running() {
    return [...this.#rows].filter(([, row]) => row instanceof AnswerRow && !row.isFinal).map(([key]) => key.slice(0, -2));
  }

  get oldestNumber() {
    for (const key of this.#order) if (this.#rows.get(key).number) return this.#rows.get(key).number;
    return 0;
  }

  get lastSent() {
    const keys = this.#order.filter((key) => this.#rows.get(key) instanceof UserRow);
    return keys.length ? this.#rows.get(keys.at(-1)).text : "";
  }

  /** Takes over what a `welcome` shows; true where it had to start afresh. */
  welcome({ bot, messages, running, waiting, session, is_fresh }) {
    this.#speaker = bot;
    const isOther = this.#session !== null && this.#session !== session;
    const isFresh = is_fresh || isOther || this.#isApart(messages);
    this.#session = session;
    if (isFresh) this.#clear();
    messages.forEach((message) => this.add(message));
    const drafts = new Map(running.map((draft) => [draft.run, draft.text]));
    for (const run of this.running) if (!drafts.has(run)) this.#drop(keyOf(run, "assistant"));
    for (const [run, text] of drafts) this.#answer(run)?.grow(text, true);
    for (const [run, text] of drafts) if (!text) this.#answer(run)?.setStatus("Thinking");
    waiting.forEach((message) => this.add(message));
    waiting.forEach(({ run }) => this.#change(run, "waiting"));
    return isFresh;
  }

  /** Shows a stored message; where it stands already, it is brought up to date. */
  add(message) {
    const { run, role } = message;
    if (role === "tool") return;
    if (role === "assistant") {
      const row = this.#answer(run, message.at);
      row.number = message.number;
      row.end(message.reason, message.text, message.reference);
    } else {
      const row = this.#user(message);
      row.number ||= message.number;
      row.setState("");
    }
    this.#settle(keyOf(run, role));
  }

  /** Shows a message of this tab before the bot has it. */
  post({ id, text, at, failed }) {
    if (this.#own.has(id)) return;
    this.#sent += 1;
    const row = new UserRow({ text, at, platformId: id });
    this.#place(`${UNPLACED}${String(this.#sent).padStart(9, "0")}`, row);
    row.setState(failed ? "failed" : "sending");
    this.#settle(this.#own.get(id));
  }

  accept(id, run) {
    const key = this.#own.get(id);
    if (!key?.startsWith(UNPLACED)) return;
    if (run === undefined) {
      this.#drop(key); // accepted long ago: it stands in the history
      return;
    }
    this.#rows.get(key).setState(this.#has(run) ? "" : "waiting");
    this.#move(key, keyOf(run, "user"));
  }

  refuse(id, why) {
    this.#rows.get(this.#own.get(id))?.setState("failed", why);
  }

  retry(id) {
    this.#rows.get(this.#own.get(id))?.setState("sending");
  }

  say(message) {
    const isKnown = this.#rows.has(keyOf(message.run, "user"));
    if (isKnown) return;
    this.#user(message).setState(this.#has(message.run) ? "" : "waiting");
    this.#settle(keyOf(message.run, "user"));
  }

  begin(run) {
    this.#change(run, "");
    return this.#answer(run);
  }

  grow(run, text, replaces) {
    this.begin(run).grow(text, replaces);
    this.#lower(keyOf(run, "assistant"));
  }

  /** A message that waited is answered by the answer that grows. */
  takeUp(run) {
    this.#change(run, "taken");
  }

  end({ run, reason, text, reference, buttons }) {
    const row = this.begin(run);
    if (reason === "silent") this.#drop(keyOf(run, "assistant"));
    else {
      row.end(reason, text, reference, buttons);
      this.#lower(keyOf(run, "assistant"));
    }
  }

  setStatus(run, text) {
    this.#rows.get(keyOf(run, "assistant"))?.setStatus(text);
  }

  /** Forgets the oldest rows; true where there were too many. */
  trim() {
    const tooMany = this.#order.length - MAX_ROWS;
    if (tooMany < 100) return false;
    for (const key of this.#order.slice(0, tooMany)) this.#drop(key);
    return true;
  }

  #has(run) {
    return this.#rows.has(keyOf(run, "assistant"));
  }

  /** Whether messages are missing between the rows and a new page, or the rows are of another store. */
  #isApart(messages) {
    const newest = Math.max(0, ...[...this.#rows.values()].map((row) => row.number));
    if (newest === 0) return this.#order.some((key) => !key.startsWith(UNPLACED));
    return messages.length === 0 || messages[0].number > newest + 1 || messages.at(-1).number < newest;
  }

  #clear() {
    for (const key of [...this.#order]) if (!key.startsWith(UNPLACED)) this.#drop(key);
  }

  #answer(run, at = new Date()) {
    const key = keyOf(run, "assistant");
    return this.#rows.get(key) ?? this.#place(key, new AnswerRow({ speaker: this.#speaker, at }));
  }

  #user({ run, text, at, platform_id: platformId }) {
    const key = keyOf(run, "user");
    const own = this.#own.get(platformId);
    if (own !== undefined && own !== key) this.#move(own, key);
    return this.#rows.get(key) ?? this.#place(key, new UserRow({ text, at, platformId }));
  }

  /** Gives a message of the person another state, and the place that goes with it. */
  #change(run, state) {
    const key = keyOf(run, "user");
    const row = this.#rows.get(key);
    if (!row || row.state === state) return;
    const isMoving = WAITING.has(row.state) !== WAITING.has(state);
    row.setState(state);
    if (isMoving) this.#settle(key);
  }

  /** Puts an answer below what was said while it was not growing; what waits stays at the end. */
  #lower(key) {
    const row = this.#rows.get(key);
    if (row.number) return;
    const below = this.#order.slice(this.#order.indexOf(key) + 1);
    if (below.some((other) => !WAITING.has(this.#rows.get(other).state))) this.#settle(key);
  }

  /** Puts a row where its rank says; among those without a number it is the newest. */
  #settle(key) {
    const row = this.#rows.get(key);
    const at = this.#order.indexOf(key);
    const [group] = rankOf(row);
    this.#order.splice(at, 1);
    if (group > 0) row.since = ++this.#count;
    const index = this.#find(rankOf(row));
    if (index !== at) this.#log.insertBefore(row.element, this.#rows.get(this.#order[index])?.element ?? null);
    this.#order.splice(index, 0, key);
  }

  /** Where in the order a rank belongs. */
  #find(rank) {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(rankOf(this.#rows.get(this.#order[middle])), rank)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #place(key, row) {
    row.since = ++this.#count;
    const index = this.#find(rankOf(row));
    this.#log.insertBefore(row.element, this.#rows.get(this.#order[index])?.element ?? null);
    this.#order.splice(index, 0, key);
    this.#rows.set(key, row);
    if (row.platformId) this.#own.set(row.platformId, key);
    return row;
  }

  #move(from, to) {
    const row = this.#rows.get(from);
    this.#drop(from);
    if (!this.#rows.has(to)) this.#place(to, row);
  }

  #drop(key) {
    const row = this.#rows.get(key);
    row.element.remove();
    this.#rows.delete(key);
    this.#order.splice(this.#order.indexOf(key), 1);
    if (this.#own.get(row.platformId) === key) this.#own.delete(row.platformId);
  }
}
