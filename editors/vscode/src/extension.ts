/** The extension: it starts the server, hands it the settings, and shows how it is. */

import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, State, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

import { measuring } from "./measuring";
import { interpreter, whenChosen } from "./python";
import { NotFound, program, serving, type Wishes } from "./server";
import { forServer, type Given } from "./settings";

const SECTION = "tflint-perf";
const MEASURED = "measured";
const SELECTOR = ["file", "untitled", "vscode-notebook-cell"].map((scheme) => ({ scheme, language: "python" }));

let session: Session | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  session = new Session(context);
  await session.begin();
}

export async function deactivate(): Promise<void> {
  await session?.stop();
}

class Session {
  private readonly log = vscode.window.createOutputChannel("tflint-perf", { log: true });
  private readonly status = vscode.window.createStatusBarItem("tflint-perf", vscode.StatusBarAlignment.Right, 10);
  private client: LanguageClient | undefined;
  /** The last start or stop, which the next one waits for. */
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly context: vscode.ExtensionContext) {
    this.status.name = "tflint-perf";
    this.status.command = "tflint-perf.showLogs";
  }

  async begin(): Promise<void> {
    const commands: [string, () => unknown][] = [
      ["restart", () => this.restart()],
      ["showLogs", () => this.log.show()],
      ["measure", () => this.measure()],
      ["forgetMeasured", () => this.useMeasured(undefined)],
    ];
    this.context.subscriptions.push(
      this.log,
      this.status,
      ...commands.map(([name, work]) => vscode.commands.registerCommand(`tflint-perf.${name}`, () => this.logged(work))),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`${SECTION}.path`) || event.affectsConfiguration(`${SECTION}.arguments`)) {
          void this.restart();
        }
      }),
      await whenChosen(() => void this.restart()),
    );
    await this.restart();
  }

  restart(): Promise<void> {
    this.last = this.last.then(() => this.stopped()).then(() => this.started());
    return this.last;
  }

  stop(): Promise<void> {
    this.last = this.last.then(() => this.stopped());
    return this.last;
  }

  private async started(): Promise<void> {
    this.show("sync~spin", "starting");
    try {
      const wishes = await this.wishes(undefined);
      const found = await program(wishes);
      const { command, args } = serving(found, wishes);
      this.log.info(`starting ${[command, ...args].join(" ")} (from ${found.from})`);
      this.client = this.clientOf({ command, args, options: { ...(wishes.folder && { cwd: wishes.folder }) } });
      this.client.onDidChangeState(({ newState }) => {
        if (newState === State.Running) {
          this.show("check", `${command}, from ${found.from}`);
        } else if (newState === State.Stopped) {
          this.show("error", "the server has stopped");
        }
      });
      await this.client.start();
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      this.log.error(said);
      this.show("error", said);
      if (error instanceof NotFound) {
        void this.tell(said);
      }
    }
  }

  private async stopped(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    await client?.dispose().catch((error: unknown) => this.log.error(String(error)));
  }

  private clientOf(server: ServerOptions): LanguageClient {
    const options: LanguageClientOptions = {
      documentSelector: SELECTOR,
      outputChannel: this.log,
      initializationOptions: { settings: this.settings() },
      diagnosticPullOptions: { onChange: true, onSave: true },
      middleware: {
        workspace: {
          configuration: (asked) => asked.items.map(({ section }) => (section === SECTION ? this.settings() : null)),
        },
      },
    };
    return new LanguageClient(SECTION, "tflint-perf", server, options);
  }

  private async wishes(resource: vscode.Uri | undefined): Promise<Wishes> {
    const settings = vscode.workspace.getConfiguration(SECTION, resource);
    const folder = (resource && vscode.workspace.getWorkspaceFolder(resource)) ?? vscode.workspace.workspaceFolders?.[0];
    return {
      path: settings.get("path", ""),
      arguments: settings.get("arguments", []),
      folder: folder?.uri.fsPath,
      interpreter: await interpreter(resource ?? folder?.uri).catch(() => undefined),
    };
  }

  private settings(): Record<string, unknown> {
    const settings = vscode.workspace.getConfiguration(SECTION);
    const given: Given = {
      run: settings.get("run", "onType"),
      syntaxErrors: settings.get("syntaxErrors", false),
      unsafeFixes: settings.get("unsafeFixes", null),
      configuration: settings.get("configuration", {}),
    };
    return forServer(given, this.context.workspaceState.get<string>(MEASURED));
  }

  /** Run the program in the editor in a terminal, and show what its findings cost there. */
  private async measure(): Promise<void> {
    const notebook = vscode.window.activeNotebookEditor?.notebook;
    const uri = notebook?.uri ?? vscode.window.activeTextEditor?.document.uri;
    if (uri?.scheme !== "file") {
      await this.tell("open the script or notebook to be measured");
      return;
    }
    await (notebook ?? vscode.window.activeTextEditor?.document)?.save();
    const storage = (this.context.storageUri ?? this.context.globalStorageUri).fsPath;
    await fs.mkdir(storage, { recursive: true });
    const record = path.join(storage, "run.json");
    await fs.rm(record, { force: true });
    const wishes = await this.wishes(uri);
    const { command, args } = measuring(await program(wishes), uri.fsPath, record);
    await ended(task(command, args, wishes.folder ?? path.dirname(uri.fsPath)));
    if (await isFile(record)) {
      await this.useMeasured(record);
    } else {
      await this.tell(`nothing was measured of ${path.basename(uri.fsPath)}; the terminal says why`);
    }
  }

  private async useMeasured(record: string | undefined): Promise<void> {
    this.log.info(record === undefined ? "costs are those of the experiments" : `costs are those of ${record}`);
    await this.context.workspaceState.update(MEASURED, record);
    await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
  }

  private async logged(work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      this.log.error(said);
      await this.tell(said);
    }
  }

  private async tell(said: string): Promise<void> {
    const logs = "Show the logs";
    if ((await vscode.window.showWarningMessage(`tflint-perf: ${said}`, logs)) === logs) {
      this.log.show();
    }
  }

  private show(icon: string, tooltip: string): void {
    this.status.text = `$(${icon}) tflint-perf`;
    this.status.tooltip = tooltip;
    this.status.show();
  }
}

function task(command: string, args: string[], cwd: string): vscode.Task {
  const made = new vscode.Task(
    { type: SECTION },
    vscode.TaskScope.Workspace,
    "measure",
    "tflint-perf",
    new vscode.ProcessExecution(command, args, { cwd }),
  );
  made.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true };
  return made;
}

/** Execute a task in a terminal until its process has ended. */
async function ended(made: vscode.Task): Promise<void> {
  const over = new Promise<void>((resolve) => {
    const listener = vscode.tasks.onDidEndTask(({ execution }) => {
      if (execution.task.name === made.name && execution.task.source === made.source) {
        listener.dispose();
        resolve();
      }
    });
  });
  await vscode.tasks.executeTask(made);
  await over;
}

async function isFile(name: string): Promise<boolean> {
  return fs.stat(name).then(
    (found) => found.isFile(),
    () => false,
  );
}
