/** Mutating admission policies that change what commands write, and what the commands report. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodePool } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { mutatingPolicy, mutatingPolicyFor } from '../fault/mutating.ts';
import { auditMark, writes } from '../fault/oracle.ts';
import { openTerminal } from './terminal.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const api = () => raw(cluster());
const PODS = '/api/v1/namespaces/default/pods';
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const RULE = { apiGroups: ['nodes.lailin.xyz'], apiVersions: ['v1'] };

test('declining create --reconcile reports the created pool and the next command', {
  timeout: 120_000,
}, async t => {
  await testEnv.nodes({ name: 'a', labels: { ...role('script'), ...role('person') } });
  const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
  await api().expect('POST', PODS, { metadata: { name: 'web' }, spec: { nodeName: 'a', containers } });
  t.after(() => api().expect('DELETE', `${PODS}/web?gracePeriodSeconds=0`));
  // The pool as created evicts pods, but the one that was sent does not.
  const strict = '{"key": "strict", "effect": "NoExecute"}';
  const expression = `[JSONPatch{op: "add", path: "/spec/taints", value: [${strict}]}]`;
  const probe = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'probe' }, spec: {} };
  const policy = await mutatingPolicyFor(cluster(), 'strict-pools', {
    rule: { ...RULE, operations: ['CREATE'], resources: ['nodepools'] },
    condition: 'true',
    mutation: { patchType: 'JSONPatch', jsonPatch: { expression } },
    async isInForce() {
      // 503 until policies know the new CRD.
      const { status, body } = await api().request('POST', `${POOLS}?dryRun=All`, probe);
      return status === 201 && (body as { spec: { taints?: unknown } }).spec.taints !== undefined;
    },
  });
  t.after(() => policy.end());

  const { code, stdout, stderr } = await cliHere(cluster(), ['create', 'script', '--reconcile']);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: 'nodepool.nodes.lailin.xyz/script created\n' });
  assert.match(
    stderr,
    /; pool script was created, and its nodes were not changed; next: to continue, run `kubectl nodepool reconcile script --yes`\n$/,
  );
  await api().expect('DELETE', `${POOLS}/script`);

  const args = ['create', 'person', '--reconcile'];
  const terminal = openTerminal(t, cluster(), args, { columns: 200, rows: 40, env: { NO_COLOR: '1' } });
  await terminal.shows(/^Reconcile pool person and change 1 node \(a\) in context nodepool-demo: [\s\S]*\? \[y\/N\]$/m);
  terminal.type('n{enter}');
  assert.equal((await terminal.exit).exitCode, 1, terminal.screen());
  assert.match(
    terminal.screen(),
    /pool person was created, and its nodes were not changed; next: to continue, run `kubectl nodepool reconcile person`/,
  );
  assert.doesNotMatch(terminal.screen(), /nothing was changed/);
  assert.deepEqual(taintsOf(await testEnv.node('a')), []);
  assert.ok(await testEnv.getPool('person'));
});

test('add reports that a policy removed the membership label, not that the node was released', async t => {
  await testEnv.nodes({ name: 'stripped-a' });
  await testEnv.pool('p', { labels: { tier: 'gold' }, taints: [{ key: 'gold', effect: 'NoSchedule' }] });
  const label = 'node-role.kubernetes.io/p';
  const policy = await mutatingPolicy(cluster(), 'no-roles', {
    prefix: 'stripped',
    mutation: {
      patchType: 'JSONPatch',
      jsonPatch: {
        expression: `"${label}" in object.metadata.labels
          ? [JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey("${label}")}]
          : []`,
      },
    },
    probe: {
      node: 'stripped-a',
      patch: { metadata: { labels: { [label]: '' } } },
      isChanged: ({ metadata }) => metadata.labels?.[label] === undefined,
    },
  });
  t.after(() => policy.end());
  const { code, stdout, stderr } = await cliHere(cluster(), ['add', 'p', 'stripped-a']);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    `error: an admission policy or webhook changed node stripped-a during the write: label ${label} was sent with value "" and removed; next: find it with \`kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations\`, and set the value in only one place`,
    'error: node stripped-a is not a member of pool p but still has the labels and taints that the pool set; next: release the node: `kubectl nodepool reconcile p`',
  ]);
  assert.deepEqual(taintsOf(await testEnv.node('stripped-a')), ['gold:NoSchedule'], 'the message is true');
  assert.equal((await cliHere(cluster(), ['reconcile', 'p'])).code, 0);
  assert.deepEqual(taintsOf(await testEnv.node('stripped-a')), []);
});

test('reports field and values when a policy changes the status, and backs off from writing it', {
  timeout: 120_000,
}, async t => {
  await testEnv.nodes({ name: 'a', labels: role('counted') });
  await testEnv.pool('counted', { labels: { tier: 'gold' } });
  const status = { status: 200, nodeCount: 1 };
  const policy = await mutatingPolicyFor(cluster(), 'counts', {
    rule: { ...RULE, operations: ['UPDATE'], resources: ['nodepools/status'] },
    condition: `object.metadata.name == 'counted'`,
    mutation: {
      patchType: 'JSONPatch',
      // Another value at each write, so that the node never converges.
      jsonPatch: {
        expression: `[JSONPatch{op: "replace", path: "/status/nodeCount",
          value: has(oldObject.status) && has(oldObject.status.nodeCount) ? oldObject.status.nodeCount + 10 : 70}]`,
      },
    },
    async isInForce() {
      const answer = await api().request('PATCH', `${POOLS}/counted/status?dryRun=All`, { status });
      return answer.status === 200 && (answer.body as NodePool).status?.nodeCount !== 1;
    },
  });
  t.after(() => policy.end());
  const { code, stderr } = await cliHere(cluster(), ['reconcile', 'counted']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: counted: an admission policy or webhook changed the status of pool counted during the write: status\.nodeCount was sent with value "1" and is "70"; next: find it with `kubectl get mutatingadmissionpolicies,/,
  );
  assert.equal((await testEnv.node('a')).metadata.labels.tier, 'gold', 'its nodes are written all the same');

  const mark = await auditMark(cluster());
  const watching = await startWatching(t, cluster());
  await eventually('it says so', () => /status\.nodeCount was sent with value "1" and is "80"/.test(watching.log()));
  const began = performance.now();
  await sleep(5_000);
  const count = (await writes(cluster(), mark))['patch nodepools/status counted'] ?? 0;
  // After 1 s, 2 s, 4 s and so on.
  const most = Math.floor(Math.log2((performance.now() - began) / 1000 + 2)) + 1;
  assert.ok(count >= 2 && count <= most, `${count} writes of the status`);
  await policy.end();
  await eventually('it recovers', async () => (await testEnv.getPool('counted'))?.status?.nodeCount === 1);
  assert.equal(await watching.end(), 0);
});

test('reports the label when a policy moves a node to another pool at each write, and backs off', {
  timeout: 120_000,
}, async t => {
  // Nobody writes the second one: it shows whether the policy is in force, wherever the first is.
  await testEnv.nodes({ name: 'moved-a', labels: { team: 'p' } }, { name: 'moved-probe', labels: { team: 'none' } });
  await testEnv.pool('p', { nodeSelector: { team: 'p' }, labels: { tier: 'p' } });
  await testEnv.pool('q', { nodeSelector: { team: 'q' }, labels: { tier: 'q' } });
  // The policy ignores writes of others, which move the node between the two.
  const other = 'object.metadata.labels.team == "p" ? "q" : "p"';
  const condition =
    'oldObject.metadata.labels.team == object.metadata.labels.team && !("calm" in object.metadata.labels)';
  const policy = await mutatingPolicy(cluster(), 'moves', {
    prefix: 'moved',
    mutation: {
      patchType: 'JSONPatch',
      jsonPatch: {
        expression: `${condition} ? [JSONPatch{op: "replace", path: "/metadata/labels/team", value: ${other}}] : []`,
      },
    },
    probe: {
      node: 'moved-probe',
      patch: { metadata: { labels: { probe: 'x' } } },
      isChanged: ({ metadata }) => metadata.labels?.team !== 'none',
    },
  });
  t.after(() => policy.end());
  const says = (from: string, to: string) =>
    `an admission policy or webhook changed node moved-a during the write: label team was sent with value "${from}" and is "${to}"`;
  const mark = await auditMark(cluster());
  const { code, stderr } = await cliHere(cluster(), ['reconcile']);
  assert.equal(code, 1);
  assert.ok(stderr.includes(says('p', 'q')), stderr);
  assert.equal((await writes(cluster(), mark))['patch nodes moved-a'], 1);

  const began = await auditMark(cluster());
  const watching = await startWatching(t, cluster());
  await eventually('it says so', () => watching.log().includes(says('q', 'p')));
  await sleep(6_000);
  const count = (await writes(cluster(), began))['patch nodes moved-a'] ?? 0;
  // At once, and after 1 s, 2 s and 4 s.
  assert.ok(count >= 2 && count <= 4, `${count} writes of the node`);
  await policy.end();
  await eventually('it recovers', async () => {
    const { team, tier } = (await testEnv.node('moved-a')).metadata.labels;
    return team === tier && (await testEnv.getPool('p'))?.status?.status === 200;
  });
  assert.equal(await watching.end(), 0);
});
