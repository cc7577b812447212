/** The page of `report` about many nodes, and what a user may not read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printReport } from '../../../../src/commands/report/data.ts';
import { renderPage } from '../../../../src/commands/report/page.ts';
import { type ReportDeps, report } from '../../../../src/commands/report/run.ts';
import { ForbiddenError } from '../../../../src/nodepool/errors.ts';
import type { Condition } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { depsOf, type TopCluster, topCluster } from '../shared/top/top-cluster.ts';
import { problemsOf } from './html-problems.ts';

const NODES = 5_000;
const NOW = new Date('2026-01-01T12:00:00Z');
const ALL = { names: [], selector: undefined };

function manyProblems(): Pick<TopCluster, 'pools' | 'nodes'> {
  const [labels, record] = [{ pool: 'a', tier: 'theirs' }, recordOf({ pool: 'a', labels: { tier: 'ours' } })];
  const nodes = Array.from({ length: NODES }, (_, at) => {
    return aNode({ name: `node-${at}`, labels, record, unschedulable: true, allocatable: { cpu: '4' } });
  });
  const pool = (name: string) =>
    aPool({ nodeSelector: { pool: 'a' }, labels: { tier: 'ours' } }, { name, uid: name, creationTimestamp: '' });
  return { pools: [pool('a'), pool('b')], nodes };
}

function reportDeps(more: Partial<ReportDeps> = {}, of = manyProblems()): ReportDeps {
  const event = { pool: 'a', poolUid: 'a', type: 'Normal', reason: 'Reason', note: 'x'.repeat(1_000_000) };
  const seen = { lastSeen: NOW.toISOString(), firstSeen: NOW.toISOString(), count: 1, reporter: 'x' };
  const { cluster, ...deps } = depsOf({ ...topCluster(), ...of });
  return {
    ...deps,
    cluster: {
      ...cluster,
      nodes: {
        ...cluster.nodes,
        fieldSetters: async (_name, paths) => paths.map(() => ({ manager: 'somebody', operation: 'Update' })),
      },
    },
    events: { list: async () => Array.from({ length: 300 }, () => ({ ...event, ...seen })) },
    serverFacts: async () => ({}),
    ...{ contextName: undefined, clusterName: 'the-cluster', now: () => NOW },
    ...more,
  };
}

test('lists 100 of 5,000 drifted, conflicting and cordoned nodes, and counts the others', async () => {
  const page = renderPage(await report(ALL, reportDeps()), '1.2.3');
  assert.deepEqual(await problemsOf(page), []);
  assert.ok(page.length < 400_000, `${page.length} characters`);
  assert.equal([...page.matchAll(/<p>… and 4900 more, of 5000\.<\/p>/g)].length, 3);
  assert.equal([...page.matchAll(/<p>… and 200 more, of 300\.<\/p>/g)].length, 1);
  assert.match(page, /<title>Node pools of the-cluster<\/title>/);
  assert.match(page, /<li>who set the values is not shown for 50 more nodes<\/li>/);
  assert.equal([...page.matchAll(/<li>somebody, <span/g)].length, 50);
});

test('omits pods and Events that may not be read, with a note on the page', async () => {
  const refuse = (what: string) => () => Promise.reject(new ForbiddenError(`no ${what}`, [`verb list on ${what}`]));
  const denied = { events: { list: refuse('events') }, pods: { demand: refuse('pods') } };
  const page = renderPage(await report(ALL, reportDeps(denied)), '1.2.3');
  assert.deepEqual(await problemsOf(page), []);
  for (const said of ['<li>left out: no pods</li>', '<li>left out: no events</li>', 'Allocatable resources of nodes'])
    assert.ok(page.includes(said), said);
  const broken = reportDeps({ events: { list: () => Promise.reject(new Error('broken')) } });
  await assert.rejects(report(ALL, broken), /broken/);
});

test('counts a spec change as due, not as drift, and lists every condition with a problem', async () => {
  const condition = { reason: 'R', message: 'm', lastTransitionTime: NOW.toISOString() };
  const conditions = [
    { ...condition, type: 'Ready', status: 'True' },
    { ...condition, type: 'Progressing', status: 'False' },
    { ...condition, type: 'Contested', status: 'True' },
    { ...condition, type: 'OfOthers' as 'Ready', status: 'False' },
  ] as const;
  const status = { status: 200, nodeCount: 1, observedGeneration: 1, conditions: [...conditions] };
  const pool = aPool({ nodeSelector: { pool: 'a' }, labels: { tier: 'new' } }, { name: 'a', generation: 2, status });
  const record = recordOf({ pool: 'a', labels: {}, taints: {} });
  const nodes = Array.from({ length: 14 }, (_, at) => {
    return aNode({ name: `node-${at}`, uid: `${at}`, labels: { pool: 'a' }, record, allocatable: { cpu: 'bad' } });
  });
  const data = JSON.parse(printReport(await report(ALL, reportDeps({}, { pools: [pool], nodes })), 'json'));
  const { nodeCount, dueNodeCount, driftedNodeCount } = data.pools.items[0];
  assert.deepEqual([nodeCount, dueNodeCount, driftedNodeCount, data.due.total], [14, 14, 0, 14]);
  assert.deepEqual(
    data.conditions.items.map((each: { condition: Condition }) => each.condition.type),
    ['Contested'],
  );
  assert.ok(data.warnings.includes('and 4 more'), 'nothing was refused');
});
