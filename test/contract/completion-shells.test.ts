/**
 * The completion scripts in their shells on a terminal: types keys and checks the command that results. Zsh
 * and fish are tested where they are installed.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { ENTRIES } from '../../scripts/build.ts';
import { bundle } from '../../scripts/package/bundle.ts';
import { ROOT } from '../../scripts/root.ts';
import { completionScript } from '../../src/commands/completion/scripts.ts';
import { eventually } from '../e2e/watching.ts';

const KUBECONFIG = String.raw`
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
contexts:
- {name: 'prod@eu:1', context: {cluster: c}}
- {name: kind, context: {cluster: c}}
- {name: 'my $(touch x) one', context: {cluster: c}}
- {name: 'it is', context: {cluster: c}}
- {name: "it's", context: {cluster: c}}
users:
- {name: 'CORP\alice', user: {}}
current-context: kind
`;
/** How to start each shell without the user's settings, and how to load the script. */
const STARTS = {
  bash: { start: 'bash --norc --noprofile -i', load: 'source script.bash' },
  zsh: { start: 'zsh -f -i', load: 'autoload -U compinit; compinit -u -D; source script.zsh' },
  fish: { start: 'fish --no-config -i', load: 'source script.fish' },
};
type Tried = keyof typeof STARTS;

const isThere = (program: string) => spawnSync(program, ['--version']).status === 0;

const folder = mkdtempSync(join(tmpdir(), 'nodepool-shells-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'config'), KUBECONFIG);
writeFileSync(join(folder, 'an other'), KUBECONFIG.replaceAll('kind', 'kiosk'));
for (const shell of ['bash', 'zsh', 'fish'] as const) {
  writeFileSync(join(folder, `script.${shell}`), completionScript(shell));
}
writeFileSync(join(folder, 'file-one.yaml'), '');
// The bundle, as the sources start four times slower, and that many times.
await bundle(ENTRIES, join(folder, 'package/dist/npm'));
cpSync(join(ROOT, 'bin'), join(folder, 'package/bin'), { recursive: true });
cpSync(join(ROOT, 'package.json'), join(folder, 'package/package.json'));
const program = join(folder, 'kubectl-nodepool');
// Completes as kubectl-nodepool does; prints any other command line.
writeFileSync(
  program,
  `#!/bin/sh
case $1 in __complete*) exec '${process.execPath}' '${folder}/package/bin/kubectl-nodepool.js' "$@" ;; esac
printf '\\nRAN'; printf '<%s>' "$@"; printf 'END\\n'
`,
);
chmodSync(program, 0o755);

/** Types the lines one after the other into one shell; the arguments of the command that each ran. */
async function typeAll(shell: Tried): Promise<[keys: string, ran: string][]> {
  const { start, load } = STARTS[shell];
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    HOME: folder,
    TERM: 'xterm',
    KUBECONFIG: join(folder, 'config'),
  };
  const child = spawn('script', ['-qec', start, '/dev/null'], { cwd: folder, env });
  const end = once(child, 'close');
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    shown += text;
  });
  child.stdin.write(`${load}\n`);
  const all: [string, string][] = [];
  for (const [keys] of CASES) {
    shown = '';
    child.stdin.write(`kubectl-nodepool ${keys}\n`);
    const ran = () => /RAN(.*)END/.exec(shown)?.[1];
    await eventually(JSON.stringify(keys), ran, 30_000, () => shown);
    all.push([keys, ran() ?? '']);
  }
  child.stdin.end('exit\n');
  await end;
  return all;
}

const CASES: [keys: string, ran: string][] = [
  ['inst\t--outp\tj\t', '<install><--output><json>'],
  // No space after a value that is not complete.
  ['install --output=js\t', '<install><--output=json>'],
  ['get --context=ki\t', '<get><--context=kind>'],
  ['get --context prod\t', '<get><--context><prod@eu:1>'],
  ['get --context=prod@e\t', '<get><--context=prod@eu:1>'],
  // Words that a shell would expand are not offered.
  ['get --context my\t', '<get><--context><my>'],
  ["get --context 'my\t'", '<get><--context><my>'],
  ['get --context "pro\t', '<get><--context><prod@eu:1>'],
  ['get --context="pro\t', '<get><--context=prod@eu:1>'],
  ["get --context it\\'\t", "<get><--context><it'>"],
  ['get --user COR\t', '<get><--user><COR>'],
  // Quoted words before the cursor are parsed.
  ['get --kubeconfig "an other" --context ki\t', '<get><--kubeconfig><an other><--context><kiosk>'],
  ['get --kubeconfig ~/an\\ other --context ki\t', `<get><--kubeconfig><${folder}/an other><--context><kiosk>`],
  ['create x --taint a=b:NoS\t', '<create><x><--taint><a=b:NoSchedule>'],
  ['create -f fi\t', '<create><-f><file-one.yaml>'],
  ['create --kubeconfig=./fi\t', '<create><--kubeconfig=./file-one.yaml>'],
  ['get nothing\t', '<get><nothing>'],
  // With the cursor before the end of the line.
  ['ge --watch\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\t', '<get><--watch>'],
];

describe('completion', { concurrency: 3 }, () => {
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const missing = ['script', shell].filter(program => !isThere(program));
    const skip = missing.length > 0 && `there is no ${missing.join(' and no ')} of GNU or util-linux here`;
    test(shell, { skip, timeout: 120_000 }, async () => assert.deepEqual(await typeAll(shell), CASES));
  }
});
