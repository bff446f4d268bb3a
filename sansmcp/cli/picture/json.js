// JSON, laid out for reading. It works on the text, not on a parsed value, so that nothing changes:
// numbers keep all their digits, names that occur twice are seen twice.

const TOKEN = /\s+|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/gy;
const LONGEST = 1_000_000; // characters; a longer text is not laid out
const SHOWN = 100_000; // characters; what is beyond them is copied, not shown
const DEEPEST = 40; // levels; what lies deeper is indented no further

/** The tokens of a JSON text, or null if it is none that could be laid out. */
function tokens(text) {
  if (text.length > LONGEST) return null;
  const found = [];
  let at = 0;
  TOKEN.lastIndex = 0;
  for (let match; (match = TOKEN.exec(text)); at = TOKEN.lastIndex) {
    if (match[0].trim()) found.push(match[0]);
  }
  return at === text.length && found.length ? found : null;
}

/** The same JSON with line breaks and indentation, as pieces of [kind, text]; null if it is none. */
function* laidOut(found) {
  let depth = 0;
  const line = () => ["space", `\n${"  ".repeat(Math.min(depth, DEEPEST))}`];
  for (let i = 0; i < found.length; i++) {
    const token = found[i];
    const next = found[i + 1];
    if (token === "{" || token === "[") {
      if (next === "}" || next === "]") {
        yield ["mark", token + next];
        i += 1;
      } else {
        depth += 1;
        yield ["mark", token];
        yield line();
      }
    } else if (token === "}" || token === "]") {
      depth = Math.max(0, depth - 1);
      yield line();
      yield ["mark", token];
    } else if (token === ",") {
      yield ["mark", token];
      yield line();
    } else if (token === ":") yield ["mark", ": "];
    else if (token[0] === '"') yield [next === ":" ? "name" : "string", token];
    else yield [/[-\d]/.test(token[0]) ? "number" : "word", token];
  }
}

/** The text that is copied: laid out if it is JSON, else as it came. */
function pretty(text) {
  const found = tokens(text);
  if (found === null) return text;
  let all = "";
  for (const [, piece] of laidOut(found)) all += piece;
  return all;
}

/** A <code> with the text as it came. */
function plainElement(text) {
  const code = el("code", {}, visible(text.slice(0, SHOWN)));
  if (text.length > SHOWN) code.append(unshown(text.length - SHOWN));
  return code;
}

/** A <code> with the text laid out and coloured, if it is JSON. */
function jsonElement(text) {
  const found = tokens(text);
  if (found === null) return plainElement(text);
  const code = el("code");
  let length = 0;
  for (const [kind, piece] of laidOut(found)) {
    const shown = piece.slice(0, Math.max(0, SHOWN - length));
    length += piece.length;
    if (kind === "space" || kind === "mark") code.append(shown);
    else if (shown) code.append(el("span", { class: kind }, visible(shown)));
  }
  code.normalize();
  if (length > SHOWN) code.append(unshown(length - SHOWN));
  return code;
}

const unshown = (characters) => ` … ${count(characters, "more character")}, which can be copied`;
