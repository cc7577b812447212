/** `doctor` without a reachable cluster, without the CRD, or with an outdated one. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CHECKS, type Check } from '../../src/commands/shared/check.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cliHere, useCluster } from '../cluster/harness.ts';
import { serverVersion } from '../cluster/minor.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { doctorOf, POOLS } from './doctoring.ts';
import { eventually } from './watching.ts';

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';

describe('before and after install', () => {
  const cluster = useCluster({});
  const doctor = doctorOf(cluster);
  const { ok } = commandsOf(cluster);
  const STATE = [
    'overlaps',
    'orphans',
    'pools',
    'rollouts',
    'members',
    'maintenance',
    'due',
    'specs',
    'membership',
    'runtime-classes',
    'handlers',
    'quantities',
    'startup-taints',
  ];

  test('skips further checks without a usable kubeconfig or server', async () => {
    const others = CHECKS.slice(1).map(id => `${id} skipped`);
    const none = await doctor('--kubeconfig', '/no/such');
    assert.deepEqual(none.troubles, ['kubeconfig error', ...others]);
    assert.equal(none.find('kubeconfig').message, '--kubeconfig: no such file: /no/such');
    assert.equal(none.find('kubeconfig').remedy, 'check the path');

    const broken = join(cluster().dir, 'broken.kubeconfig');
    await writeFile(broken, 'clusters: [\n');
    assert.match(
      (await doctor('--kubeconfig', broken)).find('kubeconfig').message,
      /broken.kubeconfig is malformed: line/,
    );

    const gone = join(cluster().dir, 'gone.kubeconfig');
    const text = await readFile(cluster().kubeconfig, 'utf8');
    await writeFile(gone, text.replace(cluster().server, 'https://127.0.0.1:1'));
    const unreachable = await doctor('--kubeconfig', gone);
    assert.deepEqual(unreachable.troubles, ['server error', ...others.slice(1)]);
    assert.match(
      unreachable.find('server').message,
      /^cannot reach the server https:\/\/127.0.0.1:1: connection refused$/,
    );

    await writeFile(gone, text.replace(/client-certificate-data: .*\n.*/, 'token: not-one'));
    const unknown = await doctor('--kubeconfig', gone);
    assert.match(unknown.find('server').message, /refused the credentials of user "nodepool-demo" \(401\)$/);
    const { stdout } = await cliHere(cluster(), ['doctor', '--kubeconfig', gone]);
    const [server = '', next = '', ...rest] = stdout.split('\n');
    assert.match(server, /^error {2}server .*401/);
    assert.match(next, /^ +next: log in again/);
    assert.deepEqual(rest, ['', '23 checks: 1 error, 1 passed, 21 skipped; --all shows them', '']);
    // Without credentials, and with a server that takes requests for those of system:anonymous.
    await writeFile(gone, text.replace(/client-certificate-data: .*\n.*/, 'username: ""'));
    const anonymous = await doctor('--kubeconfig', gone);
    assert.deepEqual(anonymous.troubles, ['server error', ...others.slice(1)]);
    assert.match(anonymous.find('server').message, /^not logged in to https:\/\/|401\)$/);
  });

  test('reports a missing CRD', async () => {
    const { find, troubles } = await doctor();
    const skipped = STATE.map(id => `${id} skipped`);
    assert.deepEqual(troubles, ['crd error', 'controller-permissions skipped', ...skipped]);
    assert.equal(find('crd').remedy, 'run `kubectl nodepool install`');
    const { kubeconfig, server } = cluster();
    assert.equal(
      find('kubeconfig').message,
      `${kubeconfig}: context nodepool-demo, cluster nodepool-demo, user nodepool-demo`,
    );
    assert.match(find('server').message, new RegExp(`^${server} answers in \\d+ ms$`));
    assert.equal(find('version').message, `Kubernetes ${await serverVersion(cluster())}`);
    const bob = await kubeconfigFor(cluster(), 'bob');
    const { find: bobs } = await doctor('--kubeconfig', bob);
    assert.equal(bobs('crd').remedy, 'ask for a role with verb list on nodepools.nodes.lailin.xyz');
  });

  test('reports an outdated CRD and its pools, and accepts the current one', async () => {
    await ok(['install']);
    const installed = (await raw(cluster()).expect('GET', CRD)) as Crd;
    const schema = installed.spec.versions[0].schema.openAPIV3Schema;
    // The validation rules name fields that are removed here.
    delete schema['x-kubernetes-validations'];
    const { properties } = schema;
    const { nodeSelector: _, unmanaged: __, ...known } = properties.spec.properties;
    properties.spec = { type: 'object', properties: { ...known, handler: { type: 'string' } } };
    await raw(cluster()).expect('PUT', CRD, installed);
    // The handler of the earlier CRD answers 503 until it has been replaced.
    const bad = {
      apiVersion: 'nodes.lailin.xyz/v1',
      kind: 'NodePool',
      metadata: { name: 'bad' },
      spec: { handler: 'No' },
    };
    await eventually(
      'the server takes it',
      async () => (await raw(cluster()).request('POST', POOLS, bad)).status === 201,
    );

    const old = await doctor();
    assert.equal(old.find('crd').status, 'error');
    assert.deepEqual(old.find('crd').details, [
      'field spec.nodeSelector is missing',
      'field spec.unmanaged is missing',
    ]);
    assert.equal(old.find('specs').status, 'error');
    assert.match(old.find('specs').details[0] ?? '', /^bad: spec.handler: "No" must consist of lower case/);

    await ok(['install']);
    const now = await doctor();
    assert.equal(now.find('crd').status, 'ok');
    assert.equal(now.find('specs').status, 'error', 'the pool is as it was');
    const stricter = (await raw(cluster()).expect('GET', CRD)) as Crd;
    stricter.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.labels.maxProperties = 7;
    await raw(cluster()).expect('PUT', CRD, stricter);
    // While the handler of the pools is replaced, requests may get 503.
    const { checks } = JSON.parse((await cliHere(cluster(), ['doctor', '-o', 'json'])).stdout) as { checks: Check[] };
    const { status, details } = checks.find(({ id }) => id === 'crd') ?? {};
    assert.deepEqual([status, details], ['warning', ['spec.versions[v1].schema']]);
  });
});

interface Crd {
  spec: { versions: [{ schema: { openAPIV3Schema: RootSchema } }] };
}
interface RootSchema {
  'x-kubernetes-validations'?: object[];
  properties: { spec: SpecSchema };
}

interface SpecSchema {
  type: string;
  properties: Record<string, Record<string, unknown>> & { labels: Record<string, unknown> };
}
