// Keeps the newest in sight while one looks at it, keeps the place while one looks at something older, and asks for
// older pages on the way up.

const NEAR = 80; // px from the bottom that count as "at the newest"
const AHEAD = 800; // px from the top at which the next page is asked for

export class Scroller {
  #box;
  #jump;
  #onTop;
  #isAtEnd = true;

  constructor(box, log, jump, onTop) {
    this.#box = box;
    this.#jump = jump;
    this.#onTop = onTop;
    box.addEventListener("scroll", () => this.#look(), { passive: true });
    jump.addEventListener("click", () => this.toEnd());
    const observer = new ResizeObserver(() => (this.#isAtEnd ? this.toEnd() : this.#look()));
    observer.observe(log);
    observer.observe(box);
  }

  get isAtEnd() {
    return this.#isAtEnd;
  }

  toEnd() {
    this.#isAtEnd = true;
    this.#box.scrollTop = this.#box.scrollHeight;
    this.#look();
  }

  /** Lets `change` put rows above what is in sight, which stays where it is. */
  keepPlace(change) {
    const fromEnd = this.#box.scrollHeight - this.#box.scrollTop;
    change();
    this.#box.scrollTop = this.#box.scrollHeight - fromEnd;
    this.#look();
  }

  #look() {
    const below = this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight;
    this.#isAtEnd = below < NEAR;
    this.#jump.hidden = this.#isAtEnd;
    if (this.#box.scrollTop < AHEAD) this.#onTop();
  }
}
