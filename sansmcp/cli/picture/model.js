// The conversation: the analysis as it was written, with everything linked to everything.

const LANES = 10; // bars beside one another on a side, at most
const TERMINAL = new Set(["completed", "failed", "cancelled"]);

class Conversation {
  constructor(analysis) {
    Object.assign(this, analysis);
    const times = this.messages.map((message) => message.time).filter((time) => time !== null);
    this.start = times.length ? times[0] : null;
    this.duration = times.length ? Math.max(0, times.at(-1) - times[0]) : null;
    this.messages.forEach((message, index) => {
      message.index = index;
      message.violations = [];
      message.requests = []; // all that it has to do with; an array of messages may have to with many
      message.request = null; // the one that it is, answers or is about
      message.failed = message.kind === "error" || isToolFailure(message);
    });
    this.byNumber = new Map(this.messages.map((message) => [message.n, message]));
    this.#link();
    this.longest = this.requests.reduce((most, { latency }) => Math.max(most, latency ?? 0), 0);
    const bars = this.requests.filter((request) => this.byNumber.has(request.n));
    const lanesOf = (items, side) => laneOut(items.filter((item) => item.at === side));
    const requestBars = bars.map((request) => this.#requestBar(request));
    const taskBars = this.tasks.map((task) => this.#taskBar(task)).filter(Boolean);
    this.lanes = {
      client: { requests: lanesOf(requestBars, "client"), tasks: lanesOf(taskBars, "client") },
      server: { requests: lanesOf(requestBars, "server"), tasks: lanesOf(taskBars, "server") },
    };
  }

  #link() {
    const requestOf = new Map(this.requests.map((request) => [request.n, request]));
    for (const message of this.messages) {
      if (message.kind === "batch") continue;
      message.request = requestOf.get(message.answers ?? message.concerns ?? message.n) ?? null;
      if (message.request !== null) message.requests.push(message.request);
    }
    for (const request of this.requests) {
      const { n, start, end, end_n, outcome } = request;
      request.latency = start === null || end === null ? null : Math.max(0, end - start);
      // What was given up may be answered all the same, and then ends twice.
      request.answer = outcome === "cancelled" ? null : end_n;
      for (const number of [n, end_n]) {
        const message = this.byNumber.get(number);
        if (message?.kind === "batch") message.requests.push(request);
      }
    }
    for (const { n, answers, request } of this.messages) {
      if (answers !== null && request !== null) request.answer ??= n;
    }
    for (const violation of this.violations) {
      this.byNumber.get(violation.n)?.violations.push(violation);
    }
    this.flagged = this.messages.filter((message) => message.violations.length);
  }

  /** A request's bar stands at the side that has to answer, until the last that is heard of it. */
  #requestBar(request) {
    const index = (number) => this.byNumber.get(number)?.index;
    const last = this.messages.length - 1;
    const heard = [request.n, request.answer, request.cancelled, ...request.progress].map(index);
    const open = request.outcome === "open";
    return {
      request,
      at: request.side === "client" ? "server" : "client",
      from: index(request.n),
      to: open ? last : heard.reduce((latest, at) => Math.max(latest, at ?? 0), 0),
      open,
      cancelled: index(request.cancelled),
      ticks: new Set(request.progress.map(index)),
    };
  }

  /** A task's bar stands at the side that runs it; null if nothing was seen of it. */
  #taskBar(task) {
    const seen = task.statuses.filter((status) => this.byNumber.has(status.n));
    if (!seen.length) return null;
    const changes = [];
    for (const { n, status } of seen) {
      if (changes.at(-1)?.status !== status) {
        changes.push({ index: this.byNumber.get(n).index, status });
      }
    }
    const ended = TERMINAL.has(changes.at(-1).status);
    return {
      task,
      at: task.side,
      from: changes[0].index,
      to: ended ? changes.at(-1).index : this.messages.length - 1,
      open: !ended,
      changes,
    };
  }
}

/** Whether a message is the result of a tool that says that it failed. */
function isToolFailure(message) {
  if (message.kind !== "result" || !message.text.includes('"isError"')) return false;
  return parsed(message.text)?.result?.isError === true;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Give bars places beside one another, such that those of one lane do not overlap.
 *
 * What never ends comes last and so outermost: it would keep its lane from all that follow. The
 * result has the lanes, each in order, and how many bars found no place.
 */
function laneOut(bars) {
  const lanes = [];
  const intervals = bars.filter((bar) => !bar.open).sort((a, b) => a.from - b.from);
  const open = bars.filter((bar) => bar.open).sort((a, b) => a.from - b.from);
  let left = 0;
  for (const bar of [...intervals, ...open]) {
    let lane = lanes.find((taken) => taken.at(-1).to < bar.from);
    if (lane === undefined && lanes.length < LANES) lanes.push((lane = []));
    if (lane === undefined) left += 1;
    else lane.push(bar);
  }
  return Object.assign(lanes, { left });
}

/** The bar of a lane that stands at a message, or undefined. */
function barAt(lane, index) {
  const bar = lane[lastNotAfter(lane.length, (i) => lane[i].from, index)];
  return bar !== undefined && index <= bar.to ? bar : undefined;
}

/** The greatest i below `count` with value(i) <= target, or -1; the values ascend. */
function lastNotAfter(count, value, target) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value(middle) <= target) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
