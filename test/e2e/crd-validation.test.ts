/** The CRD on a real API server: its rules and those of src/nodepool/spec/validation.ts agree, and old pools stay releasable. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { load } from 'js-yaml';
import { decodePool } from '../../src/nodepool/spec/coerce.ts';
import { validatePool } from '../../src/nodepool/spec/validation.ts';
import type { NodePool, NodePoolSpec } from '../../src/nodepool/types.ts';
import { ALLOCATABLE_OF_TWO } from '../allocatable.ts';
import { kubectl, useCluster } from '../cluster/harness.ts';
import { MINOR } from '../cluster/minor.ts';
import { raw } from '../cluster/raw.ts';
import { POOL_CASES } from '../contract/pool-cases.ts';
import { eventually } from './watching.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CRD = `${CRDS}/nodepools.nodes.lailin.xyz`;
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const HEAD = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool' };
const FINALIZER = 'node.finalizers.node-pool.lailin.xyz';

const file = new URL('../../manifests/nodepools.nodes.lailin.xyz.yaml', import.meta.url);
const crd = load(readFileSync(file, 'utf8')) as Crd;

interface Crd {
  spec: { versions: { schema?: unknown }[] } & Record<string, unknown>;
}

/** The minor version whose server accepts a status write to a pool that breaks rules which it broke before. */
const RATCHETED_STATUS = 33;

interface Status {
  message: string;
  details?: { causes?: { field?: string; message: string }[] };
}

const cluster = useCluster();
const client = () => raw(cluster());

describe('the rules of the CRD', () => {
  before(async () => {
    await client().expect('POST', CRDS, crd);
    await untilServed();
  });

  for (const { title, name = 'gpu', spec, wrong } of POOL_CASES) {
    test(`${wrong.length === 0 ? 'accept' : 'refuse'} ${title}`, async () => {
      const pool = { ...HEAD, metadata: { name }, spec };
      const { status, body } = await client().request('POST', `${POOLS}?dryRun=All&fieldValidation=Strict`, pool);
      const ours = validatePool(pool as NodePool).map(error => error.field);
      assert.deepEqual(ours, wrong);
      assert.equal(status, wrong.length === 0 ? 201 : 422, JSON.stringify(body));
      if (wrong.length > 0) sameFields(serverFields(body as Status), ours, (body as Status).message);
    });
  }

  const undecodable: [title: string, object: Record<string, unknown>][] = [
    ['an unknown field of the spec', { spec: { lables: {} } }],
    ['an unknown field of the pool', { sepc: {} }],
    ['an unknown field of a taint', { spec: { taints: [{ key: 'a', effect: 'NoSchedule', operator: 'x' }] } }],
    ['a taint without effect', { spec: { taints: [{ key: 'a' }] } }],
    ['a null taint', { spec: { taints: [null] } }],
    ['labels as a list', { spec: { labels: ['a=b'] } }],
    ['a number for a label value', { spec: { labels: { a: 10 } } }],
    ['true for a selector value', { spec: { nodeSelector: { a: true } } }],
    ['an expression without an operator', { spec: { matchExpressions: [{ key: 'a' }] } }],
    [
      'a number for the value of an expression',
      { spec: { matchExpressions: [{ key: 'a', operator: 'Gt', values: [1] }] } },
    ],
    ['an unknown field of an expression', { spec: { matchExpressions: [{ key: 'a', operator: 'In', value: 'b' }] } }],
    ['a number for the handler', { spec: { handler: 1 } }],
    ['text for the spec', { spec: 'x' }],
  ];
  for (const [title, object] of undecodable) {
    test(`refuse ${title}, as decoding does`, async () => {
      const pool = { ...HEAD, metadata: { name: 'gpu' }, ...object };
      const { status, body } = await client().request('POST', `${POOLS}?dryRun=All&fieldValidation=Strict`, pool);
      assert.ok(status === 400 || status === 422, JSON.stringify(body));
      assert.throws(() => decodePool(pool, 'pool'), { name: 'NodepoolError' });
    });
  }

  test('default a missing spec to an empty one, as decoding does', async () => {
    const pool = { ...HEAD, metadata: { name: 'gpu' } };
    const created = (await client().expect('POST', `${POOLS}?dryRun=All`, pool)) as NodePool;
    assert.deepEqual(created.spec, {});
    assert.deepEqual(decodePool(pool, 'pool').spec, {});
    const nulls = { ...pool, spec: { labels: null, handler: null } };
    assert.deepEqual(((await client().expect('POST', `${POOLS}?dryRun=All`, nulls)) as NodePool).spec, {});
    assert.deepEqual(decodePool(nulls, 'pool').spec, {});
  });

  test('apply to updates too', async () => {
    await client().expect('POST', POOLS, {
      ...HEAD,
      metadata: { name: 'changed' },
      spec: { nodeSelector: { a: 'b' } },
    });
    const patch = async (spec: unknown) => (await client().request('PATCH', `${POOLS}/changed`, { spec })).status;
    assert.equal(await patch({ labels: { a: 'c' } }), 422);
    assert.equal(await patch({ labels: { 'node-role.kubernetes.io/changed': '' } }), 422);
    assert.equal(await patch({ labels: { c: 'd' } }), 200);
    await client().expect('POST', POOLS, { ...HEAD, metadata: { name: 'master' }, spec: { nodeSelector: { a: 'b' } } });
    const { status } = await client().request('PATCH', `${POOLS}/master`, { spec: { nodeSelector: null } });
    assert.equal(status, 422);
    for (const name of ['changed', 'master']) await client().expect('DELETE', `${POOLS}/${name}`);
  });

  test('accept the objects of the earlier operator unchanged, with their status', async () => {
    const status = {
      allocatable: ALLOCATABLE_OF_TWO,
      nodeCount: 2,
      status: 200,
    };
    const spec = {
      taints: [{ key: 'node-pool.lailin.xyz', value: 'worker', effect: 'NoSchedule' }],
      labels: { 'node-pool.lailin.xyz/worker': '10' },
      handler: 'runc',
    };
    const pool = { ...HEAD, metadata: { name: 'seed', finalizers: [FINALIZER] }, spec, status };
    const created = (await client().expect('POST', `${POOLS}?fieldValidation=Strict`, pool)) as NodePool;
    assert.deepEqual(created.spec, spec);
    const updated = { ...created, status };
    const stored = (await client().expect('PUT', `${POOLS}/seed/status?fieldValidation=Strict`, updated)) as NodePool;
    assert.deepEqual(stored.status, status);
    await client().expect('PATCH', `${POOLS}/seed`, { metadata: { finalizers: [] } });
    await client().expect('DELETE', `${POOLS}/seed`);
  });

  test('kubectl prints the columns of the earlier operator, and more', async () => {
    await client().expect('POST', POOLS, { ...HEAD, metadata: { name: 'worker' }, spec: { handler: 'runc' } });
    const allocatable = { cpu: '8', memory: '6129040Ki' };
    const conditions = [{ type: 'Conflict', status: 'False' }];
    await client().expect('PATCH', `${POOLS}/worker/status`, {
      status: {
        status: 200,
        nodeCount: 2,
        readyNodeCount: 2,
        updatedNodeCount: 2,
        unschedulableNodeCount: 1,
        allocatable,
        conditions,
      },
    });
    const columns = async (...args: string[]) => {
      const { stdout, stderr } = await kubectl(cluster(), ['get', 'npool', 'worker', ...args]);
      assert.equal(stderr, '');
      const [head, row] = stdout.split('\n');
      return [head?.split(/ {2,}/).map(cell => cell.trim()), row?.split(/ {2,}/).map(cell => cell.trim())];
    };
    const [head, row] = await columns();
    assert.deepEqual(head, ['NAME', 'STATUS', 'NODECOUNT', 'READY', 'CPU', 'MEMORY', 'AGE']);
    assert.deepEqual(row?.slice(0, 6), ['worker', '200', '2', '2', '8', '6129040Ki']);
    const [wideHead, wideRow] = await columns('-o', 'wide');
    assert.deepEqual(wideHead?.slice(7), ['UPDATED', 'UNSCHEDULABLE', 'HANDLER', 'CONFLICT']);
    assert.deepEqual(wideRow?.slice(7), ['2', '1', 'runc', 'False']);
    await client().expect('DELETE', `${POOLS}/worker`);
  });

  test('kubectl explains every field', async () => {
    const { stdout } = await kubectl(cluster(), ['explain', 'nodepool', '--recursive']);
    for (const field of ['labels', 'taints', 'handler', 'nodeSelector', 'unmanaged', 'readyNodeCount', 'conditions']) {
      assert.match(stdout, new RegExp(`^ +${field}\\t`, 'm'));
    }
    const { stdout: one } = await kubectl(cluster(), ['explain', 'nodepool.spec.unmanaged']);
    assert.match(one, /Keep, the\s+default, leaves them alone/);
  });
});

describe('a pool created before the rules', () => {
  const old: [name: string, spec: NodePoolSpec][] = [
    ['master', {}],
    ['own-label', { labels: { 'node-role.kubernetes.io/own-label': '' } }],
    ['twice', { taints: [taint('a', '1'), taint('a', '2')] }],
    ['cluster-keys', { labels: { 'kubernetes.io/os': 'linux' }, taints: [taint('node.kubernetes.io/not-ready', '')] }],
    ['syntax', { labels: { 'a b': 'c d' }, taints: [taint('', 'x y')], handler: 'Kata' }],
    ['a'.repeat(64), {}],
    ['many', { taints: Array.from({ length: 1000 }, (_, index) => taint(`t${index}`, '')) }],
  ];

  before(async () => {
    await client().request('DELETE', CRD);
    await eventually('the CRD is gone', async () => (await client().request('GET', CRD)).status === 404);
    await client().expect('POST', CRDS, permissive());
    await untilServed();
    for (const [name, spec] of old) {
      // Of a recreated CRD the server may list objects and refuse new ones for a moment.
      const pool = { ...HEAD, metadata: { name, finalizers: [FINALIZER] }, spec };
      await eventually(`${name} is created`, async () => (await client().request('POST', POOLS, pool)).status === 201);
    }
    await client().expect('PATCH', CRD, { spec: crd.spec });
    await eventually('the rules apply', async () => {
      const probe = { ...HEAD, metadata: { name: 'control-plane' }, spec: {} };
      return (await client().request('POST', `${POOLS}?dryRun=All`, probe)).status === 422;
    });
  });

  for (const [name, spec] of old) {
    test(`is invalid, gets a status and can be released: ${name.slice(0, 20)}`, async () => {
      const pool = (await client().expect('GET', `${POOLS}/${name}`)) as NodePool;
      assert.notDeepEqual(validatePool(pool), []);
      assert.deepEqual(pool.spec, spec);
      const status = { status: 422, nodeCount: 0 };
      const answer = await client().request('PATCH', `${POOLS}/${name}/status`, { status });
      // Older servers check rules on unchanged fields too when only the status is written.
      assert.ok(answer.status === 200 || (MINOR < RATCHETED_STATUS && answer.status === 422), JSON.stringify(answer));
      await client().expect('DELETE', `${POOLS}/${name}`);
      await client().expect('PATCH', `${POOLS}/${name}`, { metadata: { finalizers: [] } });
      assert.equal((await client().request('GET', `${POOLS}/${name}`)).status, 404);
    });
  }
});

/** The CRD without validation rules, as the earlier operator had it. */
function permissive(): unknown {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    ...crd,
    spec: { ...crd.spec, versions: crd.spec.versions.map(v => ({ ...v, schema })) },
  };
}

function taint(key: string, value: string): NonNullable<NodePoolSpec['taints']>[number] {
  return { key, value, effect: 'NoSchedule' };
}

/** The fields that the server refuses. A cause about rules that were not run names none. */
function serverFields({ details }: Status): string[] {
  const fields = (details?.causes ?? []).map(cause => cause.field ?? '');
  return [...new Set(fields.filter(field => field !== '' && field !== '<nil>'))];
}

/** The server names a map (`spec.labels`) or an entry (`spec.labels.a`) where the product names `spec.labels[a]`. */
function sameFields(server: string[], ours: string[], message: string): void {
  const covers = (field: string, own: string) => {
    const entry = own.replace(/^(spec\.(?:labels|nodeSelector|annotations))\[(.*)\]$/s, '$1.$2');
    return field === own || field === entry || (entry !== own && field === entry.split('.').slice(0, 2).join('.'));
  };
  assert.ok(server.length > 0, message);
  for (const field of server)
    assert.ok(
      ours.some(own => covers(field, own)),
      `only the server names ${field}: ${message}`,
    );
  for (const own of ours)
    assert.ok(
      server.some(field => covers(field, own)),
      `the server does not name ${own}: ${message}`,
    );
}

async function untilServed(): Promise<void> {
  await eventually('pools are served', async () => (await client().request('GET', POOLS)).status === 200);
}
