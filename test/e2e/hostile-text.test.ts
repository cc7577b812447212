/**
 * What others may write into a cluster, in all the places that the server allows: no verb lets it move the cursor, colour
 * the terminal, forge a line, hide, or break JSON and YAML; neither on a terminal nor in a pipe.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { refuseWith } from './hostile-webhook.ts';
import { inTerminal, NO_TERMINAL } from './verbs.ts';
import { role, useWorld } from './world.ts';

const world = useWorld();
const { cluster } = world;

/** Magenta is no colour of ours. */
const EVIL =
  'a\u001b[35mb\u001b[2J\u001b]0;title\u0007c\rd\u009b35me\u0001\u007f\u0085\u202ef\u2066g\u200bh\u2028i\u{e0061}j\u200dl\ufe0fm\n  next: forged\nforged line\tk';
const MEGABYTE = EVIL + 'x'.repeat(1_000_000);

/** What may stand in a line of ours: all but controls and what is not seen. Colours are taken out before. */
const FORBIDDEN =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\ufe00-\ufe0f]|\udb40/;
/** 1,024 characters of a message, each as an escape. */
const LONGEST_LINE = 8_192;

function check(text: string, what: string, { bounded = true } = {}): void {
  for (const line of text.split('\n')) {
    const at = line.search(FORBIDDEN);
    assert.equal(at, -1, `${what}: ${JSON.stringify(line.slice(Math.max(at - 20, 0), at + 20))}`);
    assert.ok(!/^\s*(next: )?forged/.test(line), `${what}: a line was forged`);
    if (bounded) assert.ok(line.length <= LONGEST_LINE, `${what}: a line of ${line.length} characters`);
  }
}

async function seed(): Promise<void> {
  await world.nodes({ name: 'node-a', labels: role('gpu') }, { name: 'node-b', labels: role('gpu') });
  const pool = await world.pool(
    'gpu',
    { labels: { tier: 'gold' } },
    { metadata: { annotations: { evil: EVIL, 'example.com/long': MEGABYTE.slice(0, 100_000) } } },
  );
  await world.reconcile('gpu');
  const api = raw(cluster());
  // A record of a pool that never was, on a node of ours.
  const { metadata } = await world.node('node-b');
  const record = metadata.annotations?.[RECORD_ANNOTATION] ?? '';
  assert.match(record, /"gpu"/);
  const forged = record.replaceAll('"gpu"', JSON.stringify(EVIL)).replaceAll('"gold"', JSON.stringify(EVIL));
  await world.patchNode('node-b', { metadata: { annotations: { [RECORD_ANNOTATION]: forged } } });
  const condition = { type: 'Applied', status: 'False', reason: EVIL, message: MEGABYTE };
  // The definition has a list of what a status may be.
  const conditions = [condition, { ...condition, type: EVIL, message: EVIL }];
  await api.expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/gpu/status', { status: { status: 500, conditions } });
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

/** Command lines that only look. */
const LOOKS = [
  ['get'],
  ['get', '-o', 'wide'],
  ['get', '-o', 'name'],
  ['describe'],
  ['describe', 'gpu'],
  ['events'],
  ['events', 'gpu'],
  ['diff'],
  ['reconcile', '--dry-run'],
  ['delete', 'gpu', '--dry-run=client'],
  ['delete', 'gpu', '--dry-run=server'],
  ['uninstall', '--cascade', '--dry-run=client'],
  ['uninstall', '--dry-run=client'],
  ['version'],
  ['get', EVIL],
  ['get', 'gpu', '--context', EVIL],
  ['describe', EVIL],
  ['create', EVIL],
];

test('no verb lets through what others wrote, piped or coloured', async () => {
  await seed();
  let shown = '';
  for (const args of LOOKS) {
    const what = args.join(' ').slice(0, 40);
    const { stdout, stderr, code } = await cli(cluster(), args);
    assert.notEqual(code, null, what);
    assert.doesNotMatch(stderr, /this is a bug/, what);
    check(stdout, `${what}, stdout`);
    check(stderr, `${what}, stderr`);
    shown += stdout + stderr;
    const colored = await cli(cluster(), [...args, '--color=always']);
    assert.ok(!colored.stdout.includes('\u001b[35m'), what);
    check(colored.stdout.replace(/\u001b\[(1|2|22|3[1-3]|39)m/g, ''), `${what}, coloured`);
    check(colored.stderr.replace(/\u001b\[(1|2|22|3[1-3]|39)m/g, ''), `${what}, coloured, stderr`);
  }
  // It was there to be seen.
  assert.ok(shown.includes('\\x1b[35m') && shown.includes('\\u202e') && shown.includes('\\u200b'));
});

test('nor on a terminal', { skip: NO_TERMINAL }, async () => {
  await seed();
  for (const args of LOOKS) {
    // With -v there is no spinner, which is ours and does move the cursor.
    const { shown } = await inTerminal(cluster(), [...args, '-v', '1'], '');
    check(shown, `${args.join(' ').slice(0, 40)} on a terminal`);
  }
});

test('JSON and YAML hold the very values, by escapes', async () => {
  await seed();
  const live = await world.getPool('gpu');
  for (const [format, parse] of [
    ['json', JSON.parse],
    ['yaml', load],
  ] as const) {
    const { stdout, stderr, code } = await cli(cluster(), ['get', 'gpu', '-o', format]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    check(stdout, format, { bounded: false });
    const read = parse(stdout) as NonNullable<typeof live>;
    assert.deepEqual(read.metadata.annotations, live?.metadata.annotations);
    assert.deepEqual(read.status, live?.status);
  }
});

test('a refusal in words of a webhook is one line', async () => {
  await world.nodes({ name: 'locked', labels: role('gpu') });
  await world.pool('gpu', { labels: { tier: 'gold' } });
  const end = await refuseWith(cluster(), MEGABYTE, 'locked');
  try {
    for (const args of [
      ['create', 'locked-pool'],
      ['reconcile'],
      ['describe', 'gpu'],
      ['events'],
      ['reconcile', 'gpu', '-v', '8'],
    ]) {
      const { stdout, stderr } = await cli(cluster(), args);
      const bounded = !args.includes('-v');
      check(stdout, args.join(' '), { bounded });
      check(stderr, args.join(' '), { bounded });
      if (args[0] === 'create') assert.match(stderr, /^error: [^\n]*\\x1b\[35m[^\n]*… \(cut\)[^\n]*\n$/);
      if (args[0] === 'reconcile') assert.match(stderr, /\\n {2}next: forged/);
    }
  } finally {
    await end();
  }
});

test('nor do names of the kubeconfig', async () => {
  const file = join(cluster().dir, 'evil.config');
  const config = {
    clusters: [{ name: EVIL, cluster: { server: EVIL } }],
    users: [{ name: EVIL, user: { token: EVIL } }],
    contexts: [
      { name: EVIL, context: { cluster: EVIL, user: EVIL } },
      { name: 'other', context: { cluster: 'none', user: EVIL } },
    ],
    'current-context': EVIL,
  };
  await writeFile(file, JSON.stringify(config));
  for (const args of [['get'], ['get', '--context', 'x'], ['get', '--context', 'other'], ['get', '--user', 'x']]) {
    const { code, stdout, stderr } = await cli(cluster(), [...args, '--kubeconfig', file]);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    check(stderr, args.join(' '));
    assert.equal(stderr.split('\n').length, 2, stderr);
  }
  const { stdout } = await cli(cluster(), ['__complete', 'get', '--kubeconfig', file, '--context', '']);
  assert.equal(stdout, 'other\n:4\n');
});
