/** The script for bash, in a bash with a terminal: keys are typed, and the command that they end in is looked at. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { completionScript } from '../../../../src/cli/completion/scripts.ts';

const DEV = fileURLToPath(new URL('../../../../bin/dev.ts', import.meta.url));
const KUBECONFIG = `
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
contexts:
- {name: 'prod@eu:1', context: {cluster: c}}
- {name: kind, context: {cluster: c}}
- {name: 'my $(touch x) one', context: {cluster: c}}
current-context: kind
`;
const hasTerminal = spawnSync('script', ['--version']).status === 0 && spawnSync('bash', ['--version']).status === 0;

const folder = mkdtempSync(join(tmpdir(), 'nodepool-bash-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'config'), KUBECONFIG);
writeFileSync(join(folder, 'script.bash'), completionScript('bash'));
writeFileSync(join(folder, 'file-one.yaml'), '');
const program = join(folder, 'kubectl-nodepool');
// Completes as the product does; anything else it only shows.
writeFileSync(
  program,
  `#!/bin/sh
if [ "$1" = __complete ]; then exec '${process.execPath}' '${DEV}' "$@"; fi
printf '\\nRAN'; printf '<%s>' "$@"; printf 'END\\n'
`,
);
chmodSync(program, 0o755);

/** @param keys typed before Enter; the arguments of the command that ran */
function type(keys: string): Promise<string> {
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    HOME: folder,
    TERM: 'xterm',
    KUBECONFIG: join(folder, 'config'),
  };
  const child = spawn('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], { cwd: folder, env });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    shown += text;
  });
  child.stdin.end(`source script.bash\nkubectl-nodepool ${keys}\nexit\n`);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(/RAN(.*)END/.exec(shown)?.[1] ?? shown));
  });
}

const CASES: [keys: string, ran: string][] = [
  ['ge\t--outp\tj\t', '<get><--output><json>'],
  // No space after what has to be typed on.
  ['get --output=js\t', '<get><--output=json>'],
  ['get --context=ki\t', '<get><--context=kind>'],
  ['get --context prod\t', '<get><--context><prod@eu:1>'],
  ['get --context=prod@e\t', '<get><--context=prod@eu:1>'],
  ['get --context my\t', '<get><--context><my $(touch x) one>'],
  ['create x --taint a=b:NoS\t', '<create><x><--taint><a=b:NoSchedule>'],
  ['create -f fi\t', '<create><-f><file-one.yaml>'],
  ['create --kubeconfig=./fi\t', '<create><--kubeconfig=./file-one.yaml>'],
  ['get nothing\t', '<get><nothing>'],
  // With the cursor before the end of the line.
  ['ge --watch\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\u001b[D\t', '<get><--watch>'],
];

for (const [keys, ran] of CASES) {
  test(JSON.stringify(keys), { skip: !hasTerminal, timeout: 30_000 }, async () => {
    assert.equal(await type(keys), ran);
  });
}
