/**
 * Runs the console blocks of a page in order and compares their output, or writes it into the page with
 * `UPDATE_PAGES=1`. A line `…` stands for any lines.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { ROOT } from '../../scripts/root.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { pluginFolder } from '../cluster/plugin.ts';
import { type RunResult, run } from '../cluster/run.ts';
import { eventually } from './watching.ts';

const CONSOLE = /(?<=^```console\n).*?(?=^```$)/gms;
const SCREEN = /(?<=^```text\n).*?(?=^```$)/gms;
const FILE = /^```yaml\n# (\S+\.yaml)\n(.*?)^```$/gms;
/** The home folder in the pages. */
const HOME = '/home/ann';

/** Steps beside a command that Ctrl-C ends: each runs once the output matches. */
export type Meanwhile = Record<string, [seen: RegExp, then: string][]>;

export interface Shell {
  run(script: string): Promise<RunResult>;
  /** Runs a command line; returns stdout and stderr. */
  both(script: string): Promise<string>;
  /** The same for a command that runs until Ctrl-C; the output has `^C` as a terminal shows it. */
  follow(command: string, meanwhile: Meanwhile[string]): Promise<string>;
}

/** @param page path in the repository */
export function readPage(page: string): Promise<string> {
  return readFile(join(ROOT, page), 'utf8');
}

/** A shell with its own home, the page's files, a kubeconfig, and kubectl and the plugin in PATH. */
export async function pageShell(running: ControlPlane, text: string): Promise<Shell> {
  const { kubectl } = await ensureBinaries(['kubectl']);
  const home = join(running.dir, 'page');
  await mkdir(join(home, '.kube'), { recursive: true });
  await copyFile(running.kubeconfig, join(home, '.kube/config'));
  for (const [, name = '', content = ''] of text.matchAll(FILE)) await writeFile(join(home, name), content);
  const path = [await pluginFolder(running), dirname(kubectl), process.env.PATH].join(delimiter);
  const env = { PATH: path, TMPDIR: process.env.TMPDIR, HOME: home, NO_COLOR: '1' };
  const options = { cwd: home, env };
  const sh = (script: string) => run('sh', ['-c', script], options);
  return {
    run: sh,
    both: async script => (await sh(`exec 2>&1\n${script}`)).stdout.replaceAll(home, HOME),
    async follow(command, meanwhile) {
      const child = spawn('sh', ['-c', `exec 2>&1\nexec ${command}`], {
        ...options,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const closed = once(child, 'close');
      let printed = '';
      child.stdout.setEncoding('utf8').on('data', text => {
        printed += text;
      });
      try {
        for (const [seen, then] of meanwhile) {
          await eventually(`${command}: ${seen}`, () => seen.test(printed));
          if (then !== '^C') await allowed({ run: sh }, then);
        }
        printed += '^C\n';
        child.kill('SIGINT');
        await closed;
      } finally {
        child.kill('SIGKILL');
      }
      return printed.replaceAll(home, HOME);
    },
  };
}

/** Runs a page's console blocks and compares; `meanwhile` by command. */
export async function followPage(page: string, sh: Shell, meanwhile: Meanwhile = {}): Promise<void> {
  const before = await readPage(page);
  let updated = '';
  let end = 0;
  const [said, happened]: [string[], string[]] = [[], []];
  for (const { 0: block, index } of before.matchAll(CONSOLE)) {
    const shown: string[] = [];
    for (const { command, output } of steps(block)) {
      const elsewhere = meanwhile[command];
      const both = elsewhere === undefined ? await sh.both(command) : await sh.follow(command, elsewhere);
      const printed = both.replace(/[ \t]+$/gm, '').trimEnd();
      const same = isShown(printed, output);
      if (!same) {
        said.push(text(command, output));
        happened.push(text(command, printed));
      }
      shown.push(text(command, same ? output : printed));
    }
    updated += before.slice(end, index) + shown.join('\n');
    end = index + block.length;
  }
  if (process.env.UPDATE_PAGES === '1') await writeFile(join(ROOT, page), updated + before.slice(end));
  else assert.equal(happened.join('\n'), said.join('\n'), `${page} differs: see the head of test/e2e/page.ts`);
}

/** Compares a page's `text` blocks in order with the screens of a terminal; `UPDATE_PAGES=1` writes them. */
export async function followScreens(page: string, screens: readonly string[]): Promise<void> {
  const before = await readPage(page);
  const said = [...before.matchAll(SCREEN)].map(([block]) => normal(block));
  const isUpdate = process.env.UPDATE_PAGES === '1' && said.length === screens.length;
  if (!isUpdate) assert.deepEqual(said, screens.map(normal), `${page} differs: see the head of test/e2e/page.ts`);
  let at = 0;
  const updated = before.replace(SCREEN, block => {
    const screen = screens[at++] ?? '';
    return normal(block) === normal(screen) ? block : `${screen.trimEnd()}\n`;
  });
  if (isUpdate) await writeFile(join(ROOT, page), updated);
}

/** Runs a command line that must exit with one of these codes. */
export async function allowed(sh: Pick<Shell, 'run'>, script: string, codes: number[] = [0]): Promise<void> {
  const { code, stdout, stderr } = await sh.run(script);
  assert.ok(codes.includes(code ?? -1), `${script}: ${code}\n${stdout}${stderr}`);
  assert.doesNotMatch(stderr, / may not /, script);
}

interface Step {
  command: string;
  output: string;
}

/** A line that begins with `$ ` is a command, with the lines that a backslash at the end adds; the rest is output. */
function steps(block: string): Step[] {
  const found: Step[] = [];
  for (const [, command = '', output = ''] of block.matchAll(/^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm)) {
    found.push({ command, output: output.trimEnd() });
  }
  return found;
}

function text(command: string, output: string): string {
  return `$ ${command}\n${output === '' ? '' : `${output}\n`}`;
}

/** Whether the page's output is the printed one, with `…` for omitted lines. */
function isShown(printed: string, shown: string): boolean {
  const parts = `${normal(shown)}\n`.split(/^ *…\n/m);
  const pattern = parts.map(part => RegExp.escape(part)).join('(?:[^]*\\n)?');
  return new RegExp(`^${pattern}$`).test(`${normal(printed)}\n`);
}

/** Replaces what differs between runs: ages (and so column widths), times, UIDs, ports and versions. */
function normal(output: string): string {
  const lines = output
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replace(/127\.0\.0\.1:\d+/g, 'SERVER')
    .replace(/\bv?\d+\.\d+\.\d+\b/g, 'VERSION')
    .replace(/\b(\d+m)?\d+s\b/g, 'AGE')
    .replace(/\b\d+ ms\b/g, 'TOOK')
    .replace(/(?<=\S) +/g, ' ')
    .trimEnd()
    .split('\n');
  // Events of the same time have no order.
  const isEvent = (line: string | undefined) =>
    /^ *(AGE )?(Normal|Warning) |^AGE (Node|Rollout|RuntimeClass)\w+ kubectl-nodepool /.test(line ?? '');
  const sorted: string[] = [];
  for (let at = 0; at < lines.length; ) {
    let end = at + 1;
    if (isEvent(lines[at])) while (isEvent(lines[end])) end++;
    sorted.push(...lines.slice(at, end).sort());
    at = end;
  }
  return sorted.join('\n');
}
