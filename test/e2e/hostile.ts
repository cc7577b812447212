/** Hostile text in every field that the API server accepts, and how output may show the text. */
import assert from 'node:assert/strict';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import type { Pods } from './draining.ts';
import { role, type TestEnv } from './test-env.ts';

/** The product does not use magenta. */
export const EVIL =
  'a\u001b[35mb\u001b[2J\u001b]0;title\u0007c\rd\u009b35me\u0001\u007f\u0085\u202ef\u2066g\u200bh\u2028i\u{e0061}j\u200dl\ufe0fm\n  next: forged\nforged line\tk';
export const MEGABYTE = EVIL + 'x'.repeat(1_000_000);

/** Allowed in a line of output, without our colours: everything but control and invisible characters. */
const FORBIDDEN =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\ufe00-\ufe0f]|\udb40/;
/** 1,024 characters of a message, each as an escape. */
const MAX_LINE_LENGTH = 8_192;
const OUR_COLORS = /\u001b\[(1|2|22|3[1-3]|39)m/g;

/** @param bounded whether lines are limited in length: data is never cut */
export function check(text: string, what: string, { bounded = true } = {}): void {
  for (const line of text.split('\n')) {
    const at = line.search(FORBIDDEN);
    assert.equal(at, -1, `${what}: ${JSON.stringify(line.slice(Math.max(at - 20, 0), at + 20))}`);
    // EVIL indents by none or two, the lines of a wrapped text by four or more.
    assert.ok(!/^\s{0,3}(next: )?forged/.test(line), `${what}: a line was forged`);
    if (bounded) assert.ok(line.length <= MAX_LINE_LENGTH, `${what}: a line of ${line.length} characters`);
  }
}

export function checkColored(text: string, what: string, options?: { bounded: boolean }): void {
  assert.ok(!text.includes('\u001b[35m'), what);
  check(text.replace(OUR_COLORS, ''), what, options);
}

/** Pool gpu with two nodes, pool other without, a free node with a pod, all with hostile text. */
export async function seed(testEnv: TestEnv, { pod }: Pods): Promise<void> {
  const devices = { [`example.com/${EVIL}`]: '1', [`example.com/${'x'.repeat(9_000)}`]: '1' };
  await testEnv.nodes(
    { name: 'node-a', labels: role('gpu'), allocatable: devices },
    { name: 'node-b', labels: role('gpu') },
    { name: 'node-c' },
  );
  await pod({ name: 'p', node: 'node-c', owner: null });
  await testEnv.pool('other', { taints: [{ key: 'other', effect: 'NoExecute' }] });
  const pool = await testEnv.pool(
    'gpu',
    { labels: { tier: 'gold' }, handler: 'kata' },
    { metadata: { annotations: { evil: EVIL, 'example.com/long': MEGABYTE.slice(0, 100_000) } } },
  );
  await testEnv.reconcile('gpu');
  await forgeRecord(testEnv);
  const api = raw(testEnv.cluster());
  const condition = { type: 'Applied', status: 'False', reason: EVIL, message: MEGABYTE };
  // The CRD has an enum for the status number.
  const conditions = [condition, { ...condition, type: EVIL, message: EVIL }];
  const allocatable = { ...devices, cpu: EVIL, memory: MEGABYTE.slice(0, 50_000) };
  await api.expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/gpu/status', {
    status: { status: 500, conditions, allocatable },
  });
  const ready = { type: 'Ready', status: 'False', reason: EVIL, message: MEGABYTE.slice(0, 200_000) };
  const status = { conditions: [ready], nodeInfo: { kubeletVersion: EVIL }, runtimeHandlers: [{ name: EVIL }] };
  await api.expect('PATCH', '/api/v1/nodes/node-a/status', { status }, 'application/strategic-merge-patch+json');
  await holdLease(testEnv);
  await api.expect('POST', '/api/v1/namespaces/default/events', {
    metadata: { name: 'evil', namespace: 'default' },
    involvedObject: {
      apiVersion: 'nodes.lailin.xyz/v1',
      kind: 'NodePool',
      name: 'gpu',
      namespace: '',
      uid: pool.metadata.uid,
    },
    type: EVIL,
    reason: EVIL,
    message: MEGABYTE,
    source: { component: EVIL },
    firstTimestamp: new Date().toISOString(),
    lastTimestamp: new Date().toISOString(),
  });
}

/** A record of a pool that never existed, on a member. */
async function forgeRecord(testEnv: TestEnv): Promise<void> {
  const { metadata } = await testEnv.node('node-b');
  const record = metadata.annotations?.[RECORD_ANNOTATION] ?? '';
  assert.match(record, /"gpu"/);
  const forged = record.replaceAll('"gpu"', JSON.stringify(EVIL)).replaceAll('"gold"', JSON.stringify(EVIL));
  await testEnv.patchNode('node-b', { metadata: { annotations: { [RECORD_ANNOTATION]: forged } } });
}

/** The controller's Lease, held by somebody else. */
async function holdLease(testEnv: TestEnv): Promise<void> {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
  const api = raw(testEnv.cluster());
  await api.request('DELETE', `${leases}/kubectl-nodepool`);
  await api.expect('POST', leases, {
    metadata: { name: 'kubectl-nodepool' },
    spec: {
      holderIdentity: MEGABYTE.slice(0, 200_000),
      leaseDurationSeconds: 15,
      renewTime: '2026-01-01T00:00:00.000000Z',
    },
  });
}

/** Command lines that only read, or fail before they write. */
export const LOOKS: readonly string[][] = [
  ...[
    [],
    ['-o', 'wide'],
    ['-o', 'name'],
    ['--resources', 'all', '--show-labels'],
    ['--resources', EVIL],
    ['-L', EVIL],
    ['--sort-by', EVIL],
    ['--sort-by', `{.${EVIL}}`],
    ['-l', EVIL],
    ['--field-selector', EVIL],
    ['-o', EVIL],
    ['-o', `jsonpath={${EVIL}}`],
    ['-o', `jsonpath-file=${EVIL}`],
    ['-o', `custom-columns=${EVIL}`],
    ['-o', 'jsonpath={.items[?(@.metadata.annotations.evil==1)]}'],
    ['-o', 'jsonpath={.items[*].metadata.annotations}'],
    ['-o', 'jsonpath-as-json={.items[*].metadata.annotations}{.items[*].status}'],
    [EVIL],
    [EVIL, '-v', '9'],
    ['gpu', '--context', EVIL],
    [`--${EVIL}`],
  ].map(args => ['get', ...args]),
  ['describe'],
  ['describe', 'gpu'],
  ['describe', EVIL],
  ...[[], ['-o', 'wide'], ['-o', 'name'], ['-o', 'json'], ['-o', 'yaml'], ['--unassigned'], [EVIL], ['-l', EVIL]].map(
    args => ['nodes', ...args],
  ),
  ...['node-a', 'node-b', EVIL].flatMap(node => [
    ['nodes', '--why', node],
    ['why', node],
  ]),
  ['why', 'node-a', EVIL],
  ['events'],
  ['events', 'gpu'],
  ['fit', EVIL],
  ['fit', '--cpu', '1'],
  ['fit', '--cpu', EVIL],
  ['diff', '--impact'],
  ...[
    ['--resources', 'all'],
    ['--nodes', '--resources', 'all'],
    ['--no-pods', '-o', 'csv', '--resources', 'all'],
    ['--nodes', '-o', 'json', '--resources', 'all'],
    ['--resources', EVIL],
    ['--sort-by', EVIL],
    [EVIL],
  ].map(args => ['top', ...args]),
  ...[
    ['gpu'],
    ['gpu', '-o', 'wide'],
    ['gpu', '-o', 'csv'],
    ['node-a', '-o', 'json'],
    ['node/node-b', '-o', 'yaml'],
    ['node-b'],
    ['gpu', '--since', EVIL],
    [EVIL],
  ].map(args => ['history', ...args]),
  ...[[], ['-o', 'json'], ['-o', 'yaml'], [EVIL], ['-l', EVIL]].map(args => ['report', ...args]),
  ['diff'],
  ['diff', '--by-node'],
  ['diff', '-f', EVIL],
  ['create', EVIL],
  ['edit', 'gpu', '--label', EVIL],
  ...[[], ['-o', 'json'], ['-o', 'yaml'], ['--label', EVIL], [EVIL]].map(args => ['adopt', ...args]),
  ['add', 'other', 'node-c', '--dry-run=client'],
  ['add', 'gpu', EVIL],
  ['add', EVIL, 'node-c'],
  ['add', 'gpu', '-l', EVIL],
  ['remove', 'gpu', 'node-a', '--dry-run=server'],
  ['remove', EVIL, EVIL],
  ['move', 'node-a', 'node-b', '--to', 'other', '--dry-run=client'],
  ['move', EVIL, '--to', EVIL],
  ['reconcile', '--dry-run=server'],
  ['delete', 'gpu', '--dry-run=client'],
  ['delete', 'gpu', '--dry-run=server'],
  ['cordon', 'gpu', '--dry-run=client'],
  ['cordon', 'gpu', '--node', EVIL],
  ['uncordon', EVIL],
  ['drain', 'gpu', '--dry-run=client'],
  ['drain', EVIL],
  ['drain', 'gpu', '--pod-selector', EVIL],
  ['drain', 'gpu', '--max-unavailable', EVIL],
  ['wait', 'gpu', '--for=status=200', '--timeout=0'],
  ['wait', EVIL, '--for=delete', '--timeout=0'],
  ['rollout', 'status', 'gpu', '--watch=false'],
  ['rollout', 'pause', EVIL],
  ['rollout', 'pause', 'gpu', '--dry-run=server', '-o', 'yaml'],
  ['wait', 'gpu', `--for=${EVIL}`],
  ['uninstall', '--cascade', '--dry-run=client'],
  ['uninstall', '--dry-run=client'],
  ['install', '--dry-run=client'],
  ['completion', EVIL],
  ['__complete', 'get', '-l', ''],
  ['__complete', 'nodes', '--why', ''],
  ['__complete', EVIL, EVIL],
  ['doctor'],
  ['doctor', '-o', 'json'],
  ['version'],
  [EVIL],
];

/** Whether a command line prints data, which is never cut, or bodies of responses, of which it shows 10,240 characters. */
export function isData(args: readonly string[]): boolean {
  return args.some(word => /^(json|yaml|csv|custom-columns=|-v$)/.test(word));
}

/** Formats of raw values: a pipe gets the bytes, a terminal gets them escaped. */
export const COLUMNS = [
  'custom-columns=NAME:.metadata.name,EVIL:.metadata.annotations.evil,REASON:.status.conditions[*].reason',
  'custom-columns=ALL:.metadata.annotations,CPU:.status.allocatable.cpu',
];
/** Formats that keep values of several lines. */
export const TEXTS = ['jsonpath={.items[*].metadata.annotations.evil}', 'jsonpath={..reason}'];
