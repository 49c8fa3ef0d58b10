// Opens a browser console in headless Chromium at the sizes of a laptop and of a phone, takes
// screenshots, presses keys, and measures the time from a key to its picture and the traffic.
//
//   divisi serve digits --load poisson:200 --web 127.0.0.1:8003 &
//   node benches/browser/run.mjs http://127.0.0.1:8003/ --out /tmp/shots
//
// --quick leaves the measurements out. The exit code is 1 if a check fails or a bar is missed.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [url, ...options] = process.argv.slice(2);
const quick = options.includes("--quick");
const out = options.includes("--out") ? options[options.indexOf("--out") + 1] : tmpdir();
const BARS = { latency: 50, traffic: 200 };
const LIMIT = 100_000;

const profile = mkdtempSync(join(tmpdir(), "divisi-browser-"));
const FLAGS = [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`,
];
const chromium = spawn("chromium", [...FLAGS, "about:blank"], {
  stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
});
// A profile in use cannot be removed, so the browser ends first.
const ended = new Promise((resolve) => chromium.on("exit", resolve));
async function end(code) {
  for (const pipe of chromium.stdio) pipe?.removeAllListeners().on("error", () => {});
  chromium.kill("SIGKILL");
  await ended;
  try {
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  } catch {
    // A process of the browser may still write there; a folder of temporary files may stay.
  }
  process.exit(code);
}
async function fail(why) {
  console.error(`FAILED: ${why}`);
  await end(1);
}
process.on("uncaughtException", (error) => fail(error.stack));
chromium.on("error", (error) => fail(error.message));
setTimeout(() => fail("no end in time"), LIMIT).unref();

// ---- The protocol of the browser: messages that end in a zero byte -------------------------------

const waiting = new Map();
const listeners = [];
let number = 0;
let rest = "";
chromium.stdio[4].setEncoding("utf8").on("data", (text) => {
  const parts = (rest + text).split("\0");
  rest = parts.pop();
  for (const part of parts) take(JSON.parse(part));
});

function take(message) {
  if (message.id) {
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) reject(new Error(message.error.message));
    else resolve(message.result);
  } else for (const listener of listeners) listener(message);
}

function call(method, params = {}, sessionId) {
  const id = ++number;
  chromium.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function page(device) {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  const tell = (method, params) => call(method, params, sessionId);
  const problems = [];
  const traffic = { bytes: 0, frames: 0 };
  listeners.push(({ method, params, sessionId: from }) => {
    if (from !== sessionId) return;
    if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(params.entry.text);
    if (method === "Network.webSocketFrameReceived") {
      traffic.bytes += Buffer.byteLength(params.response.payloadData);
      if (params.response.payloadData.startsWith('{"type":"frame"')) traffic.frames += 1;
    }
  });
  for (const domain of ["Runtime", "Log", "Network", "Page"]) await tell(`${domain}.enable`);
  await tell("Emulation.setFocusEmulationEnabled", { enabled: true });
  const at = { tell, problems, traffic, targetId };
  at.evaluate = async (expression) => {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await tell("Runtime.evaluate", options);
    if (exceptionDetails) await fail(`${expression}: ${exceptionDetails.exception?.description}`);
    return result.value;
  };
  at.until = async (expression) => {
    while (!(await at.evaluate(expression))) await pause(20);
  };
  at.resize = (width, height) =>
    tell("Emulation.setDeviceMetricsOverride", { ...device, width, height });
  at.key = async (key, more = {}) => {
    const text = key.length === 1 ? key : undefined;
    await tell("Input.dispatchKeyEvent", { type: "keyDown", key, text, ...more });
    await tell("Input.dispatchKeyEvent", { type: "keyUp", key, ...more });
  };
  at.shot = async (name) => {
    const { data } = await tell("Page.captureScreenshot", { format: "png" });
    writeFileSync(join(out, `${name}.png`), Buffer.from(data, "base64"));
    console.log(`screenshot ${join(out, `${name}.png`)}`);
  };
  await at.resize(device.width, device.height);
  if (device.mobile) await tell("Emulation.setTouchEmulationEnabled", { enabled: true });
  if (device.light) {
    const features = [{ name: "prefers-color-scheme", value: "light" }];
    await tell("Emulation.setEmulatedMedia", { features });
  }
  // A page in the background paints nothing.
  await tell("Page.bringToFront");
  await tell("Page.navigate", { url });
  await at.until("document.querySelector('.row span') !== null");
  return at;
}

// ---- Checks --------------------------------------------------------------------------------------

// Every row is as wide as its cells, whatever symbols it has.
const UNEVEN = `(() => {
  const rows = [...document.querySelectorAll(".row")].filter((row) => row.childElementCount > 0);
  const width = (row) => [...row.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0);
  const widths = rows.map(width);
  return Math.max(...widths) - Math.min(...widths);
})()`;
const SIZE = `(() => {
  const box = document.querySelector(".row").getBoundingClientRect();
  const width = [...document.querySelector(".row").children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0);
  const columns = [...document.querySelector(".row").textContent].length;
  return { columns, rows: document.querySelectorAll(".row").length, width: width / columns, height: box.height };
})()`;
const has = (text) => `document.querySelector("#screen").textContent.includes(${JSON.stringify(text)})`;

async function check(at, name) {
  const size = await at.evaluate(SIZE);
  const uneven = await at.evaluate(UNEVEN);
  console.log(`${name}: ${size.columns}×${size.rows} cells of ${size.width.toFixed(2)}×${size.height} px, rows differ by ${uneven.toFixed(2)} px`);
  if (uneven > 2) await fail(`${name}: the rows are not equally wide`);
  if (size.columns < 40 || size.rows < 12) await fail(`${name}: too small`);
  if (at.problems.length) await fail(`${name}: ${at.problems.join("; ")}`);
}

const LAPTOP = { width: 1440, height: 900, deviceScaleFactor: 1, mobile: false };
const PHONE = { width: 390, height: 844, deviceScaleFactor: 3, mobile: true };

async function laptop() {
  const at = await page(LAPTOP);
  await pause(quick ? 0 : 3000);
  await check(at, "laptop");
  await at.shot("laptop");
  await at.key("?");
  await at.until(has("all commands"));
  await at.shot("laptop-help");
  await at.key("Escape");
  await at.until(`!document.querySelector("#state").textContent`);
  const said = await at.evaluate(`document.querySelector("#news").childElementCount`);
  if (said === 0) await fail("nothing was said to screen readers");
  return at;
}

async function phone() {
  const at = await page(PHONE);
  await pause(quick ? 0 : 1000);
  await check(at, "phone");
  await at.shot("phone");
  const button = await at.evaluate(`(() => {
    const box = document.querySelector('[data-key="?"]').getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  })()`);
  await at.tell("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [button] });
  await at.tell("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await at.until(has("all commands"));
  await at.shot("phone-help");
  await call("Target.closeTarget", { targetId: at.targetId });
}

async function light() {
  const at = await page({ ...LAPTOP, light: true });
  await check(at, "light");
  await at.shot("light");
  await call("Target.closeTarget", { targetId: at.targetId });
}

// ---- Measurements --------------------------------------------------------------------------------

// Types into the palette. Each key has a picture of its own: one more letter.
const KEYS = `(async () => {
  const screen = document.querySelector("#screen");
  const times = [];
  for (let count = 1; count <= 40; count++) {
    const key = "zq"[count % 2];
    const typed = "qzqzqzqzqzqzqzqzqzqzqzqzqzqzqzqzqzqzqzqz".slice(0, count);
    const began = performance.now();
    const painted = new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        if (!screen.textContent.includes(typed)) return;
        observer.disconnect();
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => resolve(performance.now());
          port2.postMessage(0);
        });
      });
      observer.observe(screen, { childList: true, subtree: true });
    });
    document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    times.push((await painted) - began);
    await new Promise((resolve) => setTimeout(resolve, 40 + (count * 7) % 50));
  }
  return times;
})()`;

async function latency(at) {
  await at.key(":");
  await pause(500);
  const times = (await at.evaluate(KEYS)).sort((a, b) => a - b);
  await at.key("Escape");
  const part = (share) => times[Math.floor(times.length * share)];
  console.log(`key to paint: p50 ${part(0.5).toFixed(1)} ms, p90 ${part(0.9).toFixed(1)} ms, max ${times.at(-1).toFixed(1)} ms (${times.length} keys; bar: p50 ≤ ${BARS.latency} ms)`);
  if (part(0.5) > BARS.latency) missed.push("key to paint");
}

async function traffic(at) {
  const { width, height } = await at.evaluate(SIZE);
  await at.resize(Math.ceil(200 * width) + 1, Math.ceil(60 * height) + 1);
  await at.until(`document.querySelectorAll(".row").length === 60`);
  await pause(2000);
  const before = { ...at.traffic };
  const began = performance.now();
  await pause(10_000);
  const seconds = (performance.now() - began) / 1000;
  const rate = (at.traffic.bytes - before.bytes) / 1000 / seconds;
  const frames = (at.traffic.frames - before.frames) / seconds;
  const { columns, rows } = await at.evaluate(SIZE);
  console.log(`traffic at ${columns}×${rows}: ${rate.toFixed(1)} kB/s at ${frames.toFixed(1)} frames/s (bar: ≤ ${BARS.traffic} kB/s)`);
  await at.shot("wide");
  if (rate > BARS.traffic) missed.push("traffic");
}

// The bars that were missed.
const missed = [];
const at = await laptop();
await phone();
await light();
if (!quick) {
  await at.tell("Page.bringToFront");
  await latency(at);
  await at.tell("Page.bringToFront");
  await traffic(at);
}
if (missed.length) await fail(`missed: ${missed.join(", ")}`);
console.log("ok");
await end(0);
