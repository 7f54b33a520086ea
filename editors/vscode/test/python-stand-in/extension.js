// In place of the Python extension, which the npm registry does not have: the part of its interface that is used.
const vscode = require("vscode");

exports.activate = () => {
  const chosen = new vscode.EventEmitter();
  vscode.workspace.onDidChangeConfiguration(() => chosen.fire({}));
  const path = () => vscode.workspace.getConfiguration("python").get("standIn");
  return {
    ready: Promise.resolve(),
    environments: {
      getActiveEnvironmentPath: () => ({ id: path(), path: path() }),
      resolveEnvironment: async (environment) => ({ executable: { uri: vscode.Uri.file(environment.path) } }),
      onDidChangeActiveEnvironmentPath: chosen.event,
    },
  };
};
