// Sends keys, pastes, clicks and touches as events.

import { cell, picture } from "./paint.js";

const page = Object.fromEntries(
  ["screen", "typed", "key", "buttons", "keyboard"].map((id) => [id, document.getElementById(id)]),
);

// What the events are sent to: the connection, and its state.
let to;

export function begin(connection) {
  to = connection;
}

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
  if (key === "Enter" && to.reopen()) return;
  to.send({ type: "key", key, held: { ctrl: false, alt: false, shift: false, ...more } });
}

document.addEventListener("keydown", (event) => {
  if (to.asksKey() || event.target.closest?.("#buttons, #access") || !isOurs(event)) return;
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
  else if (text) to.send({ type: "paste", text });
});
page.typed.addEventListener("compositionend", (event) => {
  page.typed.value = "";
  if (Array.from(event.data).length === 1) press(event.data);
  else if (event.data) to.send({ type: "paste", text: event.data });
});

document.addEventListener("paste", (event) => {
  if (event.target === page.key) return;
  event.preventDefault();
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (new TextEncoder().encode(text).length > 32768) to.show("the pasted text is too long", true);
  else if (text) to.send({ type: "paste", text });
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
  to.send({ type: "mouse", kind, column, row, held: held({ ...keys(event), key: "" }) });
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
  if (!to.mouse() || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  document.getSelection().removeAllRanges();
  page.screen.setPointerCapture(event.pointerId);
  dragged = at(event);
  point("down", dragged, event);
});

page.screen.addEventListener("mousedown", (event) => {
  // Prevents a selection, and keeps the focus.
  if (to.mouse() && !event.shiftKey && event.button === 0) event.preventDefault();
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
  if (to.reopen()) return;
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
