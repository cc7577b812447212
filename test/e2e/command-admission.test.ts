/** `install --admission`, and how doctor and uninstall treat the policy. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeKubeconfig } from '../cluster/credentials.ts';
import { cliHere, useCluster } from '../cluster/harness.ts';
import { before } from '../cluster/minor.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { doctorOf } from './doctoring.ts';
import { eventually } from './watching.ts';

const cluster = useCluster({ own: true });
const { ok, refused, unchanged } = commandsOf(cluster);
const doctor = doctorOf(cluster);
const api = () => raw(cluster());
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const BORN = 'born-in-pool.nodes.lailin.xyz';
const LINES = [
  'customresourcedefinition.apiextensions.k8s.io/nodepools.nodes.lailin.xyz',
  ...['protect-records', 'protect-membership'].flatMap(name =>
    ['', 'binding'].map(
      kind => `validatingadmissionpolicy${kind}.admissionregistration.k8s.io/${name}.nodes.lailin.xyz`,
    ),
  ),
  ...['', 'binding'].map(kind => `mutatingadmissionpolicy${kind}.admissionregistration.k8s.io/${BORN}`),
];
const all = (what: string) => LINES.map(line => `${line} ${what}\n`).join('');

test('refuses a server without admission policies in one line, before any write', { skip }, async () => {
  const server = await cluster().startAnother(cluster().etcdUrl, [
    '--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false',
    // It would wait for the policies forever.
    '--disable-admission-plugins=MutatingAdmissionPolicy',
  ]);
  const { ca, admin, dir } = cluster();
  const kubeconfig = `${dir}/older`;
  await writeKubeconfig(kubeconfig, server, ca, admin);
  const older = { ...cluster(), kubeconfig };
  const line =
    'error: the server does not serve MutatingAdmissionPolicy in admissionregistration.k8s.io/v1, which --admission needs; nothing was changed; next: upgrade the server to Kubernetes 1.36 or later, or leave out --admission\n';
  for (const flags of [[], ['--controller'], ['--dry-run'], ['--dry-run=server']]) {
    const { code, stdout, stderr } = await cliHere(older, ['install', '--admission', ...flags]);
    assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: line }, flags.join());
  }
  assert.equal((await api().request('GET', CRD)).status, 404);
  // Everything else works there.
  assert.equal((await cliHere(older, ['install'])).code, 0);
  const { stdout, stderr } = await cliHere(older, ['doctor', '--all']);
  assert.match(stdout, /ok +policies/, stdout + stderr);
  assert.equal((await cliHere(older, ['uninstall', '--controller'])).stdout, 'the controller is not installed\n');
  const { code, stderr: said } = await cliHere(older, ['uninstall', '--yes']);
  assert.deepEqual([code, said], [0, '']);
});

test('installs the policies once, and prints them without a cluster', { skip }, async () => {
  const printed = await unchanged(['install', '--admission', '--dry-run', '-o', 'json'], {
    env: { KUBECONFIG: '/no' },
  });
  const { items } = JSON.parse(printed.stdout) as { items: { kind: string; metadata: { name: string } }[] };
  assert.deepEqual(items.map(({ kind, metadata }) => `${kind} ${metadata.name.split('.')[0]}`).slice(-2), [
    'MutatingAdmissionPolicy born-in-pool',
    'MutatingAdmissionPolicyBinding born-in-pool',
  ]);
  assert.equal((await unchanged(['install', '--admission', '--dry-run'])).stdout, all('created (dry run)'));
  assert.equal(await ok(['install', '--admission']), all('created'));
  assert.equal(await ok(['install', '--admission']), all('unchanged'));
  assert.equal(await ok(['install', '--admission', '--dry-run']), all('unchanged (dry run)'));
  await refused(['install', '--no-policies'], 2, /--no-policies is only valid with --controller/);
  await refused(['install', '--admission', '--image', 'a/b'], 2, /--image is only valid with --controller/);
});

test('doctor names a policy that differs, is not bound, or is not protected', { skip }, async () => {
  const policies = async () => (await doctor()).find('policies');
  const missing = (name: string) => [`${name}: missing, or different from this version`];
  assert.equal((await policies()).status, 'ok');
  const change = { spec: { failurePolicy: 'Fail' } };
  await api().expect('PATCH', `${REGISTRATION}/mutatingadmissionpolicies/${BORN}`, change);
  const { status, message, details, remedy } = await policies();
  assert.deepEqual([status, details], ['warning', missing(BORN)]);
  assert.match(`${message} ${remedy}`, /not in force .*install --admission/);
  assert.match(await ok(['install', '--admission']), new RegExp(`${BORN} configured`));
  assert.equal((await policies()).status, 'ok');
  await api().expect('DELETE', `${REGISTRATION}/mutatingadmissionpolicybindings/${BORN}`);
  assert.deepEqual((await policies()).details, missing(BORN));
  await ok(['install', '--admission']);
  const records = 'protect-records.nodes.lailin.xyz';
  await api().expect('DELETE', `${REGISTRATION}/validatingadmissionpolicybindings/${records}`);
  assert.deepEqual([(await policies()).status, (await policies()).details], ['warning', missing(records)]);
  await ok(['install', '--admission']);
});

test('install removes what another field manager adds to a policy', { skip }, async () => {
  const conditions = (path: string) =>
    api().request(
      'PATCH',
      `${REGISTRATION}/${path}?fieldManager=somebody&force=true`,
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: path.startsWith('mutating') ? 'MutatingAdmissionPolicy' : 'ValidatingAdmissionPolicy',
        spec: { matchConditions: [{ name: 'never', expression: 'false' }] },
      },
      'application/apply-patch+yaml',
    );
  for (const [plural, name] of [
    ['mutatingadmissionpolicies', BORN],
    ['validatingadmissionpolicies', 'protect-records.nodes.lailin.xyz'],
    ['validatingadmissionpolicies', 'protect-membership.nodes.lailin.xyz'],
  ] as const) {
    assert.equal((await conditions(`${plural}/${name}`)).status, 200);
    const isMutating = name === BORN;
    if (isMutating) assert.equal((await doctor()).find('policies').status, 'warning');
    for (const dryRun of isMutating ? ['--dry-run', '--dry-run=server'] : []) {
      assert.match((await unchanged(['install', '--admission', dryRun])).stdout, new RegExp(`${name} configured`));
    }
    const { code, stdout, stderr } = await cliHere(cluster(), ['install', '--admission']);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`/${name} configured`));
    assert.match(
      stderr,
      new RegExp(`^warning: replaced parts of the spec of \\S+${name} that other field managers set: somebody`),
    );
  }
  assert.equal((await doctor()).find('policies').status, 'ok');
  assert.equal(await ok(['install', '--admission']), all('unchanged'));
});

test('uninstall removes the birth policy first, and all policies with --controller or the CRD', {
  skip,
}, async () => {
  await createNodes(cluster(), [{ name: 'n', labels: { 'node-role.kubernetes.io/a': '' } }]);
  await ok(['create', 'a', '--label', 'tier=gold', '--reconcile']);
  const dry = await unchanged(['uninstall', '--cascade', '--dry-run']);
  assert.match(dry.stdout, /^mutatingadmissionpolicybinding\S* "born-in-pool\S*" deleted \(dry run\)\nmutating/);
  const out = await ok(['uninstall', '--cascade', '--yes']);
  assert.deepEqual(
    out.split('\n').map(line => line.split(' ')[0]?.split('.')[0]),
    [
      ...['mutatingadmissionpolicybinding', 'mutatingadmissionpolicy', 'nodepool'],
      ...['validatingadmissionpolicybinding', 'validatingadmissionpolicy'],
      ...['validatingadmissionpolicybinding', 'validatingadmissionpolicy'],
      ...['customresourcedefinition', ''],
    ],
  );
  for (const plural of ['policies', 'policybindings']) {
    const left = (await api().expect('GET', `${REGISTRATION}/validatingadmission${plural}`)) as { items: object[] };
    assert.deepEqual(left.items, []);
  }
  assert.equal((await api().request('GET', `${REGISTRATION}/mutatingadmissionpolicies/${BORN}`)).status, 404);
  await ok(['install', '--admission']);
  const removed = await ok(['uninstall', '--controller', '--yes']);
  assert.equal(removed.match(/deleted$/gm)?.length, LINES.length - 1);
  // Where somebody deleted the CRD with kubectl, it says what is left.
  await ok(['install', '--admission']);
  await api().expect('DELETE', CRD);
  await eventually('it is gone', async () => (await api().request('GET', CRD)).status === 404);
  const { stdout, stderr } = await cliHere(cluster(), ['uninstall']);
  assert.match(stdout, /is not installed/);
  assert.match(stderr, /^warning: still installed: .*"protect-records.*; next: .*uninstall --controller/);
  await ok(['uninstall', '--controller', '--yes']);
  assert.equal(await ok(['uninstall', '--controller']), 'the controller is not installed\n');
});
