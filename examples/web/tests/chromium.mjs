// A browser without a window, spoken to over a pipe (the Chrome DevTools protocol): no driver, no other package.

import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** `CHROMIUM`, or the first of the usual names on the path. */
export const browser = () => {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
  return process.env.PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name))).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
};

/** Opens an address in a browser of its own. */
export const open = async (address, { width, height, dark = false }) => {
  const profile = mkdtempSync(join(tmpdir(), "chromium-"));
  const child = spawn(browser(), [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--remote-debugging-pipe",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-features=IsolateSandboxedIframes", // so that frames are seen from one place
    `--user-data-dir=${profile}`, "about:blank",
  ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const [input, output] = [child.stdio[3], child.stdio[4]];
  const waiting = new Map(), complaints = [], requests = [];
  let contexts = [], next = 0, rest = "", loaded = () => {};

  const hear = ({ id, method, params, result, error }) => {
    if (id) {
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    }
    if (method === "Page.loadEventFired") loaded();
    if (method === "Runtime.executionContextCreated") contexts.push(params.context);
    if (method === "Runtime.executionContextDestroyed") contexts = contexts.filter((context) => context.id !== params.executionContextId);
    if (method === "Runtime.executionContextsCleared") contexts = [];
    if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) complaints.push(params.args.map(({ value, description }) => value ?? description).join(" "));
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) complaints.push(params.entry.text);
    if (method === "Network.requestWillBeSent") requests.push(params.request.url);
  };
  output.setEncoding("utf8");
  output.on("data", (piece) => {
    const messages = (rest + piece).split("\0");
    rest = messages.pop();
    messages.map((message) => JSON.parse(message)).forEach(hear);
  });
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    waiting.set(++next, { resolve, reject });
    input.write(`${JSON.stringify({ id: next, method, params, sessionId })}\0`);
  });

  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const tell = (method, params) => send(method, params, sessionId);
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await tell(`${domain}.enable`);
  await tell("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  await tell("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  const load = new Promise((resolve) => (loaded = resolve));
  await tell("Page.navigate", { url: address });
  await load;

  /** The value of an expression in the page, or in the frame inside it. */
  const evaluate = async (expression, { inFrame = false } = {}) => {
    const { frameTree } = await tell("Page.getFrameTree");
    const frame = inFrame ? frameTree.childFrames?.[0]?.frame.id : frameTree.frame.id;
    const context = contexts.findLast(({ auxData }) => auxData?.frameId === frame && auxData.isDefault);
    if (!context) throw new Error("no such frame");
    const { result, exceptionDetails } = await tell("Runtime.evaluate", { expression, contextId: context.id, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  /** Waits until an expression holds. */
  const until = async (expression, options) => {
    const end = Date.now() + 60_000;
    while (!(await evaluate(expression, options).catch(() => false))) {
      if (Date.now() > end) throw new Error(`never came true: ${expression}`);
      await new Promise((resume) => setTimeout(resume, 25));
    }
  };
  const key = async (name, text) => {
    for (const type of ["keyDown", "keyUp"]) await tell("Input.dispatchKeyEvent", { type, key: name, code: name, text: type === "keyDown" ? text : undefined, windowsVirtualKeyCode: { Tab: 9, Enter: 13, " ": 32 }[name] });
  };
  const click = async (x, y) => {
    for (const type of ["mousePressed", "mouseReleased"]) await tell("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  };
  const paste = (text) => tell("Input.insertText", { text });
  const screenshot = async () => Buffer.from((await tell("Page.captureScreenshot", { captureBeyondViewport: false })).data, "base64");
  const close = async () => {
    send("Browser.close").catch(() => {});
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { evaluate, until, key, click, paste, screenshot, close, complaints, requests };
};
