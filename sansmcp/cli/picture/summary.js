// What can be said of the conversation before it is read.

const SLOWEST = 5;

/** Fill the head of the page and the cards below it. */
function summarise(conversation, { go, filter }) {
  const { client, server, revision, violations, title, joined } = conversation;
  $("title").append(brief(title || "A conversation", 120));
  const must = violations.filter((violation) => violation.must).length;
  const should = violations.length - must;
  const verdict = $("verdict");
  verdict.classList.add(must ? "must" : should ? "should" : "good");
  verdict.append(
    violations.length === 0
      ? "✓ No rule broken"
      : [must ? `⚑ ${must} × MUST` : "", should ? `⚐ ${should} × SHOULD` : ""].filter(Boolean).join("  ") +
          " broken",
  );
  if (joined) verdict.append(" · the beginning was not seen");
  $("summary").append(
    el("section", {}, el("h2", {}, "Who"),
      el("dl", {},
        ...who("Client", client), ...who("Server", server),
        el("dt", {}, "Revision"), el("dd", {}, revision ? brief(said(revision), 40) : "not seen"))),
    countsCard(conversation, filter),
    slowestCard(conversation, go),
    violationsCard(conversation, filter, go),
  );
}

function who(side, info) {
  const version = info?.version ? el("span", { class: "version" }, ` ${brief(said(info.version), 40)}`) : null;
  const same = info?.title && info?.name ? el("span", { class: "version" }, ` (${brief(said(info.name), 80)})`) : null;
  return [el("dt", {}, side), el("dd", {}, nameOf(info) ?? "not seen", same, version)];
}

function countsCard({ messages, requests, tasks, duration }, filter) {
  const outcomes = (name) => requests.filter((request) => request.outcome === name).length;
  const list = el("ul", { class: "counts" });
  const add = (number, one, query = null, many) => {
    const words = count(number, one, many).split(" ");
    const shown = [el("b", {}, words[0]), ` ${words.slice(1).join(" ")}`];
    const body = query && number
      ? el("button", { type: "button", class: "link", onclick: () => filter(query) }, ...shown)
      : el("span", {}, ...shown);
    list.append(el("li", {}, body));
  };
  add(messages.length, "message");
  add(requests.length, "request", "kind:request");
  add(messages.filter((message) => message.kind === "notification").length, "notification", "kind:notification");
  add(messages.filter((message) => message.failed).length, "failure", "is:failed");
  add(outcomes("cancelled"), "cancelled", "is:cancelled", "cancelled");
  add(outcomes("open"), "never answered", "is:open", "never answered");
  add(tasks.length, "task");
  if (duration !== null) list.append(el("li", {}, el("span", {}, el("b", {}, seconds(duration)), " in all")));
  return el("section", {}, el("h2", {}, "Counts"), list);
}

function slowestCard({ requests, longest }, go) {
  const timed = requests.filter(({ answer, latency }) => answer !== null && latency !== null);
  const slowest = timed.sort((a, b) => b.latency - a.latency).slice(0, SLOWEST);
  const list = el("ol", { class: "slowest" });
  for (const { n, method, label, latency } of slowest) {
    const name = el("button", { type: "button", class: "link", onclick: () => go(n) },
      brief([method, label].filter(Boolean).join(" "), 80));
    list.append(el("li", {}, name, gauge(latency / (longest || 1)), el("span", { class: "number" }, seconds(latency))));
  }
  const none = el("p", { class: "none" }, "The messages have no times.");
  return el("section", {}, el("h2", {}, "Slowest requests"), slowest.length ? list : none);
}

function violationsCard({ violations }, filter, go) {
  const rules = new Map();
  for (const violation of violations) {
    if (!rules.has(violation.rule)) rules.set(violation.rule, []);
    rules.get(violation.rule).push(violation);
  }
  const ordered = [...rules.values()].sort(
    (some, others) => others[0].must - some[0].must || others.length - some.length,
  );
  const list = el("ul", { class: "rules" });
  for (const broken of ordered) {
    const [{ must, rule, level, text, n }] = broken;
    const link = (words, onclick) => el("button", { type: "button", class: "link", onclick }, words);
    list.append(
      el("li", {},
        flag(must, level), " ",
        link(`${rule} × ${broken.length}`, () => filter(`rule:${rule}`)), " ",
        link(`first: № ${n}`, () => go(n)),
        el("p", {}, text)),
    );
  }
  const none = el("p", { class: "none" }, "No rule was seen broken, by either side.");
  return el("section", { class: "wide" }, el("h2", {}, "Violations"), violations.length ? list : none);
}

/** What the shapes and marks mean. */
function explain() {
  const arrow = (kind) => {
    const sample = el("span", { class: `row ${kind} from-client sample` });
    sample.append(el("i", { class: "arrow" }));
    return sample;
  };
  const bar = (...classes) => el("i", { class: `bar sample ${classes.join(" ")}` });
  const mark = (status) => el("i", { class: `mark sample ${status}` }, STATUS_MARKS[status]);
  const entries = [
    [arrow("request"), "request"],
    [arrow("result"), "result"],
    [arrow("error"), "✗ error"],
    [arrow("notification"), "notification"],
    [arrow("noise"), "not a message"],
    [bar("result"), "request in flight"],
    [bar("open"), "never answered"],
    [bar("cancelled", "after"), "after it was cancelled"],
    ...Object.keys(STATUS_MARKS).map((status) => [mark(status), `task ${status}`]),
    [flag(true, "MUST"), "broken"],
    [flag(false, "SHOULD"), "broken"],
  ];
  $("legend").append(...entries.map(([sample, words]) => el("li", {}, sample, ` ${words}`)));
}
