// Paints the cells that the server sends. Text from the server is only ever set as text.

const screen = document.getElementById("screen");

// The largest screen that the server draws.
const MOST = { columns: 500, rows: 200 };

// ---- The size of a cell -----------------------------------------------------------------------

export const cell = { width: 8, height: 17, letter: 8 };
const widths = new Map();
const pen = document.createElement("canvas").getContext("2d");

// The box of 100 letters at a size of the font.
function letters(pixels) {
  screen.style.fontSize = `${pixels}px`;
  screen.style.letterSpacing = "0";
  const probe = document.createElement("span");
  probe.className = "probe";
  probe.textContent = "m".repeat(100);
  screen.append(probe);
  const { width, height } = probe.getBoundingClientRect();
  probe.remove();
  return { width: width / 100, height };
}

// Chooses a font whose cells are whole pixels of the display, so that neighbouring blocks meet.
export function measure() {
  const pixels = parseFloat(getComputedStyle(document.body).fontSize);
  const dense = devicePixelRatio;
  const { width } = letters(pixels);
  const whole = Math.max(1, Math.round(width * dense)) / dense;
  const fitted = letters((pixels * whole) / width);
  screen.style.letterSpacing = `${whole - fitted.width}px`;
  cell.width = whole;
  cell.letter = fitted.width;
  // Less than the font's height: lines of frames meet too.
  cell.height = Math.max(1, Math.floor(fitted.height * dense) / dense);
  document.documentElement.style.setProperty("--row", `${cell.height}px`);
  const font = getComputedStyle(screen);
  pen.font = `${font.fontSize} ${font.fontFamily}`;
  widths.clear();
}

export function size() {
  const box = screen.getBoundingClientRect();
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
export const picture = { columns: 0, rows: [] };

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
  screen.replaceChildren(...lines);
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

// Applies a frame.
export function frame(message) {
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
}
