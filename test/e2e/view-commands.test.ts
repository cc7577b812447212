/** Commands that `view` runs on the terminal, with flags that ask for another connection or process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { container } from './many-pods.ts';
import { openTerminal } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

const PATHS = [
  '/api/v1/nodes',
  '/api/v1/namespaces/default/pods',
  `/apis/${API_VERSION}/nodepools`,
  '/apis/node.k8s.io/v1/runtimeclasses',
];

/** Of all objects that the commands write. */
async function versions(): Promise<string[]> {
  const lists = await Promise.all(PATHS.map(path => raw(cluster()).expect('GET', path)));
  return lists
    .flatMap(list => (list as { items: { metadata: { name: string; resourceVersion: string } }[] }).items)
    .map(({ metadata: { name, resourceVersion } }) => `${name} ${resourceVersion}`);
}

const COMMANDS = { r: 'reconcile', c: 'cordon', D: 'drain' } as const;

function typist(terminal: ReturnType<typeof openTerminal>) {
  return async (key: keyof typeof COMMANDS, flags: string, result: RegExp) => {
    terminal.type(key);
    await terminal.shows(new RegExp(`nodepool ${COMMANDS[key]} web$`, 'm'));
    terminal.type(`${flags}{enter}`);
    // Above it are the earlier commands.
    const ended = new RegExp(`nodepool ${COMMANDS[key]} web ${flags}$[\\s\\S]*Press enter to return`, 'm');
    const [shown = ''] = ended.exec(await terminal.shows(ended)) ?? [];
    assert.match(shown, result);
    terminal.type('{enter}');
    await terminal.shows(/^>web /m);
  };
}

test('with --dry-run=server writes nothing, and refuses --watch and --concurrency', async t => {
  await testEnv.nodes(...['a', 'b'].map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: '1' } });
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } };
  const spec = { nodeName: 'a', containers: [container('c', { cpu: '1', memory: '1Mi' })] };
  await raw(cluster()).expect('POST', '/api/v1/namespaces/default/pods', { ...pod, spec });
  const before = await versions();
  const terminal = openTerminal(t, cluster(), ['view'], { columns: 120, rows: 40, env: { NO_COLOR: '1' } });
  await terminal.shows(/^>web /m);
  const run = typist(terminal);
  await run('r', '--dry-run=server', /\(server dry run\)/);
  await run('c', '--dry-run=server', /\(server dry run\)/);
  await run('D', '--dry-run=server --force', /\(server dry run\)/);
  await run('r', '--watch --leader-elect', /^error: --watch cannot be given here: this flag needs a new process/m);
  await run('r', '--concurrency=1', /^error: --concurrency cannot be given here: the connection .* is already open/m);
  assert.deepEqual(await versions(), before);
});

test('Ctrl-C of r with --wait returns to the view', async t => {
  await testEnv.nodes(...['a', 'b', 'c'].map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { maxConcurrent: 1, settleSeconds: 3600 } });
  await testEnv.reconcile('web');
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  const terminal = openTerminal(t, cluster(), ['view'], { columns: 120, rows: 40, env: { NO_COLOR: '1' } });
  await terminal.shows(/^>web /m);
  terminal.type('r');
  await terminal.shows(/reconcile web$/m);
  terminal.type('--wait{enter}');
  await terminal.shows(/^web: 1 of 3 nodes updated/m);
  terminal.type('{ctrl-c}');
  await terminal.shows(/^interrupted: web not done[\s\S]*Press enter to return/m);
  terminal.type('{enter}');
  await terminal.shows(/^>web /m);
  // Longer than a process that is about to end waits for its output.
  await sleep(2_500);
  terminal.type('y');
  await terminal.shows(/^kind: NodePool$/m);
});
