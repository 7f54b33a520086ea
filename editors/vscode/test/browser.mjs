// The extension in VS Code, as its user sees it: `node browser.mjs CODE_SERVER_FOLDER PYTHON PICTURE`.
//
// code-server installs the .vsix, Chromium opens a script with findings, and everything is done by keys. PYTHON is an
// interpreter with tflint-perf, its language server and TensorFlow, which a stand-in for the Python extension has chosen.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { chromium } from "playwright-core";

const [folder, python, picture] = process.argv.slice(2).map((name) => path.resolve(name));
fs.mkdirSync(path.dirname(picture), { recursive: true });
const here = import.meta.dirname;
const PORT = 18_700 + (process.pid % 1000);
const PATIENCE = 180_000;
const SCRIPT = `\
import gc

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()


def train(dataset):
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(images) - labels))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        gc.collect()


train(tf.data.Dataset.from_tensor_slices((tf.zeros((400, 8)), tf.zeros((400, 1)))).batch(4))
`;

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "tflint-perf-vscode-"));
const place = (...names) => path.join(scratch, ...names);
const dirs = ["--user-data-dir", place("data"), "--extensions-dir", place("extensions")];
const codeServer = path.join(folder, "node_modules/code-server/out/node/entry.js");

function prepare() {
  fs.mkdirSync(place("project"));
  fs.mkdirSync(place("data/User"), { recursive: true });
  fs.writeFileSync(place("project/train.py"), SCRIPT);
  fs.writeFileSync(place("project/pyproject.toml"), "");
  const settings = {
    "python.standIn": python,
    "security.workspace.trust.enabled": false,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": false,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "telemetry.telemetryLevel": "off",
    "files.autoSave": "off",
  };
  fs.writeFileSync(place("data/User/settings.json"), JSON.stringify(settings));
  const standIn = place("stand-in.vsix");
  const vsce = path.join(here, "../node_modules/@vscode/vsce/vsce");
  const packing = ["package", "--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", standIn];
  execFileSync(process.execPath, [vsce, ...packing], { cwd: path.join(here, "python-stand-in"), stdio: "pipe" });
  for (const vsix of [standIn, path.join(here, "../dist/tflint-perf.vsix")]) {
    execFileSync(process.execPath, [codeServer, ...dirs, "--install-extension", vsix], { stdio: "pipe" });
  }
}

function serve() {
  const options = ["--auth", "none", "--bind-addr", `127.0.0.1:${PORT}`, "--disable-telemetry", "--disable-update-check"];
  const environment = { ...process.env, XDG_CONFIG_HOME: place("config"), VSCODE_PROXY_URI: "" };
  return spawn(process.execPath, [codeServer, ...dirs, ...options], { stdio: "ignore", env: environment });
}

async function opened(browser) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(PATIENCE);
  const payload = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${PORT}${place("project/train.py")}`]]);
  const url = `http://127.0.0.1:${PORT}/?folder=${place("project")}&payload=${encodeURIComponent(payload)}`;
  for (let tries = 0; ; tries++) {
    try {
      await page.goto(url);
      await page.locator(".monaco-workbench").waitFor({ timeout: 10_000 }); // it answers before it has this page
      return page;
    } catch (error) {
      if (tries > 60) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** Run a command by its title, as with F1. */
async function command(page, title) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").waitFor();
  await page.keyboard.type(title);
  await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: title.split(": ").at(-1) }).waitFor();
  await page.keyboard.press("Enter");
}

async function toRow(page, row) {
  await page.locator(".monaco-editor .view-lines").first().click();
  await page.keyboard.press("Control+g");
  await page.locator(".quick-input-widget input").waitFor();
  await page.keyboard.type(`${row}`);
  await page.keyboard.press("Enter");
}

const problems = (page, text) => page.locator(".markers-panel-container .monaco-list-row", { hasText: text });
const status = (page) => page.locator(".statusbar-item", { hasText: "tflint-perf" });

const STEPS = {
  "findings are shown where they stand": async (page) => {
    await page.locator(".squiggly-warning").first().waitFor();
    await command(page, "View: Focus Problems");
    await problems(page, "the gradient step runs in eager mode").waitFor();
    await problems(page, "walks all Python objects").waitFor();
  },
  "the status item says that the server runs, and by which interpreter": async (page) => {
    await status(page).locator(".codicon-check").waitFor();
    const said = await status(page).first().getAttribute("aria-label");
    assert.match(said, /tflint-perf/);
    await page.screenshot({ path: picture });
  },
  "what is typed counts at once": async (page) => {
    await toRow(page, 15);
    await page.keyboard.press("End");
    await page.keyboard.type("\ngc.collect()");
    await problems(page, "walks all Python objects").nth(1).waitFor();
  },
  "all fixes of a rule are one action": async (page) => {
    await toRow(page, 15);
    await page.keyboard.press("Control+.");
    const rows = page.locator(".action-widget .monaco-list-row.action");
    await rows.filter({ hasText: "Apply all fixes of TFP406" }).waitFor();
    while (!(await rows.filter({ hasText: "Apply all fixes of TFP406" }).getAttribute("class")).includes("focused")) {
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
    await problems(page, "walks all Python objects").first().waitFor({ state: "detached" });
    await problems(page, "the gradient step runs in eager mode").waitFor();
  },
  "the server can be started again": async (page) => {
    await command(page, "tflint-perf: Restart the server");
    await status(page).locator(".codicon-check").waitFor();
    await problems(page, "the gradient step runs in eager mode").waitFor();
  },
  "the logs say what was started": async (page) => {
    await command(page, "tflint-perf: Show the logs");
    await page.locator(".output-view .view-line", { hasText: "starting" }).first().waitFor();
  },
  "a program is measured, and findings say what they cost there": async (page) => {
    await toRow(page, 1);
    await command(page, "tflint-perf: Measure this program");
    await page.locator(".terminal-wrapper").first().waitFor();
    await command(page, "View: Focus Problems");
    await problems(page, "here: ").first().waitFor();
    await page.screenshot({ path: picture.replace(/(\.\w+)$/, "-measured$1") });
  },
  "what was measured can be forgotten": async (page) => {
    await command(page, "tflint-perf: Forget what was measured");
    await problems(page, "here: ").first().waitFor({ state: "detached" });
    await problems(page, "the gradient step runs in eager mode").waitFor();
  },
};

prepare();
const server = serve();
let passed = 0;
let page;
try {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  page = await opened(browser);
  for (const [what, step] of Object.entries(STEPS)) {
    await step(page);
    passed++;
    console.log(`ok: ${what}`);
  }
  await browser.close();
} catch (error) {
  await page?.screenshot({ path: picture.replace(/(\.\w+)$/, "-failed$1") });
  console.error(error);
} finally {
  server.kill();
  fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
}
const failed = passed < Object.keys(STEPS).length ? 1 : 0;
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed);
