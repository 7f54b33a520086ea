/** The interpreter that the Python extension has chosen, by its public interface. */

import * as vscode from "vscode";

const ID = "ms-python.python";

interface Environment {
  executable: { uri?: vscode.Uri };
}

/** What is used of the interface of ms-python.python. */
interface Python {
  ready?: Promise<void>;
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { id: string; path: string };
    resolveEnvironment(environment: { id: string; path: string }): Promise<Environment | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function python(): Promise<Python | undefined> {
  const extension = vscode.extensions.getExtension<Python>(ID);
  if (extension === undefined) {
    return undefined;
  }
  const found = extension.isActive ? extension.exports : await extension.activate();
  await found?.ready;
  return found?.environments === undefined ? undefined : found;
}

/** The path of the chosen interpreter; undefined without the Python extension. */
export async function interpreter(resource: vscode.Uri | undefined): Promise<string | undefined> {
  const found = await python();
  if (found === undefined) {
    return undefined;
  }
  const active = found.environments.getActiveEnvironmentPath(resource);
  return (await found.environments.resolveEnvironment(active))?.executable.uri?.fsPath;
}

/** Do something when another interpreter is chosen. */
export async function whenChosen(work: () => void): Promise<vscode.Disposable> {
  const found = await python();
  return found?.environments.onDidChangeActiveEnvironmentPath(work) ?? new vscode.Disposable(() => undefined);
}
