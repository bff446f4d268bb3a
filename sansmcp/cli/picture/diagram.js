// The diagram: a row for each message, of which only those in sight are in the document.

const ROW = 34; // pixels; the style sheet knows it too
const SPARE = 12; // rows drawn beyond what is in sight
const TALLEST = 8_000_000; // pixels, which every browser can scroll through
const PRINTED = 3_000; // rows at most that are laid out for a printer
const ZOOM = 1.6;

class Diagram {
  /** `onActive` is told of the message that the reader moved to. */
  constructor(conversation, onActive) {
    this.conversation = conversation;
    this.onActive = onActive;
    this.rows = $("messages");
    this.drawn = new Map(); // index of the message -> its row
    this.active = null; // index of the message
    this.scale = null; // pixels a second, or null for the order only
    this.printing = false;
    this.#headings();
    this.show(conversation.messages.map((message) => message.index));
    let due = false;
    const soon = () => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        this.draw();
      });
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    // The headings stay below the tools, however many lines those take.
    new ResizeObserver(([{ target }]) => {
      document.documentElement.style.setProperty("--tools", `${target.offsetHeight}px`);
      soon();
    }).observe($("toolbar"));
    new ResizeObserver(soon).observe($("about"));
    addEventListener("beforeprint", () => this.#print(true));
    addEventListener("afterprint", () => this.#print(false));
  }

  #headings() {
    const { client, server, lanes } = this.conversation;
    $("client-name").append(nameOf(client) ?? "Client");
    $("server-name").append(nameOf(server) ?? "Server");
    const style = document.documentElement.style;
    for (const side of ["client", "server"]) {
      style.setProperty(`--${side}-requests`, lanes[side].requests.length);
      style.setProperty(`--${side}-tasks`, lanes[side].tasks.length);
    }
    const timed = this.conversation.start !== null;
    document.documentElement.classList.toggle("untimed", !timed);
    const left = ["client", "server"]
      .flatMap((side) => [lanes[side].requests.left, lanes[side].tasks.left])
      .reduce((sum, number) => sum + number, 0);
    $("left-out").hidden = left === 0;
    $("left-out").textContent = `${count(left, "bar")} found no room beside the others.`;
  }

  /** Show these messages, by index, in this order. */
  show(indexes) {
    this.indexes = indexes;
    this.#measure();
  }

  /** Draw by time: `scale` in pixels a second; null draws by order. */
  setScale(scale) {
    this.scale = scale;
    this.#measure();
  }

  /** Pixels a second at which the usual pause is seen, and the whole can still be scrolled. */
  usualScale() {
    const { messages, duration } = this.conversation;
    const pauses = messages
      .map((message, i) => (i ? pause(messages[i - 1], message) : 0))
      .filter((length) => length > 0)
      .sort((a, b) => a - b);
    if (!pauses.length) return ROW;
    const often = pauses[Math.floor(pauses.length * 0.8)];
    return Math.min((ROW * 2) / often, 1_600 / pauses.at(-1), TALLEST / Math.max(duration, 1e-9));
  }

  #measure() {
    const { messages } = this.conversation;
    const tops = new Float64Array(this.indexes.length + 1);
    this.indexes.forEach((index, i) => {
      let height = ROW;
      if (this.scale !== null && i > 0) {
        // Neighbours never overlap; what is to scale is every pause that is longer than a row.
        height = Math.max(ROW, pause(messages[this.indexes[i - 1]], messages[index]) * this.scale);
      }
      tops[i + 1] = tops[i] + height;
    });
    this.tops = tops;
    this.rows.style.height = `${tops.at(-1)}px`;
    $("nothing").hidden = this.indexes.length > 0;
    this.#forget();
    if (this.active !== null) this.#settle();
    this.draw();
  }

  /** Where the filter has taken the active message away, the next that is left is active. */
  #settle() {
    const at = Math.max(0, this.#rowOf(this.active));
    this.active = this.indexes[at] ?? null;
    this.#point();
  }

  #forget() {
    this.rows.replaceChildren();
    this.drawn.clear();
  }

  /** The row of a message, or that of the last before it; -1 if there is none. */
  #rowOf(index) {
    return lastNotAfter(this.indexes.length, (i) => this.indexes[i], index);
  }

  /** Draw what is in sight. */
  draw() {
    if (this.printing) return;
    const top = -this.rows.getBoundingClientRect().top;
    const at = (y) => lastNotAfter(this.indexes.length, (i) => this.tops[i], y);
    const first = Math.max(0, at(top) - SPARE);
    const last = Math.min(this.indexes.length - 1, at(top + innerHeight) + SPARE);
    const wanted = new Map();
    for (let i = first; i <= last; i++) wanted.set(this.indexes[i], i);
    // The active row stays, wherever it is: assistive technology is told of it by its id.
    if (this.active !== null) wanted.set(this.active, this.#rowOf(this.active));
    for (const [index, row] of this.drawn) {
      if (!wanted.has(index)) {
        row.remove();
        this.drawn.delete(index);
      }
    }
    // They are in the document in their order, for those who read that and see no places.
    let next = this.rows.firstElementChild;
    for (const [index, i] of [...wanted].sort(([, a], [, b]) => a - b)) {
      const row = this.drawn.get(index) ?? this.#draw(index, i);
      if (row === next) next = next.nextElementSibling;
      else this.rows.insertBefore(row, next);
    }
  }

  #draw(index, i) {
    const { messages } = this.conversation;
    const height = this.tops[i + 1] - this.tops[i];
    const before = height < 3 * ROW ? 0 : pause(messages[this.indexes[i - 1]], messages[index]);
    const row = rowElement(this.conversation, messages[index], before);
    row.setAttribute("aria-selected", index === this.active);
    row.setAttribute("aria-setsize", this.indexes.length);
    row.setAttribute("aria-posinset", i + 1);
    row.style.top = `${this.tops[i]}px`;
    row.style.height = `${height}px`;
    this.drawn.set(index, row);
    return row;
  }

  #print(printing) {
    this.printing = printing;
    this.#forget();
    if (!printing) {
      this.draw();
      return;
    }
    this.rows.append(...this.indexes.slice(0, PRINTED).map((index, i) => this.#draw(index, i)));
    if (this.indexes.length > PRINTED) {
      const more = `${count(this.indexes.length - PRINTED, "more message")}: filter, to print them.`;
      this.rows.append(el("p", { class: "more" }, more));
    }
  }

  /** Move to a message of those shown, and bring it into sight. */
  activate(index, { quietly = false } = {}) {
    const i = this.#rowOf(index);
    if (this.indexes[i] !== index) return false;
    this.active = index;
    this.#reveal(i);
    this.draw();
    this.#point();
    if (!quietly) this.onActive(this.conversation.messages[index]);
    return true;
  }

  /** Move by rows. */
  move(rows) {
    if (!this.indexes.length) return;
    const from = this.active === null ? (rows > 0 ? -1 : 0) : this.#rowOf(this.active);
    const to = Math.min(this.indexes.length - 1, Math.max(0, from + rows));
    this.activate(this.indexes[to]);
  }

  /** Rows that fit into the window. */
  get page() {
    return Math.max(1, Math.floor(innerHeight / ROW) - 6);
  }

  #point() {
    for (const [index, row] of this.drawn) {
      row.setAttribute("aria-selected", index === this.active);
    }
    if (this.active === null) this.rows.removeAttribute("aria-activedescendant");
    else {
      const { n } = this.conversation.messages[this.active];
      this.rows.setAttribute("aria-activedescendant", `m${n}`);
    }
  }

  #reveal(i) {
    const origin = this.rows.getBoundingClientRect().top + scrollY;
    const bottom = origin + this.tops[i + 1];
    const top = bottom - ROW;
    // Tools and headings stay at the top; on a narrow screen a message that is read covers the end.
    const above = $("toolbar").offsetHeight + $("heads").offsetHeight + ROW;
    const pane = $("detail");
    const covers = !pane.hidden && getComputedStyle(pane).position === "fixed";
    const below = (covers ? pane.offsetHeight : 0) + ROW * 2;
    if (top < scrollY + above) scrollTo(0, top - above);
    else if (bottom > scrollY + innerHeight - below) scrollTo(0, bottom - innerHeight + below);
  }
}
