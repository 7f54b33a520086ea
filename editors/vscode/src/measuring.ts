/** The command that runs a program and writes down what its findings cost. */

import type { Command } from "./server";

export interface Measuring {
  command: string;
  args: string[];
}

export function measuring(found: Command, file: string, record: string): Measuring {
  return { command: found.command, args: [...found.args, "run", "-o", record, file] };
}
