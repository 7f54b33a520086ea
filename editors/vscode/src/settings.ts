/** What the server is told of the editor's settings. */

export interface Given {
  run: string;
  syntaxErrors: boolean;
  unsafeFixes: boolean | null;
  configuration: Record<string, unknown>;
}

/** The settings as the server reads them; `measured` is the record of a run that was made from here. */
export function forServer(given: Given, measured: string | undefined): Record<string, unknown> {
  const { configuration, ...others } = given;
  // What the user wrote goes before what was measured from here.
  const own = measured === undefined || "measured" in configuration ? {} : { measured };
  return { ...others, ...own, configuration };
}
