// The filter: a line of words and name:value, which the controls beside it only write.

const TERM = /(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/g;

const begins = (text, value) => text !== null && text.toLowerCase().startsWith(value);
const ofRequest = (message, outcome) => message.requests.some((request) => request.outcome === outcome);

const IS = {
  __proto__: null,
  violation: (message) => message.violations.length > 0,
  must: (message) => message.violations.some(({ must }) => must),
  should: (message) => message.violations.some(({ must }) => !must),
  failed: (message) => message.failed,
  open: (message) => ofRequest(message, "open"),
  cancelled: (message) => ofRequest(message, "cancelled"),
};

const FIELDS = {
  __proto__: null,
  method: (message, value) =>
    begins(message.method, value) || message.requests.some(({ method }) => begins(method, value)),
  id: (message, value) => isId(message.id, value) || message.requests.some(({ id }) => isId(id, value)),
  task: (message, value) => begins(message.task, value),
  rule: (message, value) => message.violations.some((violation) => begins(violation.rule, value)),
  from: (message, value) => message.side.startsWith(value),
  kind: (message, value) => message.kind === value,
  is: (message, value) => IS[value]?.(message) ?? false,
};

/** An id is JSON text; a string is found with and without its quotes. */
function isId(id, value) {
  return id !== null && (id.toLowerCase() === value || id.toLowerCase() === `"${value}"`);
}

/** The terms of a query: { field, value, not }, field null for words. */
function parseQuery(query) {
  const terms = [];
  for (const [, minus, name, quoted, bare] of query.trim().matchAll(TERM)) {
    const known = name in FIELDS;
    const value = quoted ?? bare;
    if (name === undefined && value.endsWith(":") && value.slice(0, -1) in FIELDS) {
      continue; // a name whose value is still to be typed
    }
    terms.push({
      field: known ? name : null,
      value: (known || name === undefined ? value : `${name}:${value}`).toLowerCase(),
      not: minus === "-",
    });
  }
  return terms.filter((term) => term.value !== "");
}

/** A term as it is written; there is no way to write a quotation mark. */
function written(field, value) {
  const plain = value.replaceAll('"', "");
  return `${field}:${/\s/.test(plain) ? `"${plain}"` : plain}`;
}

/** The query with what it wants of one field replaced by a value, or by nothing. */
function withField(query, field, value) {
  const others = [...query.trim().matchAll(TERM)]
    .filter(([, minus, name]) => name !== field || minus === "-")
    .map((match) => match[0]);
  return [...others, ...(value ? [written(field, value)] : [])].join(" ");
}

/** The indexes of the messages that match every term. */
function matching(messages, query) {
  const terms = parseQuery(query);
  const matches = ({ field, value, not }, message) =>
    not !== (field === null ? haystack(message).includes(value) : FIELDS[field](message, value));
  const found = [];
  for (const message of messages) {
    if (terms.every((term) => matches(term, message))) found.push(message.index);
  }
  return found;
}

/** What words are looked for in: the text, and what its escapes stand for. */
function haystack(message) {
  if (message.haystack === undefined) {
    const unescaped = message.text.includes("\\u")
      ? message.text.replace(/\\u([0-9a-fA-F]{4})/g, (_, code) => String.fromCharCode(parseInt(code, 16)))
      : "";
    const label = message.request?.label ?? "";
    message.haystack = `${message.text}\n${unescaped}\n${label}`.toLowerCase();
  }
  return message.haystack;
}

/** Prepare the search for words while nobody waits for it. */
function prepare(messages, from = 0) {
  const until = performance.now() + 8;
  let at = from;
  while (at < messages.length && performance.now() < until) haystack(messages[at++]);
  if (at < messages.length) setTimeout(prepare, 8, messages, at);
}
