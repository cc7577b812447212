/** Objects that validation would refuse: pools written under a CRD without a schema, and nodes with odd quantities. */
import assert from 'node:assert/strict';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { deleteNodes, nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { condition, role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { BAD_SPECS, ODD_RECORDS, ODD_STATUSES } from './bad-pools.ts';
import { type Child, startChild, useFaultEnv } from './fault-env.ts';
import { POOLS } from './model.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { removeSchema } from './schema.ts';

/** The commands that read pools. */
const READS = [
  ...['', 'wide', 'json', 'yaml', 'name'].map(format => ['get', ...(format === '' ? [] : ['-o', format])]),
  ['describe'],
  ['diff'],
  ['events'],
];
/** Must not reach a terminal: C0 except line feed, DEL, C1, and bidirectional controls. */
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

const testEnv = useFaultEnv();
const api = () => raw(testEnv.cluster());

const write = (name: string, spec: unknown, metadata: object = {}) =>
  api().expect('POST', POOLS, {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name, ...metadata },
    spec,
  });

/** Fails unless every invalid pool has status 422 with its reason and changed no node, and valid pools are unaffected. */
async function assertJudged(child: Child): Promise<void> {
  for (const [name, [, reason]] of Object.entries(BAD_SPECS)) {
    const isJudged = async () => {
      const { status } = (await testEnv.getPool(name)) ?? {};
      const applied = status?.conditions?.find(({ type }) => type === 'Applied');
      return status?.status === 422 && applied?.message.includes(reason);
    };
    await eventually(`${name} is judged; ${child.log().slice(-2000)}`, isJudged);
    const pool = await testEnv.getPool(name);
    assert.equal(pool?.status?.nodeCount, 0, name);
    assert.ok(JSON.stringify(pool?.status).length < 8_000, `the status of ${name} is short`);
    assert.equal((await testEnv.node(`n-${name}`)).metadata.annotations?.[RECORD_ANNOTATION], undefined);
  }
  for (const name of ['good', ...Object.keys(ODD_STATUSES)]) {
    await eventually(`${name} is reconciled`, async () => {
      const { status } = (await testEnv.getPool(name)) ?? {};
      // An odd status may say 200 before it is overwritten.
      return status?.status === 200 && status.allocatable?.cpu === '4';
    });
    const { metadata } = await testEnv.node(`n-${name}`);
    assert.equal(metadata.labels.tier, name);
    assert.equal((await testEnv.getPool(name))?.status?.allocatable?.cpu, '4');
  }
}

/** Every command that reads exits with its code and prints no control characters. */
async function assertReadable(): Promise<void> {
  for (const args of READS) {
    const { code, stdout, stderr } = await cli(testEnv.cluster(), args);
    // The exit code of `diff` shows whether there is a difference.
    assert.ok(code === 0 || (args[0] === 'diff' && code === 1), `${args.join(' ')}: ${code} ${stderr}`);
    // Pools that no node matches are named, and nothing else is said.
    const said = args[0] === 'describe' ? stderr.replaceAll(/^warning: no node matches pool .*\n/gm, '') : stderr;
    assert.equal(said, '', args.join(' '));
    assert.doesNotMatch(stdout + stderr, CONTROL, args.join(' '));
  }
}

row(
  {
    fault: 'bad objects',
    slow: true,
    how: 'pools with wrong types, 1,000 taints, 256 KiB of annotations, control characters or invalid statuses',
    holds: 'status 422 names the field; other pools are not affected; nothing crashes',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, child } = run;
    const names = [...Object.keys(BAD_SPECS), ...Object.keys(ODD_STATUSES), 'good'];
    await testEnv.nodes(...names.map(name => ({ name: `n-${name}`, labels: role(name) })), {
      name: 'held',
      labels: { group: 'x' },
    });
    await testEnv.pool('holder', { nodeSelector: { group: 'x' }, labels: { tier: 'held' }, handler: 'runc' });
    await testEnv.pool('good', { labels: { tier: 'good' } });
    const isHeld = async () => (await testEnv.node('held')).metadata.labels.tier === 'held';
    await eventually('a pool holds its node', isHeld);

    const giveBack = await removeSchema(t, api());
    for (const [name, [spec]] of Object.entries(BAD_SPECS)) await write(name, spec);
    // The server's limit for an object.
    await write('annotated', {}, { annotations: { big: 'x'.repeat(256 * 1024 - 3) } });
    for (const [name, status] of Object.entries(ODD_STATUSES)) {
      await write(name, { labels: { tier: name } });
      await api().expect('PATCH', `${POOLS}/${name}/status`, { status });
    }
    facts.pools = names.length;
    // A pool that was valid, whose nodes are unknown now.
    await api().expect('PATCH', `${POOLS}/holder`, { spec: { nodeSelector: 'x' } });
    await change(run.model);
    await assertJudged(child);
    await assertHeld();
    await assertReadable();
    for (const name of ['spec-string', 'labels-number', 'taints-string', 'taint-null', 'selector-string']) {
      const { code, stderr } = await cli(testEnv.cluster(), ['edit', name, '--label', 'x=y']);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^error: pool ${name}: spec.*: expected .*; next: fix the pool in your editor`));
    }

    // Another process sees them all for the first time; and the validation rules apply again, also to existing objects.
    assert.ok(child.isAlive, child.log());
    assert.equal(await child.end(), 0);
    for (const loose of [true, false]) {
      if (!loose) await giveBack();
      for (const name of names) await api().request('PATCH', `${POOLS}/${name}/status`, { status: { status: 1 } });
      const another = startChild(t, proxy);
      await another.synced();
      await assertJudged(another);
      await assertHeld();
      if (!loose) await assertReadable();
      assert.ok(another.isAlive, another.log());
      assert.equal(await another.end(), 0);
    }
    const { code, stderr } = await cli(testEnv.cluster(), ['reconcile']);
    assert.deepEqual([code, othersIn(stderr)], [3, []]);

    // The user can fix the pool or delete it.
    await testEnv.edit('holder', { spec: { nodeSelector: { group: 'x' } } });
    const bad = Object.keys(BAD_SPECS);
    for (const args of [['delete', '--yes', ...bad], ['reconcile']]) {
      const done = await cli(testEnv.cluster(), args);
      assert.deepEqual([done.code, othersIn(done.stderr)], [0, []], args.join(' '));
    }
    assert.equal((await testEnv.getPool('holder'))?.status?.status, 200);
    // After that the state is as without them.
    const left = ['holder', 'good', 'annotated', ...Object.keys(ODD_STATUSES)];
    const gone = await cli(testEnv.cluster(), ['delete', '--yes', ...left]);
    assert.deepEqual([gone.code, gone.stderr], [0, '']);
    await deleteNodes(testEnv.cluster(), [...names.map(name => `n-${name}`), 'held']);
    await judge(testEnv, run, undefined, {
      'create runtimeclasses node-pool-holder': 1,
      'delete runtimeclasses node-pool-holder': 1,
      ...Object.fromEntries([...bad, ...left].map(name => [`delete nodepools ${name}`, 1])),
    });

    async function assertHeld(): Promise<void> {
      assert.ok(await isHeld(), 'the node is not released');
      await eventually('it is reported', async () => (await testEnv.getPool('holder'))?.status?.status === 422);
      const pool = await testEnv.getPool('holder');
      assert.equal(condition(pool, 'Applied').message, 'spec.nodeSelector: expected a map, found "x"');
      assert.equal(pool?.status?.nodeCount, 1);
      assert.ok(await testEnv.runtimeClass('holder'));
    }
  },
);

row(
  {
    fault: 'bad objects',
    how: 'nodes with invalid quantities and records, and 256 KiB of annotations',
    holds: 'the status names what cannot be summed; other nodes and pools are not affected',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { child } = run;
    const labels = role('odd');
    const withQuantity = (name: string, quantity: string) =>
      api().request('POST', '/api/v1/nodes', nodeObject({ name, labels, allocatable: { 'example.com/x': quantity } }));
    const refused = ['1Kii', 'abc', '', '1e', '--1', '0x10', '1K', '-5', '0.5', '1n'];
    for (const quantity of refused) {
      const { status } = await withQuantity('refused', quantity);
      assert.ok(status === 400 || status === 422, `the server takes ${quantity}`);
    }
    facts.refusedByServer = refused.length;
    await testEnv.pool('odd', { labels: { tier: 'odd' } });
    await testEnv.pool('other');
    await testEnv.nodes({ name: 'plain', labels: role('other') });
    const taken = { '1e3': '1000', '1E3': '1000', '5.': '5', '+5': '5', '00012': '12' };
    let sum = 0;
    for (const [at, [quantity, value]] of Object.entries(taken).entries()) {
      assert.equal((await withQuantity(`n${at}`, quantity)).status, 201, quantity);
      sum += Number(value);
    }
    const status = async () => (await testEnv.getPool('odd'))?.status;
    await eventually('they are members', async () => (await status())?.nodeCount === 5);
    assert.equal((await status())?.status, 200);
    assert.equal((await status())?.allocatable?.['example.com/x'], '2022');
    assert.equal(sum, 2022);

    // The server accepts a number of 20,000 digits, which is not computed.
    assert.equal((await withQuantity('huge', '1e20000')).status, 201);
    const odd = Object.keys(ODD_RECORDS);
    for (const [name, record] of Object.entries(ODD_RECORDS)) {
      const { metadata, ...rest } = nodeObject({ name, labels }) as { metadata: object };
      const annotations = { [RECORD_ANNOTATION]: record };
      await api().expect('POST', '/api/v1/nodes', { ...rest, metadata: { ...metadata, annotations } });
    }
    await change(run.model);
    const members = 6 + odd.length;
    await eventually('they are members', async () => (await status())?.nodeCount === members);
    const { message } = condition(await testEnv.getPool('odd'), 'ResourcesOmitted');
    assert.equal(
      message,
      'left out of allocatable: node huge: 1 resource with a quantity of more than 500 digits, such as example.com/x "100e19998"',
    );
    assert.equal((await status())?.status, 200);
    assert.equal((await status())?.allocatable?.['example.com/x'], '2022');
    for (const name of odd) {
      await eventually(`${name} has its own record again`, async () => {
        const { labels: live, annotations = {} } = (await testEnv.node(name)).metadata;
        return (
          live.tier === 'odd' &&
          annotations[RECORD_ANNOTATION] === '{"pool":"odd","generation":1,"labels":{"tier":"odd"}}'
        );
      });
    }
    assert.equal((await testEnv.getPool('other'))?.status?.status, 200);
    await assertReadable();
    await api().expect('DELETE', '/api/v1/nodes/huge');
    const omitted = async () => (await status())?.conditions?.some(({ type }) => type === 'ResourcesOmitted');
    await eventually('without it all is well', async () => !(await omitted()));
    // An event reports each odd record that is replaced; it is logged after the nodes are written.
    const warnings = () => child.lines(/ (warning|error) /);
    for (const name of odd) await eventually(`${name} is reported`, () => warnings().some(line => line.includes(name)));
    assert.deepEqual(
      warnings().filter(line => !line.includes(' RecordInvalid of NodePool odd: ')),
      [],
    );
    for (const pool of ['odd', 'other']) await api().expect('DELETE', `${POOLS}/${pool}`);
    await eventually('the pool is gone', async () => (await testEnv.getPool('odd')) === undefined);
    await deleteNodes(testEnv.cluster(), [...Object.keys(taken).map((_, at) => `n${at}`), ...odd, 'plain']);
    await judge(testEnv, run);
    assert.equal(await child.end(), 0);
  },
);

/** Without the lines about pools that have no node. */
function othersIn(stderr: string): string[] {
  return stderr.split('\n').filter(line => line !== '' && !line.startsWith('warning: no node matches pool '));
}
