// The extension: starts `hopwright lsp`, and runs other commands of hopwright as tasks and in terminals.
'use strict';

const path = require('node:path');
const fs = require('node:fs');
const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

/** @type {LanguageClient | undefined} */
let client;

const settings = () => vscode.workspace.getConfiguration('hopwright');
const command = () => settings().get('path', 'hopwright');

/** What the server takes as `initializationOptions`; it asks for changes by `workspace/configuration`. */
function options() {
  return {
    includePaths: settings().get('includePaths', []),
    defines: settings().get('defines', []),
    inlayHints: { fieldOffsets: settings().get('inlayHints.fieldOffsets', true) },
    debounce: settings().get('debounce', 50),
  };
}

async function start() {
  const run = { command: command(), args: ['lsp'], transport: TransportKind.stdio };
  client = new LanguageClient('hopwright', 'P4 (Hopwright)', { run, debug: run }, {
    documentSelector: [{ language: 'p4' }],
    initializationOptions: options(),
    synchronize: { configurationSection: 'hopwright' },
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `The language server \`${command()} lsp\` does not start: ${error.message}`, 'Open Settings');
    if (choice) vscode.commands.executeCommand('workbench.action.openSettings', 'hopwright.path');
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) await running.stop();
}

/** Options of the compiler that the settings stand for. */
function compilerOptions() {
  const includes = settings().get('includePaths', []).flatMap((folder) => ['-I', folder]);
  return [...includes, ...settings().get('defines', []).flatMap((define) => ['-D', define])];
}

/** The program in the active editor, saved. */
async function program() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== 'p4') {
    vscode.window.showInformationMessage('Open a P4 program first.');
    return undefined;
  }
  await editor.document.save();
  return editor.document.fileName;
}

function task(name, args, scope = vscode.TaskScope.Workspace, definition = { type: 'hopwright', file: '' }) {
  const execution = new vscode.ProcessExecution(command(), args);
  const made = new vscode.Task(definition, scope, name, 'hopwright', execution, '$hopwright');
  made.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true };
  return made;
}

function checkTask(definition, scope) {
  const args = ['check', ...compilerOptions(), ...(definition.options ?? []), definition.file];
  const made = task(`check ${path.basename(definition.file)}`, args, scope, definition);
  made.group = vscode.TaskGroup.Build;
  return made;
}

async function check() {
  const file = await program();
  if (file) await vscode.tasks.executeTask(checkTask({ type: 'hopwright', file }));
}

async function ir() {
  const file = await program();
  if (file) await vscode.tasks.executeTask(task(`ir ${path.basename(file)}`, ['ir', ...compilerOptions(), file]));
}

async function stf() {
  const file = await program();
  if (!file) return;
  let test = file.replace(/\.p4$/, '.stf');
  if (!fs.existsSync(test)) {
    const picked = await vscode.window.showOpenDialog({ title: 'Packet test', filters: { 'Packet tests': ['stf'] } });
    if (!picked) return;
    test = picked[0].fsPath;
  }
  await vscode.tasks.executeTask(task(`stf ${path.basename(test)}`, ['stf', ...compilerOptions(), file, test]));
}

async function replay() {
  const file = await program();
  if (!file) return;
  const picked = await vscode.window.showOpenDialog({ title: 'Capture', filters: { Captures: ['pcap'] } });
  if (!picked) return;
  const args = ['replay', ...compilerOptions(), '--in', picked[0].fsPath, '--trace', file];
  await vscode.tasks.executeTask(task(`replay ${path.basename(file)}`, args));
}

async function trace() {
  const server = await vscode.window.showInputBox({ title: 'Where the switch serves P4Runtime', value: '127.0.0.1:9559' });
  if (server) await vscode.tasks.executeTask(task('trace', ['trace', '--server', server]));
}

const taskProvider = {
  async provideTasks() {
    const files = await vscode.workspace.findFiles('**/*.p4', '**/node_modules/**', 200);
    return files.map((uri) => {
      const file = vscode.workspace.asRelativePath(uri);
      return checkTask({ type: 'hopwright', file }, vscode.workspace.getWorkspaceFolder(uri));
    });
  },
  resolveTask(given) {
    return checkTask(given.definition, given.scope);
  },
};

async function activate(context) {
  const commands = {
    check, ir, stf, replay, trace,
    async restart() {
      await stop();
      await start();
    },
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`hopwright.${name}`, run));
  }
  context.subscriptions.push(vscode.tasks.registerTaskProvider('hopwright', taskProvider));
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration(async (change) => {
    if (change.affectsConfiguration('hopwright.path')) await commands.restart();
  }));
  await start();
}

module.exports = { activate, deactivate: stop };
