// The page: the parts, and what the keys and buttons do to them.

const conversation = new Conversation(JSON.parse($("analysis").textContent));
const query = $("query");
const list = $("messages");
const LISTED = 200; // entries of a list that one chooses from

const detail = new Detail(conversation, {
  go,
  filter: setQuery,
  onClose: () => list.focus({ preventScroll: true }),
});
const diagram = new Diagram(conversation, (message) => {
  remember(message);
  if (detail.open) detail.show(message);
});

// --- the filter -------------------------------------------------------------------------------

function setQuery(text) {
  query.value = text;
  applyQuery();
}

function applyQuery() {
  const text = query.value;
  diagram.show(matching(conversation.messages, text));
  const terms = parseQuery(text);
  const valueOf = (field) => terms.find((term) => term.field === field && !term.not)?.value ?? "";
  choose($("method"), valueOf("method"));
  choose($("task"), valueOf("task"));
  $("violations").setAttribute("aria-pressed", valueOf("is") === "violation");
  const all = conversation.messages.length;
  const shown = diagram.indexes.length;
  $("shown").textContent =
    shown === all ? count(all, "message") : `${shown.toLocaleString("en")} of ${count(all, "message")}`;
}

/** Show in a list what the query says, if the list has it. */
function choose(select, value) {
  const option = [...select.options].find(({ value: known }) => known.toLowerCase() === value);
  select.value = option?.value ?? "";
}

function fillLists() {
  const methods = new Map();
  for (const { method } of conversation.messages) {
    if (method) methods.set(method, (methods.get(method) ?? 0) + 1);
  }
  const byName = [...methods].sort(([a], [b]) => (a < b ? -1 : 1));
  fillList($("method"), "All methods", byName.map(([method, number]) => [method, `${brief(method, 60)} (${number})`]));
  const status = ({ statuses }) => statuses.at(-1)?.status ?? "";
  fillList($("task"), conversation.tasks.length ? "All tasks" : "No tasks",
    conversation.tasks.map((task) => [task.id, `${brief(task.id, 12)} ${brief(status(task), 20)}`]));
  $("task").disabled = !conversation.tasks.length;
}

/** Fill a list with [value, words]; it is for choosing, so one that is too long is cut. */
function fillList(select, all, entries) {
  const option = (value, words) => el("option", { value }, words);
  select.append(option("", all), ...entries.slice(0, LISTED).map(([value, words]) => option(value, words)));
  const more = count(entries.length - LISTED, "more", "more");
  if (entries.length > LISTED) select.append(el("option", { disabled: true }, `${more}: ${select.id}:…`));
  select.addEventListener("change", () => setQuery(withField(query.value, select.id, select.value)));
}

// --- moving -----------------------------------------------------------------------------------

/** Move to a message by its number and read it; a filter that hides it goes. */
function go(n) {
  const message = conversation.byNumber.get(n);
  if (message === undefined) return;
  if (!diagram.activate(message.index)) {
    setQuery("");
    diagram.activate(message.index);
  }
  read({ focus: false });
}

function goToViolation(step) {
  const shown = new Set(diagram.indexes);
  const flagged = conversation.flagged.map(({ index }) => index).filter((index) => shown.has(index));
  const at = diagram.active ?? (step > 0 ? -1 : Infinity);
  const next = step > 0 ? flagged.find((index) => index > at) : flagged.findLast((index) => index < at);
  const index = next ?? flagged.at(step > 0 ? 0 : -1); // past the end it begins again
  if (index !== undefined) diagram.activate(index);
}

function remember({ n }) {
  try {
    history.replaceState(null, "", `#${n}`);
  } catch {
    // A browser may forbid it to a page without an address; then there is none to share.
  }
}

function read({ focus }) {
  if (diagram.active === null) diagram.move(1);
  const message = conversation.messages[diagram.active];
  if (message === undefined) return;
  detail.show(message, { focus });
  diagram.activate(message.index, { quietly: true }); // it may be covered now
}

// --- the scale of time ------------------------------------------------------------------------

function setScale(scale) {
  const timed = scale !== null;
  $("by-order").setAttribute("aria-pressed", !timed);
  $("by-time").setAttribute("aria-pressed", timed);
  $("zoom-in").hidden = $("zoom-out").hidden = !timed;
  diagram.setScale(scale);
  if (diagram.active !== null) diagram.activate(diagram.active, { quietly: true });
}

function zoom(factor) {
  const most = TALLEST / Math.max(conversation.duration, 1e-9);
  setScale(Math.min(most, diagram.scale * factor));
}

// --- dark and light ---------------------------------------------------------------------------

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = `Theme: ${theme}`;
}

// --- keys -------------------------------------------------------------------------------------

// In the list of messages only: elsewhere these keys scroll, or press a button.
const LIST_KEYS = {
  ArrowDown: () => diagram.move(1),
  ArrowUp: () => diagram.move(-1),
  PageDown: () => diagram.move(diagram.page),
  PageUp: () => diagram.move(-diagram.page),
  Home: () => diagram.move(-Infinity),
  End: () => diagram.move(Infinity),
  Enter: () => read({ focus: true }),
};
// Anywhere but where one writes.
const LETTERS = {
  j: () => diagram.move(1),
  k: () => diagram.move(-1),
  n: () => goToViolation(1),
  p: () => goToViolation(-1),
  "/": () => query.focus(),
  "?": () => $("help").showModal(),
};

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
  const { target, key } = event;
  const writing = target === query || target instanceof HTMLSelectElement;
  let action = null;
  if (key === "Escape") action = onEscape(target);
  else if (target === query && (key === "Enter" || key === "ArrowDown")) action = () => list.focus();
  else if (writing) return;
  else if (target === list || target === document.body) action = LIST_KEYS[key];
  if (!writing && $("letters").checked) action ??= LETTERS[key];
  if (!action) return;
  event.preventDefault();
  action();
}

/** What Escape does: closes what is open, or leaves the filter. */
function onEscape(target) {
  if (target === query) {
    return () => (query.value ? setQuery("") : list.focus({ preventScroll: true }));
  }
  return detail.open ? () => detail.close() : null;
}

// --- all together -----------------------------------------------------------------------------

summarise(conversation, { go, filter: setQuery });
explain();
fillLists();
setTheme("auto");
applyQuery();

query.addEventListener("input", applyQuery);
document.addEventListener("keydown", onKey);
list.addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (row === null) return;
  diagram.activate(conversation.byNumber.get(Number(row.dataset.n)).index);
  read({ focus: false });
});
const pressed = {
  clear: () => setQuery(""),
  violations: () => setQuery(
    withField(query.value, "is", $("violations").getAttribute("aria-pressed") === "true" ? "" : "violation"),
  ),
  previous: () => goToViolation(-1),
  next: () => goToViolation(1),
  "by-order": () => setScale(null),
  "by-time": () => setScale(diagram.usualScale()),
  "zoom-in": () => zoom(ZOOM),
  "zoom-out": () => zoom(1 / ZOOM),
  theme: () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3]),
  "help-open": () => $("help").showModal(),
};
for (const [id, action] of Object.entries(pressed)) $(id).addEventListener("click", action);
if (conversation.start === null) {
  $("by-time").disabled = true;
  $("by-time").title = "The messages have no times";
}
$("previous").disabled = $("next").disabled = $("violations").disabled = !conversation.flagged.length;

// On a narrow screen the summary would be all that is seen at first.
$("about").open = !matchMedia("(max-width: 720px)").matches;

function followAddress() {
  const wanted = /^#(\d+)$/.exec(location.hash);
  if (wanted) go(Number(wanted[1]));
}

addEventListener("hashchange", followAddress);
followAddress();
prepare(conversation.messages);
