/** The parts of the extension that need no editor. */

import assert from "node:assert/strict";
import test from "node:test";

import { measuring } from "../src/measuring";
import { NotFound, program, resolved, serving, type Runs, type Wishes } from "../src/server";
import { forServer } from "../src/settings";

const NOTHING: Wishes = { path: "", arguments: [], folder: "/project", interpreter: undefined };
const GIVEN = { run: "onType", syntaxErrors: false, unsafeFixes: null, configuration: {} };

/** A machine on which these programs run well. */
function machine(...good: string[]): Runs {
  return (command, args) => Promise.resolve(good.includes([command, ...args.slice(0, -1)].join(" ")));
}

test("the setting goes before the interpreter and the PATH", async () => {
  const wishes = { ...NOTHING, path: ".venv/bin/tflint-perf", interpreter: "/usr/bin/python3" };
  const found = await program(wishes, machine("/project/.venv/bin/tflint-perf", "/usr/bin/python3 -m tflint_perf", "tflint-perf"));
  assert.deepEqual([found.command, found.args], ["/project/.venv/bin/tflint-perf", []]);
});

test("a setting that names no program is said, and nothing else is taken instead", async () => {
  const wishes = { ...NOTHING, path: "/no/such", interpreter: "/usr/bin/python3" };
  await assert.rejects(program(wishes, machine("tflint-perf")), (error) => error instanceof NotFound && /\/no\/such/.test(error.message));
});

test("the chosen interpreter goes before the PATH", async () => {
  const wishes = { ...NOTHING, interpreter: "/env/bin/python" };
  const found = await program(wishes, machine("/env/bin/python -m tflint_perf", "tflint-perf"));
  assert.deepEqual([found.command, found.args], ["/env/bin/python", ["-m", "tflint_perf"]]);
});

test("the PATH serves where the interpreter has no tflint-perf, or there is none", async () => {
  for (const interpreter of ["/env/bin/python", undefined]) {
    const found = await program({ ...NOTHING, interpreter }, machine("tflint-perf"));
    assert.deepEqual([found.command, found.args], ["tflint-perf", []]);
  }
});

test("what is missing is said with how to get it", async () => {
  await assert.rejects(program({ ...NOTHING, interpreter: "/env/bin/python" }, machine()), /\/env\/bin\/python.*pip install 'tflint-perf\[lsp\]'/);
  await assert.rejects(program(NOTHING, machine()), /not on the PATH/);
});

test("a program that is really there is found, and one that is not is not", async () => {
  const node = process.execPath;
  assert.equal((await program({ ...NOTHING, path: node })).command, node);
  await assert.rejects(program({ ...NOTHING, path: `${node}-that-is-not-there` }));
});

test("the server gets the arguments of the setting behind its own", () => {
  const wishes = { ...NOTHING, arguments: ["--isolated"] };
  const found = { command: "python", args: ["-m", "tflint_perf"], from: "" };
  assert.deepEqual(serving(found, wishes).args, ["-m", "tflint_perf", "server", "--isolated"]);
});

test("paths are made absolute, bare names are left to the PATH", () => {
  assert.equal(resolved("tflint-perf", "/project"), "tflint-perf");
  assert.equal(resolved("bin/tflint-perf", "/project"), "/project/bin/tflint-perf");
  assert.equal(resolved("bin/tflint-perf", undefined), "bin/tflint-perf");
  assert.equal(resolved("/bin/tflint-perf", "/project"), "/bin/tflint-perf");
  assert.equal(resolved("${workspaceFolder}/x", "/project"), "/project/x");
  assert.equal(resolved("~/x", "/project", "/home/me"), "/home/me/x");
});

test("what was measured is handed on, unless the user names a record", () => {
  assert.deepEqual(forServer(GIVEN, undefined), GIVEN);
  assert.deepEqual(forServer(GIVEN, "/s/run.json"), { ...GIVEN, measured: "/s/run.json" });
  const own = { ...GIVEN, configuration: { measured: "mine.json" } };
  assert.deepEqual(forServer(own, "/s/run.json"), own);
});

test("a program is measured by the same tflint-perf that lints it", () => {
  const found = { command: "python", args: ["-m", "tflint_perf"], from: "" };
  assert.deepEqual(measuring(found, "/project/a b.py", "/s/run.json"), {
    command: "python",
    args: ["-m", "tflint_perf", "run", "-o", "/s/run.json", "/project/a b.py"],
  });
});
