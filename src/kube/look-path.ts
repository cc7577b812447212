/** Looks up a command like Go's exec.LookPath, which kubectl uses for plugins. */
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

type Env = Record<string, string | undefined>;

/** As Go, does not run a command that PATH finds in the current folder: anybody may have put it there. */
export type CommandLookup = { path: string } | { missing: true } | { inCurrentFolder: string };

/** Looks up a command without a separator in PATH. @param env of this process: as Go, not the plugin's */
export function lookPath(command: string, env: Env, platform = process.platform): CommandLookup {
  const windows = platform === 'win32';
  const endings = windows ? endingsOf(command, env) : [''];
  const isPath = windows ? /[\\/:]/.test(command) : command.includes('/');
  if (isPath) return firstOf([command], endings, windows) ?? { missing: true };
  const folders = (env.PATH ?? env.Path ?? '').split(windows ? ';' : ':');
  const found = firstOf(
    folders.map(folder => path.join(folder, command)),
    endings,
    windows,
  );
  if (found === undefined) return { missing: true };
  return path.isAbsolute(found.path) ? found : { inCurrentFolder: found.path };
}

function firstOf(files: string[], endings: string[], windows: boolean): { path: string } | undefined {
  for (const file of files) {
    const ending = endings.find(one => isProgram(file + one, windows));
    if (ending !== undefined) return { path: file + ending };
  }
  return undefined;
}

function isProgram(file: string, windows: boolean): boolean {
  try {
    if (statSync(file).isDirectory()) return false;
    if (!windows) accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Extensions to try; none if the name already has one. */
function endingsOf(command: string, env: Env): string[] {
  const endings = (env.PATHEXT || '.COM;.EXE;.BAT;.CMD').toLowerCase().split(';').filter(Boolean);
  return endings.some(ending => command.toLowerCase().endsWith(ending)) ? [''] : endings;
}
