// The console in a browser: its connection. The server draws, `paint.js` paints, and `input.js` sends
// what the user does.

import { begin } from "./input.js";
import { frame, measure, size } from "./paint.js";

const page = Object.fromEntries(
  ["screen", "typed", "news", "state", "access", "key", "why"].map((id) => [
    id,
    document.getElementById(id),
  ]),
);

// The times before connecting again, in milliseconds.
const AGAIN = [250, 1000, 2000, 5000];
const STORED = "divisi-key";
const NEWS = 30;

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
      // A hidden page paints nothing, so the server draws nothing for it.
      requestAnimationFrame(() => send({ type: "painted", frame: message.number }));
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

begin({ send, show, reopen, mouse: () => mouse, asksKey: () => asksKey });
measure();
known = String(size());
if (!likes("(pointer: coarse)")) page.typed.focus();
connect();
