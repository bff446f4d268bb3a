// A row of the diagram.
//
// It holds all that is drawn at its height: the arrow, and the pieces of the bars that pass. So a row
// can be drawn, left out by the filter, and printed, without a look at another.

const KINDS = {
  __proto__: null,
  request: "request",
  notification: "notification",
  result: "result",
  error: "error",
  invalid: "not a valid message",
  batch: "batch",
  noise: "not a message",
};
const STATUS_MARKS = {
  __proto__: null,
  working: "●",
  input_required: "?",
  completed: "✓",
  failed: "✗",
  cancelled: "⊘",
};

/** The row of a message. `before`: seconds of silence that are to be told, else 0. */
function rowElement(conversation, message, before) {
  const { n, kind, side, violations, index } = message;
  const classes = ["row", kind, `from-${side}`];
  if (violations.length) classes.push(strength(violations.some(({ must }) => must)));
  if (message.failed) classes.push("failed");
  return el(
    "div",
    { class: classes.join(" "), role: "option", id: `m${n}`, "data-n": n, "aria-label": describe(message) },
    el("span", { class: "n" }, String(n)),
    el("span", { class: "time" }, message.time === null ? "" : moment(message.time - conversation.start)),
    lanesElement("left", conversation.lanes.client, index),
    el("span", { class: "message" },
      before ? el("span", { class: "pause" }, seconds(before)) : null,
      label(message),
      el("i", { class: "arrow" })),
    lanesElement("right", conversation.lanes.server, index),
    latencyElement(message, conversation.longest),
  );
}

function lanesElement(where, { requests, tasks }, index) {
  const cell = el("span", { class: `lanes ${where}` });
  const draw = (lanes, piece, nearest) =>
    lanes.forEach((lane, at) => {
      const bar = barAt(lane, index);
      if (bar === undefined) return;
      const drawn = piece(bar, index);
      drawn.style.setProperty("--lane", nearest + at);
      cell.append(drawn);
    });
  draw(requests, requestPiece, 0);
  draw(tasks, taskPiece, requests.length);
  return cell;
}

/** How long the request took, where it ends. */
function latencyElement({ n, request }, longest) {
  const cell = el("span", { class: "latency" });
  if (request === null || request.end_n !== n || request.latency === null) return cell;
  const size = (length) => Math.log1p(length * 1000);
  cell.append(gauge(size(request.latency) / (size(longest) || 1)), el("span", {}, seconds(request.latency)));
  return cell;
}

/** Seconds between two messages; 0 where a time is missing or goes back. */
function pause(before, after) {
  if (before.time === null || after.time === null) return 0;
  return Math.max(0, after.time - before.time);
}

/** A message's line in the diagram. */
function label(message) {
  const { kind, request, violations } = message;
  const method = message.method ?? KINDS[kind];
  const text = el("span", { class: "label" });
  for (const { must, rule, text: title } of violations) {
    text.append(flag(must, rule, title));
  }
  if (kind === "error" || kind === "invalid") text.append(el("span", { class: "sign" }, "✗ "));
  text.append(el("b", {}, brief(method, 80)));
  if (message.id !== null) text.append(el("span", { class: "id" }, `#${brief(message.id, 24)}`));
  if (kind === "request" && request?.outcome === "open") text.append(el("span", { class: "chip" }, "open"));
  if (kind === "request" && request?.outcome === "cancelled") {
    text.append(el("span", { class: "chip" }, "cancelled"));
  }
  text.append(el("span", { class: "hint" }, hint(message)));
  return text;
}

/** A message in a sentence, for those who do not see the diagram. */
function describe(message) {
  const { n, side, kind, request, violations } = message;
  const words = [`${n}, ${side} to ${other(side)}: ${KINDS[kind]}`];
  if (message.method) {
    words.push(kind === "request" || kind === "notification" ? message.method : `of ${message.method}`);
  }
  if (message.id !== null) words.push(`id ${message.id}`);
  words.push(hint(message));
  if (kind === "request" && request !== null) words.push(request.outcome);
  if (request?.end_n === n && request.latency !== null) words.push(`after ${seconds(request.latency)}`);
  if (message.task) words.push(`task ${message.task}`);
  words.push(...violations.map((violation) => `breaks ${violation.level} ${violation.rule}`));
  return brief(words.filter(Boolean).join(", "), 300);
}

/** The piece of a request's bar in a message's row. */
function requestPiece(bar, index) {
  const { request } = bar;
  const classes = ["bar", request.outcome, ...ends(bar, index)];
  const hooked = index === bar.from || index === bar.to || index === bar.cancelled;
  if (bar.cancelled !== undefined && index > bar.cancelled) classes.push("after");
  const name = [request.method, request.label].filter(Boolean).join(" ");
  const latency = request.latency === null ? request.outcome : seconds(request.latency);
  const piece = el("i", { class: classes.join(" "), title: brief(`${name} #${request.id}: ${latency}`) });
  // The arrow ends at the lifeline; a line leads on to a bar that stands further out.
  if (hooked) piece.append(el("i", { class: "hook" }));
  if (bar.ticks.has(index)) piece.append(el("i", { class: "tick" }));
  if (index === bar.cancelled) piece.append(el("i", { class: "mark" }, "⊘"));
  return piece;
}

/** The piece of a task's bar in a message's row: in the colour of its status, with a mark at a change. */
function taskPiece(bar, index) {
  const { changes, task } = bar;
  const change = changes[lastNotAfter(changes.length, (i) => changes[i].index, index)];
  const here = change.index === index;
  // Up to the arrow of a change the bar is still in the colour of what was before.
  const before = here ? changes[changes.indexOf(change) - 1] : change;
  const classes = ["bar", "task", known(before?.status), ...ends(bar, index)];
  const title = brief(`task ${task.id}: ${change.status}`);
  const piece = el("i", { class: classes.join(" "), title });
  if (here) {
    piece.append(el("i", { class: `mark ${known(change.status)}` }, STATUS_MARKS[change.status] ?? "·"));
  }
  return piece;
}

const known = (status) => (status in STATUS_MARKS ? status : "unknown");

function ends(bar, index) {
  return [index === bar.from ? "first" : "", index === bar.to ? (bar.open ? "fades" : "last") : ""];
}
