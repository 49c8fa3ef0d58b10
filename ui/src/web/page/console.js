// Paints the console that the server draws, and sends what the user does. Text from the server is
// only ever set as text.
"use strict";

const page = Object.fromEntries(
  ["screen", "typed", "news", "state", "access", "key", "why", "buttons", "keyboard"].map((id) => [
    id,
    document.getElementById(id),
  ]),
);

// The largest screen that the server draws.
const MOST = { columns: 500, rows: 200 };
// The times before connecting again, in milliseconds.
const AGAIN = [250, 1000, 2000, 5000];
const STORED = "divisi-key";
const NEWS = 30;

// ---- The size of a cell -----------------------------------------------------------------------

const cell = { width: 8, height: 17, letter: 8 };
const widths = new Map();
const pen = document.createElement("canvas").getContext("2d");

// The box of 100 letters at a size of the font.
function letters(pixels) {
  page.screen.style.fontSize = `${pixels}px`;
  page.screen.style.letterSpacing = "0";
  const probe = document.createElement("span");
  probe.className = "probe";
  probe.textContent = "m".repeat(100);
  page.screen.append(probe);
  const { width, height } = probe.getBoundingClientRect();
  probe.remove();
  return { width: width / 100, height };
}

// Chooses a font whose cells are whole pixels of the display, so that neighbouring blocks meet.
function measure() {
  const pixels = parseFloat(getComputedStyle(document.body).fontSize);
  const dense = devicePixelRatio;
  const { width } = letters(pixels);
  const whole = Math.max(1, Math.round(width * dense)) / dense;
  const fitted = letters((pixels * whole) / width);
  page.screen.style.letterSpacing = `${whole - fitted.width}px`;
  cell.width = whole;
  cell.letter = fitted.width;
  // Less than the font's height: lines of frames meet too.
  cell.height = Math.max(1, Math.floor(fitted.height * dense) / dense);
  document.documentElement.style.setProperty("--row", `${cell.height}px`);
  const font = getComputedStyle(page.screen);
  pen.font = `${font.fontSize} ${font.fontFamily}`;
  widths.clear();
}

function size() {
  const box = page.screen.getBoundingClientRect();
  const fit = (length, part, most) => Math.max(1, Math.min(most, Math.floor(length / part)));
  return [fit(box.width, cell.width, MOST.columns), fit(box.height, cell.height, MOST.rows)];
}

// Whether a symbol is as wide as a cell. Others come from another font and get a box of their own.
function fits(symbol) {
  if (symbol.length === 1 && symbol >= " " && symbol <= "~") return true;
  let known = widths.get(symbol);
  if (known === undefined) {
    known = Math.abs(pen.measureText(symbol).width - cell.letter) < 0.05;
    widths.set(symbol, known);
  }
  return known;
}

// ---- The picture ------------------------------------------------------------------------------

const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [sheet];
const picture = { columns: 0, rows: [] };

function clear([columns, rows]) {
  picture.columns = columns;
  picture.rows = [];
  const lines = [];
  for (let row = 0; row < rows; row++) {
    const line = document.createElement("div");
    line.className = "row";
    lines.push(line);
    picture.rows.push({ line, symbols: Array(columns).fill(" "), styles: Array(columns).fill(-1) });
  }
  page.screen.replaceChildren(...lines);
}

const CSS = [
  [1, "font-weight:bold"],
  [2, "opacity:.65"],
  [4, "font-style:italic"],
  [8, "text-decoration:underline"],
  [16, "text-decoration:line-through"],
];

function define([number, front, behind, bits]) {
  const rules = CSS.filter(([bit]) => bits & bit).map(([, rule]) => rule);
  if (front) rules.push(`color:${front}`);
  if (behind) rules.push(`background:${behind}`);
  sheet.insertRule(`.s${number}{${rules.join(";")}}`, sheet.cssRules.length);
}

function put([row, column, style, text, wide], changed) {
  const cells = picture.rows[row];
  if (!cells) return;
  const symbols = wide ? [text, ...Array(wide - 1).fill("")] : Array.from(text);
  symbols.forEach((symbol, at) => {
    cells.symbols[column + at] = symbol;
    cells.styles[column + at] = style;
  });
  changed.add(row);
}

// Paints a row: a box for each run of one style, and one for each symbol of another width.
function paint(row) {
  const { line, symbols, styles } = picture.rows[row];
  const parts = [];
  let text = "";
  const flush = (style) => {
    if (text) parts.push(box(style, text));
    text = "";
  };
  for (let at = 0; at < picture.columns; at++) {
    const symbol = symbols[at];
    if (at > 0 && styles[at] !== styles[at - 1]) flush(styles[at - 1]);
    if (symbol === "") continue;
    const wide = symbols[at + 1] === "" ? 2 : 1;
    if (wide === 1 && fits(symbol)) {
      text += symbol;
      continue;
    }
    flush(styles[at]);
    const own = box(styles[at], symbol);
    own.classList.add("own");
    own.style.width = `${cell.width * wide}px`;
    parts.push(own);
  }
  flush(styles[picture.columns - 1]);
  line.replaceChildren(...parts);
}

function box(style, text) {
  const part = document.createElement("span");
  if (style >= 0) part.className = `s${style}`;
  part.textContent = text;
  return part;
}

function frame(message) {
  if (message.ground) {
    const root = document.documentElement.style;
    root.setProperty("--ground", message.ground[0]);
    root.setProperty("--ink", message.ground[1]);
  }
  if (message.size) {
    // Styles begin at 0 again with their first definition.
    if (message.styles?.some(([number]) => number === 0)) sheet.replaceSync("");
    clear(message.size);
  }
  message.styles?.forEach(define);
  const changed = new Set();
  for (const run of message.runs) put(run, changed);
  changed.forEach(paint);
  // A hidden page paints nothing, so the server draws nothing for it.
  requestAnimationFrame(() => send({ type: "painted", frame: message.number }));
}

// ---- The connection ---------------------------------------------------------------------------

let socket = null;
let tries = 0;
let mouse = true;
let over = false;
let asksKey = false;

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function show(text, quiet) {
  page.state.hidden = !text;
  page.state.textContent = text;
  page.state.classList.toggle("quiet", Boolean(quiet));
}

const likes = (query) => matchMedia(query).matches;

function connect() {
  over = false;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const opened = new WebSocket(`${scheme}://${location.host}/socket`);
  socket = opened;
  opened.onopen = () => {
    const hello = {
      key: sessionStorage.getItem(STORED),
      size: size(),
      dark: !likes("(prefers-color-scheme: light)"),
      plain: likes("(forced-colors: active)"),
    };
    opened.send(JSON.stringify(hello));
  };
  opened.onmessage = (event) => {
    if (socket === opened) receive(JSON.parse(event.data));
  };
  opened.onclose = () => {
    if (socket === opened && !over && !asksKey) again();
  };
}

function again() {
  show("connection lost; connecting again …");
  setTimeout(connect, AGAIN[Math.min(tries++, AGAIN.length - 1)]);
}

function receive(message) {
  switch (message.type) {
    case "joined":
      tries = 0;
      show("");
      document.title = message.edits ? message.title : `${message.title} (read-only)`;
      mouse = true;
      break;
    case "frame":
      frame(message);
      break;
    case "say":
      news(message.lines);
      break;
    case "mouse":
      mouse = message.on;
      page.screen.classList.toggle("still", !mouse);
      break;
    case "bye":
      end("closed; press Enter or tap to open the console again", true);
      break;
    case "refused":
      if (message.key) askKey(message.why);
      else end(`disconnected: ${message.why}; press Enter or tap to connect again`);
      break;
  }
}

function end(text, quiet) {
  over = true;
  show(text, quiet);
}

// Opens the console again after its end. Returns whether it did.
function reopen() {
  if (!over) return false;
  show("connecting …", true);
  connect();
  return true;
}

function news(lines) {
  for (const line of lines) {
    const said = document.createElement("p");
    said.textContent = line;
    page.news.append(said);
  }
  while (page.news.childElementCount > NEWS) page.news.firstElementChild.remove();
}

// ---- The key ----------------------------------------------------------------------------------

function askKey(why) {
  asksKey = true;
  page.why.textContent = sessionStorage.getItem(STORED) ? why : "";
  sessionStorage.removeItem(STORED);
  show("");
  page.access.hidden = false;
  page.key.focus();
}

page.access.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(STORED, page.key.value.trim());
  page.key.value = "";
  page.access.hidden = true;
  asksKey = false;
  page.typed.focus();
  connect();
});

// ---- Keys -------------------------------------------------------------------------------------

// Keys with Ctrl that edit fields, suspend nothing here, or quit. All others are the browser's.
const CONTROL = new Set(["a", "c", "d", "e", "k", "u"]);
const BROWSER = new Set(["F5", "F6", "F11", "F12"]);
const NAMED = /^(Enter|Escape|Tab|Backspace|Delete|Insert|Arrow(Up|Down|Left|Right)|Home|End|Page(Up|Down)|F[1-9]|F10)$/;

function isSelected() {
  return !document.getSelection().isCollapsed;
}

// Returns whether a key is for the console.
function isOurs(event) {
  if (event.metaKey || event.isComposing || BROWSER.has(event.key)) return false;
  if (event.ctrlKey && event.altKey) return event.key.length === 1; // AltGr
  if (event.ctrlKey) {
    if (event.key === "c" && isSelected()) return false;
    return CONTROL.has(event.key) || /^Arrow(Left|Right)$/.test(event.key);
  }
  if (event.altKey && !/^[a-z0-9]$/.test(event.key)) return event.key.length === 1 && event.key > "~";
  return event.key.length === 1 || NAMED.test(event.key);
}

function held(event) {
  const both = event.ctrlKey && event.altKey;
  return { ctrl: event.ctrlKey && !both, alt: event.altKey && !both && event.key.length === 1 && event.key <= "~", shift: event.shiftKey };
}

function press(key, more = {}) {
  if (key === "Enter" && reopen()) return;
  send({ type: "key", key, held: { ctrl: false, alt: false, shift: false, ...more } });
}

document.addEventListener("keydown", (event) => {
  if (asksKey || event.target.closest?.("#buttons, #access") || !isOurs(event)) return;
  event.preventDefault();
  press(event.key, held(event));
});

// Keyboards of phones report text, not keys.
page.typed.addEventListener("input", (event) => {
  const text = event.isComposing ? "" : (event.data ?? "");
  if (event.isComposing) return;
  page.typed.value = "";
  if (event.inputType === "deleteContentBackward") press("Backspace");
  else if (event.inputType === "insertLineBreak") press("Enter");
  else if (Array.from(text).length === 1) press(text);
  else if (text) send({ type: "paste", text });
});
page.typed.addEventListener("compositionend", (event) => {
  page.typed.value = "";
  if (Array.from(event.data).length === 1) press(event.data);
  else if (event.data) send({ type: "paste", text: event.data });
});

document.addEventListener("paste", (event) => {
  if (event.target === page.key) return;
  event.preventDefault();
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (new TextEncoder().encode(text).length > 32768) show("the pasted text is too long", true);
  else if (text) send({ type: "paste", text });
});

for (const button of page.buttons.querySelectorAll("[data-key]")) {
  // The keyboard of a phone stays as it is.
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", () => press(button.dataset.key));
}
page.keyboard.addEventListener("pointerdown", (event) => event.preventDefault());
page.keyboard.addEventListener("click", () => {
  if (document.activeElement === page.typed) page.typed.blur();
  else page.typed.focus();
});

// ---- Mouse and touch --------------------------------------------------------------------------

function at(event) {
  const box = page.screen.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / cell.width);
  const row = Math.floor((event.clientY - box.top) / cell.height);
  const last = picture.rows.length - 1;
  return [Math.max(0, Math.min(picture.columns - 1, column)), Math.max(0, Math.min(last, row))];
}

function point(kind, [column, row], event) {
  send({ type: "mouse", kind, column, row, held: held({ ...keys(event), key: "" }) });
}

function keys({ ctrlKey, altKey, shiftKey }) {
  return { ctrlKey, altKey, shiftKey };
}

let dragged = null;
let touched = null;

page.screen.addEventListener("pointerdown", (event) => {
  if (event.pointerType === "touch") {
    touched = { y: event.clientY, moved: false };
    return;
  }
  page.typed.focus({ preventScroll: true });
  // With Shift, or without the console's mouse, the browser selects text.
  if (!mouse || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  document.getSelection().removeAllRanges();
  page.screen.setPointerCapture(event.pointerId);
  dragged = at(event);
  point("down", dragged, event);
});

page.screen.addEventListener("mousedown", (event) => {
  // Prevents a selection, and keeps the focus.
  if (mouse && !event.shiftKey && event.button === 0) event.preventDefault();
});

page.screen.addEventListener("pointermove", (event) => {
  if (touched && event.pointerType === "touch") {
    const rows = Math.trunc((event.clientY - touched.y) / cell.height);
    if (rows === 0) return;
    touched = { y: touched.y + rows * cell.height, moved: true };
    for (let i = 0; i < Math.abs(rows); i++) point(rows > 0 ? "wheel_up" : "wheel_down", at(event), event);
    return;
  }
  if (!dragged) return;
  const now = at(event);
  if (now[0] === dragged[0] && now[1] === dragged[1]) return;
  dragged = now;
  point("drag", now, event);
});

page.screen.addEventListener("pointerup", (event) => {
  if (reopen()) return;
  if (event.pointerType === "touch") {
    // A tap is a click.
    if (touched && !touched.moved) {
      point("down", at(event), event);
      point("up", at(event), event);
    }
    touched = null;
  } else if (dragged) {
    point("up", at(event), event);
    dragged = null;
  }
});
page.screen.addEventListener("pointercancel", () => {
  touched = null;
  dragged = null;
});

let turned = 0;
page.screen.addEventListener(
  "wheel",
  (event) => {
    if (event.ctrlKey) return; // zoom
    event.preventDefault();
    const part = event.deltaMode === 0 ? cell.height * 2 : 1;
    turned += event.deltaY / part;
    const steps = Math.trunc(turned);
    turned -= steps;
    for (let i = 0; i < Math.min(10, Math.abs(steps)); i++) point(steps < 0 ? "wheel_up" : "wheel_down", at(event), event);
  },
  { passive: false },
);

// ---- The start --------------------------------------------------------------------------------

let known = "";
new ResizeObserver(() => {
  measure();
  const now = size();
  if (String(now) !== known) send({ type: "resize", size: now });
  known = String(now);
}).observe(page.screen);

// Another background or other colours begin a new picture.
for (const query of ["(prefers-color-scheme: light)", "(forced-colors: active)"]) {
  matchMedia(query).addEventListener("change", () => socket?.close());
}

measure();
known = String(size());
if (!likes("(pointer: coarse)")) page.typed.focus();
connect();
