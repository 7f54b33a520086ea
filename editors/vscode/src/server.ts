/** How the server is started: by a program that was named, by the interpreter that was chosen, or by what is on the PATH. */

import { execFile } from "node:child_process";
import * as path from "node:path";

export interface Command {
  command: string;
  args: string[];
  /** Where it comes from, for people. */
  from: string;
}

export interface Wishes {
  /** The setting `path`: a program, or "". */
  path: string;
  /** The setting `arguments`. */
  arguments: string[];
  /** The folder that a relative `path` begins in. */
  folder: string | undefined;
  /** The interpreter that the Python extension has chosen. */
  interpreter: string | undefined;
}

/** Whether a command ends with success. */
export type Runs = (command: string, args: string[]) => Promise<boolean>;

export class NotFound extends Error {}

/** The command of tflint-perf itself, without its own arguments. */
export async function program(wishes: Wishes, runs: Runs = runsWell): Promise<Command> {
  if (wishes.path) {
    const command = resolved(wishes.path, wishes.folder);
    if (await runs(command, ["--version"])) {
      return { command, args: [], from: "the setting tflint-perf.path" };
    }
    throw new NotFound(`${command}, which the setting tflint-perf.path names, does not run`);
  }
  if (wishes.interpreter) {
    const command = wishes.interpreter;
    if (await runs(command, ["-m", "tflint_perf", "--version"])) {
      return { command, args: ["-m", "tflint_perf"], from: "the chosen interpreter" };
    }
  }
  if (await runs("tflint-perf", ["--version"])) {
    return { command: "tflint-perf", args: [], from: "the PATH" };
  }
  const where = wishes.interpreter ? `neither in ${wishes.interpreter} nor on the PATH` : "not on the PATH";
  throw new NotFound(`tflint-perf is ${where}: pip install 'tflint-perf[lsp]', or set tflint-perf.path`);
}

/** The command that serves an editor. */
export function serving(found: Command, wishes: Wishes): Command {
  return { ...found, args: [...found.args, "server", ...wishes.arguments] };
}

/** A path as the setting has it: what begins with `~` or is relative, made absolute; a bare name is left to the PATH. */
export function resolved(given: string, folder: string | undefined, home = process.env["HOME"] ?? ""): string {
  const whole = given.replace("${workspaceFolder}", folder ?? "").replace(/^~(?=[\\/])/, home);
  const isName = !whole.includes("/") && !whole.includes(path.sep);
  return isName || path.isAbsolute(whole) || folder === undefined ? whole : path.join(folder, whole);
}

function runsWell(command: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 60_000 }, (error) => resolve(error === null));
  });
}
