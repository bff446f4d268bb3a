// One message, to be read beside the diagram.

class Detail {
  /** `go` moves to a message by its number, `filter` puts a query into the filter. */
  constructor(conversation, { go, filter, onClose }) {
    this.conversation = conversation;
    this.pane = $("detail");
    this.go = go;
    this.filter = filter;
    this.onClose = onClose;
    this.raw = false;
    this.message = null;
  }

  get open() {
    return !this.pane.hidden;
  }

  close() {
    this.pane.hidden = true;
    document.body.classList.remove("reading");
    this.onClose();
  }

  show(message, { focus = false } = {}) {
    this.message = message;
    const { n, side } = message;
    const title = el("h2", { id: "detail-title", tabindex: "-1" }, `Message ${n}`);
    const direction = el("p", { class: "direction" }, `${side} → ${other(side)}`);
    const close = el("button", { type: "button", onclick: () => this.close() }, "Close ", el("kbd", {}, "Esc"));
    this.pane.replaceChildren(
      el("header", {}, el("div", {}, title, direction), close),
      this.#facts(message),
      ...message.violations.map(violationElement),
      this.#text(message),
    );
    this.pane.hidden = false;
    this.pane.scrollTop = 0;
    document.body.classList.add("reading");
    if (focus) title.focus({ preventScroll: true });
  }

  #facts(message) {
    const { kind, method, id, task, request, n, time } = message;
    const facts = el("dl", { class: "facts" });
    const fact = (name, ...values) => facts.append(el("dt", {}, name), el("dd", {}, ...values));
    fact("Kind", KINDS[kind]);
    if (method) fact("Method", this.#filterLink(brief(method), written("method", method)));
    if (id !== null) fact("Id", this.#filterLink(brief(id), written("id", id)));
    if (time !== null) fact("Time", `${moment(time - this.conversation.start)} s after the first`);
    if (request && request.n !== n) fact("Request", this.#numberLink(request.n));
    if (request && request.answer !== null && request.answer !== n) {
      fact("Answer", this.#numberLink(request.answer));
    }
    if (request && request.n === n) fact("Outcome", request.outcome);
    if (request && request.latency !== null) {
      fact(request.outcome === "cancelled" ? "Given up after" : "Latency", seconds(request.latency));
    }
    if (request && request.cancelled !== null && request.cancelled !== n) {
      fact("Cancelled", this.#numberLink(request.cancelled));
    }
    const progress = (request?.progress ?? []).filter((other) => other !== n);
    if (progress.length) {
      const links = progress.slice(0, 30).flatMap((other) => [this.#numberLink(other), " "]);
      fact("Progress", ...links, progress.length > 30 ? `and ${progress.length - 30} more` : null);
    }
    if (task) fact("Task", this.#filterLink(brief(task), written("task", task)));
    return facts;
  }

  #numberLink(n) {
    return el("button", { type: "button", class: "link", onclick: () => this.go(n) }, `№ ${n}`);
  }

  #filterLink(text, query) {
    const title = "Show only what belongs to it";
    return el("button", { type: "button", class: "link", title, onclick: () => this.filter(query) }, text);
  }

  #text(message) {
    const pre = el("pre", { tabindex: "0", "aria-label": "The message" });
    const choose = (raw) => {
      this.raw = raw;
      laid.setAttribute("aria-pressed", !raw);
      asSent.setAttribute("aria-pressed", raw);
      pre.replaceChildren(raw ? plainElement(message.text) : jsonElement(message.text));
    };
    const laid = el("button", { type: "button", onclick: () => choose(false) }, "Laid out");
    const asSent = el("button", { type: "button", onclick: () => choose(true) }, "As sent");
    const copy = el("button", { type: "button", class: "copy" }, "Copy");
    copy.addEventListener("click", async () => {
      const done = await copied(this.raw ? message.text : pretty(message.text));
      copy.textContent = done ? "Copied" : "Not copied";
      setTimeout(() => (copy.textContent = "Copy"), 1_500);
    });
    choose(this.raw);
    const size = count(new TextEncoder().encode(message.text).length, "byte");
    return el(
      "div",
      { class: "text" },
      el("div", { class: "bar-of-buttons" },
        el("span", { class: "steps", role: "group", "aria-label": "Form" }, laid, asSent),
        el("span", { class: "size" }, size), copy),
      pre,
    );
  }
}

function violationElement({ must, rule, level, side, text, detail, page }) {
  const note = el(
    "section",
    { class: `violation ${strength(must)}` },
    el("h3", {}, `${must ? "⚑" : "⚐"} ${rule} `, el("span", { class: "level" }, `${level} · ${side}`)),
    el("p", {}, text),
  );
  if (detail) note.append(el("p", { class: "what" }, visible(detail)));
  if (page) note.append(el("p", {}, pageLink(page)));
  return note;
}

/** A link to a page of the specification; anything else than an address stays text. */
function pageLink(page) {
  if (!page.startsWith("https://")) return page;
  const words = page.replace(/^https:\/\/[^/]+\/specification\//, "");
  return el("a", { href: page, target: "_blank", rel: "noopener noreferrer" }, words);
}

/** Put a text on the clipboard; a page that was opened as a file may have to do it the old way. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return done;
  }
}
