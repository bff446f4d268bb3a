// Words and numbers as people read them, and elements that hold them.

/** An element. Children are nodes or text; text is only ever text, whoever wrote it. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const $ = (id) => document.getElementById(id);

// Controls, what reverses the writing direction, what has no width, and halves of characters:
// whoever sent them shall not make a message look like another one.
const UNSEEN =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Cs}/gu;

/** The text with what cannot be seen written as an escape. */
function visible(text) {
  return text.replace(UNSEEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same on one line, and of a long one the beginning. */
function brief(text, longest = 200) {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return visible(cut.replaceAll("\n", " "));
}

function seconds(duration) {
  if (duration < 0.001) return `${(duration * 1000).toFixed(2)} ms`;
  if (duration < 0.0995) return `${(duration * 1000).toFixed(1)} ms`;
  if (duration < 0.9995) return `${(duration * 1000).toFixed(0)} ms`;
  if (duration < 59.995) return `${duration.toFixed(2)} s`;
  const whole = Math.round(duration);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

/** Seconds since the first message, as the margin shows them. */
function moment(time) {
  const minutes = Math.floor(time / 60);
  return minutes ? `${minutes}:${(time % 60).toFixed(3).padStart(6, "0")}` : time.toFixed(3);
}

const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

const other = (side) => (side === "client" ? "server" : "client");

/** The mark of a broken rule: a full flag for a MUST, an empty one for a SHOULD. */
function flag(must, words, title) {
  return el("span", { class: `flag ${strength(must)}`, title }, `${must ? "⚑" : "⚐"} ${words}`);
}

const strength = (must) => (must ? "must" : "should");

/** A little bar that shows a share of 1. */
function gauge(share) {
  const element = el("i", { class: "gauge" });
  element.style.setProperty("--share", share.toFixed(3));
  return element;
}

/** What an implementation calls itself. */
function nameOf(info) {
  return info ? brief(said(info.title || info.name || "unnamed"), 80) : null;
}

/** A value of JSON as text: a text as it is. It is never asked for its own idea of one. */
const said = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** What a message is about, beside its method: a few words. */
function hint(message) {
  const { kind, request, text } = message;
  if (kind === "request") return brief(request?.label ?? "");
  if (kind === "result") return brief(`${request?.label ?? ""}${message.failed ? " · isError" : ""}`);
  if (kind === "noise" || kind === "invalid") return brief(text.trim());
  // A notification or an error is short; one that is not is read when it is opened.
  const body = text.length < 20_000 ? parsed(text) : undefined;
  try {
    if (kind === "error") return brief(`${said(body.error.code)} ${said(body.error.message)}`);
    return brief(said((HINTS[message.method] ?? HINTS.other)(body.params)));
  } catch {
    return ""; // it is not built as it should be, and is read when it is opened
  }
}

const HINTS = {
  __proto__: null, // a peer chooses the name that is looked up
  "notifications/progress": ({ progress, total, message }) =>
    [said(progress), total === undefined ? "" : `/${said(total)}`, message ? ` ${said(message)}` : ""].join(""),
  "notifications/cancelled": ({ reason }) => reason ?? "",
  "notifications/message": ({ level, data }) => `${said(level)}: ${said(data)}`,
  "notifications/tasks/status": ({ status }) => status,
  "notifications/elicitation/complete": ({ elicitationId }) => elicitationId,
  other: ({ uri }) => uri ?? "",
};
