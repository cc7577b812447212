/**
 * The README tells what really happens. Its console blocks are run in order on a fresh control plane with the nodes
 * below, and what they print is compared. `UPDATE_README=1 npm test -- readme` writes the real output into it. Other kinds
 * of blocks show no output: test/contract/readme.test.ts.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { verbs } from '../../src/commands/index.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { pluginFolder } from '../cluster/plugin.ts';
import { type RunResult, run } from '../cluster/run.ts';
import { eventually } from './watching.ts';

const README = new URL('../../README.md', import.meta.url);
const CONSOLE = /(?<=^```console\n).*?(?=^```$)/gms;
const FILE = /^```yaml\n# (\S+\.yaml)\n(.*?)^```$/gms;
const MOST_MS = 180_000;

const worker = { 'node-role.kubernetes.io/worker': '' };
const gpu = { 'cloud.example.com/accelerator': 'nvidia' };
const gpuResources = { cpu: '16', memory: '65536000Ki', 'nvidia.com/gpu': '4' };
const NODES: NodeSpec[] = [
  {
    name: 'control-plane-0',
    labels: { 'node-role.kubernetes.io/control-plane': '' },
    taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
  },
  { name: 'gpu-1', labels: gpu, allocatable: gpuResources },
  { name: 'gpu-2', labels: gpu, allocatable: gpuResources },
  { name: 'spare-1' },
  { name: 'worker-1', labels: worker },
  { name: 'worker-2', labels: { ...worker, tier: 'legacy' } },
];

/** What is done elsewhere while a command runs that Ctrl-C ends: each step once its output matches. */
const MEANWHILE: Record<string, [seen: RegExp, then: string][]> = {
  'kubectl nodepool get --watch': [
    [/^worker /m, 'kubectl nodepool create spot --node-selector cloud.example.com/lifecycle=spot'],
    [/^spot +<none>/m, 'kubectl nodepool reconcile spot'],
    [/^spot +200 /m, 'kubectl nodepool delete spot --yes'],
    [/(^spot +200,Deleting .*\n){2}/m, '^C'],
  ],
  'kubectl nodepool reconcile --watch': [
    [/caches have synced/, 'kubectl label node spare-1 node-role.kubernetes.io/worker-'],
    [/ NodeLeft /, 'kubectl taint node gpu-2 nvidia.com/gpu-'],
    [/ NodesUpdated /, 'kubectl label node spare-1 node-role.kubernetes.io/worker='],
    [/ NodeJoined /, '^C'],
  ],
};

const cluster = useCluster({}, started => createNodes(started, NODES));

test('every command prints what the README says', { timeout: MOST_MS }, async () => {
  const readme = await readFile(README, 'utf8');
  const commands = [...readme.matchAll(CONSOLE)].flatMap(([block]) => steps(block)).map(({ command }) => command);
  const pages = globSync('docs/commands/*.md', { cwd: ROOT }).map(page => readFileSync(join(ROOT, page), 'utf8'));
  const shown = [...commands, ...pages];
  const missing = Object.keys(verbs).filter(verb => !shown.some(text => text.includes(`kubectl nodepool ${verb}`)));
  assert.deepEqual(missing, [], 'verbs that neither the README nor a page of docs/commands shows');

  const sh = await shell(cluster(), readme);
  let updated = '';
  let end = 0;
  const [said, happened]: [string[], string[]] = [[], []];
  for (const { 0: block, index } of readme.matchAll(CONSOLE)) {
    const shown: string[] = [];
    for (const { command, output } of steps(block)) {
      const meanwhile = MEANWHILE[command];
      const both = meanwhile === undefined ? await sh.both(command) : await sh.follow(command, meanwhile);
      const printed = both.replace(/[ \t]+$/gm, '').trimEnd();
      const same = normal(printed) === normal(output);
      if (!same) {
        said.push(text(command, output));
        happened.push(text(command, printed));
      }
      shown.push(text(command, same ? output : printed));
    }
    updated += readme.slice(end, index) + shown.join('\n');
    end = index + block.length;
  }
  if (process.env.UPDATE_README === '1') await writeFile(README, updated + readme.slice(end));
  else assert.equal(happened.join('\n'), said.join('\n'), 'the README differs: see the head of this file');
});

test('the role in the README is enough for every verb but install and uninstall', { timeout: MOST_MS }, async () => {
  const sh = await shell(cluster(), await readFile(README, 'utf8'));
  await allowed(sh, 'kubectl nodepool install && kubectl apply -f nodepool-operator.yaml');
  await allowed(sh, 'kubectl create clusterrolebinding operator --clusterrole=nodepool-operator --user=operator');
  const spec = '--handler runc --label a=b --taint c=d:NoSchedule';
  await allowed(sh, `kubectl nodepool create pool ${spec} --nodes spare-1 --reconcile --as operator`);
  await allowed(sh, 'kubectl nodepool edit pool --handler kata --label e=f --as operator');
  await allowed(sh, 'kubectl nodepool diff --as operator', [1]);
  await allowed(sh, 'kubectl nodepool reconcile --as operator');
  await allowed(sh, 'kubectl nodepool edit pool --label e=g --taint c:NoSchedule- --as operator');
  await allowed(sh, 'kubectl nodepool reconcile --as operator');
  for (const verb of ['get', 'describe', 'events', 'version'])
    await allowed(sh, `kubectl nodepool ${verb} --as operator`);
  await allowed(sh, 'kubectl nodepool delete pool --detach-nodes --yes --as operator');
});

interface Shell {
  run(script: string): Promise<RunResult>;
  /** What it prints, stdout and stderr. */
  both(script: string): Promise<string>;
  /** The same of a command that goes on until Ctrl-C, which stands in it as a terminal shows it. */
  follow(command: string, meanwhile: (typeof MEANWHILE)[string]): Promise<string>;
}

/** sh in an empty folder with the README's files, and kubectl with the plugin on the PATH. */
async function shell(running: ControlPlane, readme: string): Promise<Shell> {
  const { kubectl } = await ensureBinaries(['kubectl']);
  const home = join(running.dir, 'readme');
  await mkdir(home, { recursive: true });
  for (const [, name = '', text = ''] of readme.matchAll(FILE)) await writeFile(join(home, name), text);
  const path = [await pluginFolder(running), dirname(kubectl), process.env.PATH].join(delimiter);
  const env = { PATH: path, TMPDIR: process.env.TMPDIR, HOME: home, KUBECONFIG: running.kubeconfig, NO_COLOR: '1' };
  const options = { cwd: home, env };
  const sh = (script: string) => run('sh', ['-c', script], options);
  return {
    run: sh,
    both: async script => (await sh(`exec 2>&1\n${script}`)).stdout,
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
      return printed;
    },
  };
}

async function allowed(sh: Pick<Shell, 'run'>, script: string, codes: number[] = [0]): Promise<void> {
  const { code, stdout, stderr } = await sh.run(script);
  assert.ok(codes.includes(code ?? -1), `${script}: ${code}\n${stdout}${stderr}`);
  assert.doesNotMatch(stderr, /lacks the permission/, script);
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

/** Without what differs from run to run: ages (and so the columns' widths), times, UIDs, ports and versions. */
function normal(output: string): string {
  const lines = output
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replace(/127\.0\.0\.1:\d+/g, 'SERVER')
    .replace(/\bv?\d+\.\d+\.\d+\b/g, 'VERSION')
    .replace(/\b(\d+m)?\d+s\b/g, 'AGE')
    .replace(/(?<=\S) +/g, ' ')
    .trimEnd()
    .split('\n');
  // Events of one instant come in any order.
  const isEvent = (line: string | undefined) => /^ *(AGE )?(Normal|Warning) /.test(line ?? '');
  const sorted: string[] = [];
  for (let at = 0; at < lines.length; ) {
    let end = at + 1;
    if (isEvent(lines[at])) while (isEvent(lines[end])) end++;
    sorted.push(...lines.slice(at, end).sort());
    at = end;
  }
  return sorted.join('\n');
}
