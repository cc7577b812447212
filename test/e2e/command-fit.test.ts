/** `fit`: its output, exit codes and refusals. Its decisions: fit-scheduler.test.ts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { container, createPods, preparePods } from './many-pods.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const api = () => raw(cluster());
const fit = (...args: string[]) => cliHere(cluster(), ['fit', ...args]);

const SMALL = { cpu: '4', memory: '8Gi', pods: '20' };
const GPU = { key: 'gpu', value: 'yes', effect: 'NoSchedule' } as const;

beforeEach(async () => {
  await preparePods(cluster());
  await api().expect('DELETE', '/api/v1/namespaces/default/resourcequotas');
  await testEnv.nodes(
    { name: 'g1', labels: role('gpu'), taints: [GPU], allocatable: { ...SMALL, 'nvidia.com/gpu': '8' } },
    { name: 'w1', labels: role('worker'), allocatable: SMALL },
    { name: 'w2', labels: role('worker'), allocatable: SMALL },
    { name: 'w3', labels: role('worker'), allocatable: SMALL, unschedulable: true },
    { name: 'x', allocatable: { ...SMALL, cpu: '1' } },
  );
  await testEnv.pool('gpu', {}, { metadata: { labels: { team: 'ml' } } });
  await testEnv.pool('worker');
  const asks = { cpu: '1', memory: '1Gi' };
  await createPods(cluster(), 'w1', [{ name: 'p', spec: { containers: [container('a', asks)] } }]);
});

async function file(object: object | string, name = 'web.json'): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'nodepool-fit-')), name);
  await writeFile(path, typeof object === 'string' ? object : JSON.stringify(object));
  return path;
}

function deployment(spec: object, kind = 'Deployment'): object {
  const containers = [container('a', { cpu: '2', memory: '1Gi' })];
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers, ...spec } };
  return { apiVersion: 'apps/v1', kind, metadata: { name: 'web' }, spec: { template } };
}

test('shows for each pool whether a pod fits, how many replicas, and why not', async () => {
  const { code, stdout, stderr } = await fit('-f', await file(deployment({})));
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.equal(
    stdout,
    `
Deployment default/web: cpu 2, memory 1Gi
POOL    FITS  NODES  REPLICAS  WHY
gpu     no    0/1    0         1 node(s) had untolerated taint(s) (gpu=yes:NoSchedule)
worker  yes   2/3    3         1 node(s) were unschedulable
<none>  no    0/1    0         1 Insufficient cpu (2 requested, at most 1 free on a node)
TOTAL   yes   2/5    3         1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable
`.slice(1),
  );
});

test('--replicas fails if the chosen pools take fewer replicas', async () => {
  const path = await file(deployment({}));
  const enough = await fit('-f', path, '--replicas', '3');
  assert.deepEqual([enough.code, enough.stdout.split('\n').at(-2)], [0, '3 replicas fit.']);
  const few = await fit('-f', path, '--replicas=4');
  assert.deepEqual([few.code, few.stdout.split('\n').at(-2)], [1, '3 of 4 replicas fit.']);
  const gpu = await fit('-f', path, '--pool', 'gpu', '--no-headers');
  assert.deepEqual(
    [gpu.code, gpu.stdout],
    [1, 'gpu  no  0/1  0  1 node(s) had untolerated taint(s) (gpu=yes:NoSchedule)\n'],
  );
  const selected = await fit('-f', path, '-l', 'team=ml', '--no-headers');
  assert.equal(selected.stdout, gpu.stdout);
});

test('the current slot of an existing pod counts as free', async () => {
  const { code, stdout } = await fit('w1-p', '--pool', 'worker');
  assert.equal(code, 0);
  assert.equal(
    stdout,
    `
Pod default/w1-p: cpu 1, memory 1Gi
POOL    FITS  NODES  REPLICAS  WHY
worker  yes   2/3    8         1 node(s) were unschedulable
Evaluated as a new pod; its current slot counts as free.
`.slice(1),
  );
  for (const named of [['default/w1-p'], ['w1-p', '-n', 'default'], ['w1-p', '--namespace=default']]) {
    assert.deepEqual((await fit(...named, '--pool', 'worker')).stdout, stdout);
  }
});

test('a DaemonSet has one pod per node, also on a cordoned node', async () => {
  const { stdout } = await fit('-f', await file(deployment({}, 'DaemonSet')), '--pool', 'worker', '--no-headers');
  assert.equal(stdout, 'worker  yes  3/3  3  <none>\n');
});

test('reads several documents of different kinds from stdin', async t => {
  const classes = '/apis/storage.k8s.io/v1/storageclasses';
  const late = { provisioner: 'example.com/late', volumeBindingMode: 'WaitForFirstConsumer' };
  await api().expect('POST', classes, { metadata: { name: 'late' }, ...late });
  t.after(() => api().expect('DELETE', `${classes}/late`));
  const pod = { containers: [container('a', { cpu: '1' })], restartPolicy: 'Never' };
  const documents = [
    { kind: 'Pod', metadata: { name: 'a' }, spec: pod },
    { kind: 'Job', metadata: { name: 'b', namespace: 'default' }, spec: { template: { spec: pod } } },
    { kind: 'CronJob', metadata: { name: 'c' }, spec: { jobTemplate: { spec: { template: { spec: pod } } } } },
    {
      kind: 'StatefulSet',
      metadata: { name: 'd' },
      spec: {
        template: { spec: { ...pod, restartPolicy: 'Always' } },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: {
              accessModes: ['ReadWriteOnce'],
              storageClassName: 'late',
              resources: { requests: { storage: '1Gi' } },
            },
          },
        ],
      },
    },
  ];
  const input = documents.map(each => JSON.stringify(each)).join('\n---\n');
  const { code, stdout, stderr } = await cliHere(cluster(), ['fit', '-f', '-', '--pool', 'worker'], { stdin: input });
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual(stdout.match(/^\S+ default\/.*/gm), [
    'Pod default/a: cpu 1',
    'Job default/b: cpu 1',
    'CronJob default/c: cpu 1',
    'StatefulSet default/d: cpu 1',
  ]);
  assert.match(stdout, /Not considered: volume limits of nodes/);
});

test('counts the overhead that the server adds for a RuntimeClass', async () => {
  const { stdout } = await fit('-f', await file(deployment({ runtimeClassName: 'heavy' })), '--pool', 'worker');
  assert.match(stdout, /^Deployment default\/web: cpu 2017m, memory /);
});

test('a pod that the server refuses does not fit', async () => {
  const spec = { hard: { pods: '0' } };
  const quotas = '/api/v1/namespaces/default/resourcequotas';
  await api().expect('POST', quotas, { metadata: { name: 'none' }, spec });
  // As the quota controller writes it.
  await api().expect('PATCH', `${quotas}/none/status`, { status: { ...spec, used: { pods: '0' } } });
  const path = await file(deployment({}));
  await eventually('the server knows the quota', async () => (await fit('-f', path)).code !== 0, 30_000);
  const { code, stdout } = await fit('-f', path, '--pool', 'worker');
  assert.equal(code, 1, stdout);
  assert.match(stdout, /The server rejects this pod: .*exceeded quota/);
});

test('refuses invalid input and names the field', async () => {
  const cases: [object | string, RegExp][] = [
    [{ kind: 'Service', metadata: { name: 'x' } }, /a Service has no pod template/],
    [{ metadata: { name: 'x' } }, /the object has no kind/],
    [deployment({ containers: [] }), /spec\.template\.spec\.containers must be at least one container/],
    [deployment({ tolerations: 'x' }), /spec\.template\.spec\.tolerations must be a list/],
    [deployment({ nodeSelector: { a: ['b'] } }), /spec\.template\.spec\.nodeSelector\.a must be a text/],
    [deployment({ containers: [{ name: 'A b', image: 'i' }] }), /spec\.containers\[0\]\.name/],
  ];
  for (const [object, message] of cases) {
    const { code, stdout, stderr } = await fit('-f', await file(object));
    assert.deepEqual([code, stdout], [2, ''], stderr);
    assert.match(stderr, message);
  }
  for (const [args, code, message] of [
    [[], 2, /no pod is specified/],
    [['a', '-f', 'b'], 2, /cannot be used together/],
    [['a', '--cpu', '1'], 2, /a pod and --cpu, --memory and --gpu cannot be used together/],
    [['--cpu', '4x'], 2, /^error: --cpu: "4x" is not a quantity; next: write it like --cpu 2 or 500m/],
    [['--cpu', '0'], 2, /^error: --cpu: "0" is not more than 0; next: leave out --cpu, or request more/],
    [['--memory', '0'], 2, /^error: --memory: "0" is not more than 0; next: leave out --memory/],
    [['--gpu', '0.5'], 2, /^error: --gpu: "0.5" is not a quantity/],
    [['a/b/c'], 2, /is not a pod name/],
    [['nothing'], 2, /pod "nothing" not found in namespace default/],
    [['w1-p', '--pool', 'none'], 2, /nodepool "none" not found/],
  ] as const) {
    const found = await fit(...args);
    assert.equal(found.code, code);
    assert.match(found.stderr, message);
  }
});

test('--cpu, --memory and --gpu describe a pod without a file', async () => {
  const { code, stdout, stderr } = await fit('--cpu', '2', '--memory', '1Gi', '--replicas', '3');
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.equal(
    `\n${stdout}`,
    `
A pod with these requests: cpu 2, memory 1Gi
POOL    FITS  NODES  REPLICAS  WHY
gpu     no    0/1    0         1 node(s) had untolerated taint(s) (gpu=yes:NoSchedule)
worker  yes   2/3    3         1 node(s) were unschedulable
<none>  no    0/1    0         1 Insufficient cpu (2 requested, at most 1 free on a node)
TOTAL   yes   2/5    3         1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable
3 replicas fit.
The pod has no tolerations and no selector; use -f FILE for a pod with its own.
`,
  );
  const tainted = { key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' } as const;
  await testEnv.nodes({
    name: 'g2',
    labels: role('gpu'),
    taints: [tainted],
    allocatable: { ...SMALL, 'nvidia.com/gpu': '8' },
  });
  const ofDevice = await fit('--gpu', '1', '--pool', 'gpu');
  assert.match(ofDevice.stdout, /^gpu +yes +1\/2 +8 /m);
  assert.match(
    ofDevice.stdout,
    /^The pod has only a toleration of the taint nvidia\.com\/gpu:NoSchedule and no selector; /m,
  );
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/g2');
  const titleOf = async (...args: string[]) => (await fit(...args)).stdout.split('\n', 1)[0];
  assert.equal(await titleOf('--gpu', '1'), 'A pod with these requests: nvidia.com/gpu 1');
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/g1');
  await testEnv.nodes({ name: 'amd', labels: role('gpu'), allocatable: { ...SMALL, 'amd.com/gpu': '2' } });
  const amd = await fit('--gpu', '2', '--pool', 'gpu');
  assert.match(amd.stdout, /^A pod with these requests: amd\.com\/gpu 2\n.*\ngpu +yes +1\/1 +1 +<none>\n/);
  const intel = { 'gpu.intel.com/i915': '2', 'gpu.intel.com/memory.max': '8Gi', 'gpu.intel.com/millicores': '2000' };
  await testEnv.nodes({ name: 'intel', allocatable: { ...SMALL, ...intel } });
  assert.match(
    (await fit('--gpu', '1')).stderr,
    /--gpu: the nodes offer several resources: amd\.com\/gpu, gpu\.intel\.com\/i915;/,
  );
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/amd');
  assert.equal(await titleOf('--gpu', '1'), 'A pod with these requests: gpu.intel.com/i915 1');
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/intel');
  await testEnv.nodes({ name: 'mig', labels: role('gpu'), allocatable: { ...SMALL, 'nvidia.com/mig-1g.5gb': '7' } });
  const mig = await fit('--gpu', '7', '--pool', 'gpu');
  assert.match(mig.stdout, /^A pod with these requests: nvidia\.com\/mig-1g\.5gb 7\n.*\ngpu +yes +1\/1 +1 +<none>\n/);
});

test('skips objects without a pod template and names their kinds', async () => {
  const others = ['Service', 'ConfigMap', 'Service'].map(kind => ({ apiVersion: 'v1', kind, metadata: { name: 'x' } }));
  const input = [deployment({}), ...others].map(each => JSON.stringify(each)).join('\n---\n');
  const { code, stdout, stderr } = await cliHere(cluster(), ['fit', '-f', '-'], { stdin: input });
  assert.equal(code, 0, stderr);
  assert.deepEqual(stdout.match(/^\S+ default\/\w+/gm), ['Deployment default/web']);
  assert.match(stderr, /^warning: left out: no pod template: ConfigMap, Service$/m);
});

test('an empty file and a URL that does not answer are errors', async t => {
  const empty = await cliHere(cluster(), ['fit', '-f', '-'], { stdin: '' });
  assert.deepEqual(
    [empty.code, empty.stderr],
    [2, 'error: stdin: contains no object; next: add a pod or a workload to the file, or name another file\n'],
  );
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const silent = await fit('-f', `http://127.0.0.1:${port}/web.yaml`, '--request-timeout', '1s');
  assert.match(silent.stderr, /no answer within 1 s; next: try again, or wait longer with --request-timeout/);
});

test('-o json prints every figure', async () => {
  const { stdout } = await fit('-f', await file(deployment({})), '-o', 'json');
  const { kind, items } = JSON.parse(stdout) as { kind: string; items: { pools: { name: string }[] }[] };
  assert.equal(kind, 'PodFitList');
  assert.deepEqual(items[0]?.pools[1], {
    name: 'worker',
    fits: true,
    nodeCount: 3,
    fittingNodeCount: 2,
    replicas: 3,
    maxReplicas: 3,
    reasons: [{ message: 'node(s) were unschedulable', nodeCount: 1, details: [] }],
  });
});
