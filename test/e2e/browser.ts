/** A Chromium of the machine, without a window: some tests look at a page in it, and are skipped where there is none. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from '../cluster/run.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Its path, in CHROMIUM or the PATH. */
function chromiumPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.flatMap(folder => NAMES.map(name => join(folder, name))).find(path => existsSync(path));
  return process.env.CHROMIUM ?? found;
}

/** For `skip`. */
export const NO_BROWSER =
  chromiumPath() === undefined && 'there is no Chromium: install one (on Debian the package chromium), or set CHROMIUM';

/** Runs it on a page; returns its stdout. @param profile a folder of its own */
export async function chromium(page: string, profile: string, ...flags: string[]): Promise<string> {
  const path = chromiumPath() ?? '';
  const fixed = ['--headless', '--disable-gpu', '--no-first-run', `--user-data-dir=${profile}`];
  // Root has no sandbox; the page is one that the test wrote.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const { code, stdout, stderr } = await run(path, [...fixed, ...sandbox, ...flags, `file://${page}`]);
  if (code !== 0) throw new Error(`${path}: ${code}\n${stderr}`);
  return stdout;
}
