/** Which file a command's name stands for: the rules of Go's exec.LookPath, by which kubectl finds its plugins. */
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

type Env = Record<string, string | undefined>;

/** A file that was found; or none; or one in the current folder, which is found and not run: it may be anybody's. */
export type Found = { path: string } | { missing: true } | { inCurrentFolder: string };

/**
 * A command with a separator is taken as a path, any other is looked for in the folders of PATH.
 * @param env of this process: that of a plugin may have another PATH, which Go does not look at either
 */
export function lookPath(command: string, env: Env, platform = process.platform): Found {
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

/** A name that has one of these endings already is taken as it is. */
function endingsOf(command: string, env: Env): string[] {
  const endings = (env.PATHEXT || '.COM;.EXE;.BAT;.CMD').toLowerCase().split(';').filter(Boolean);
  return endings.some(ending => command.toLowerCase().endsWith(ending)) ? [''] : endings;
}
