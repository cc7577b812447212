/** Jobs of the workflows: their credentials, and what they test. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { create } from 'tar';
import { platformOf } from '../../../scripts/package/npm-manifest.ts';
import { nameOf, TARGETS } from '../../../scripts/package/targets.ts';
import { ROOT } from '../../../scripts/root.ts';
import { type Job, neededBy, release, workflows } from './workflows.ts';

const jobs = workflows.flatMap(({ file, jobs }) =>
  Object.entries(jobs).map(([name, job]) => ({ id: `${file.replace(/^.*\//, '')} ${name}`, job })),
);
const scriptOf = ({ steps }: Job) => steps.map(({ run = '' }) => run).join('\n');

test('each job that signs with cosign logs in first, and signs no empty digest', () => {
  const signing = jobs.filter(({ job }) => scriptOf(job).includes('cosign sign '));
  assert.deepEqual(
    signing.map(({ id }) => id),
    ['release.yml image', 'release.yml chart'],
  );
  for (const { id, job } of signing) {
    const [before = ''] = scriptOf(job).split('cosign sign ');
    assert.match(before, /^echo "\$GH_TOKEN" \| cosign login ghcr\.io .*--password-stdin$/m, id);
    // `oras resolve` fails without one.
    assert.match(before, /^digest=\$\(oras resolve |^if \[ -z "\$digest" \]; then$/m, id);
    // Without it, what fails before a pipe is not noticed.
    if (before.includes('| tee ')) assert.match(before, /^set -o pipefail$/m, id);
  }
});

test('changes and releases are tested on real nodes with cached Debian 12 packages', () => {
  const onNodes = jobs.filter(({ job }) => scriptOf(job).includes('npm run test:node'));
  assert.deepEqual(
    onNodes.map(({ id }) => id),
    ['pull-request.yml real-nodes', 'release.yml real-nodes'],
  );
  for (const { id, job } of onNodes) {
    const packages = job.steps.findIndex(({ uses }) => uses === './.github/actions/debian');
    const tests = job.steps.findIndex(({ run }) =>
      /^sudo .*"XDG_CACHE_HOME=\$HOME\/\.cache" npm run test:node$/.test(run ?? ''),
    );
    assert.ok(packages >= 0 && packages < tests, id);
    // The upgrade starts from an earlier commit, without which it is skipped.
    assert.equal(job.steps.find(({ uses = '' }) => uses.startsWith('actions/checkout@'))?.with?.['fetch-depth'], 0, id);
  }
  // What is published needs them.
  for (const [name, { environment }] of Object.entries(release.jobs)) {
    if (environment !== undefined) assert.ok(neededBy(name).includes('real-nodes'), name);
  }
});

test('a run of only real-node tests fails where real nodes cannot run', () => {
  // Without programs there are no namespaces.
  const { status, stderr } = spawnSync(process.execPath, ['scripts/test.ts', 'test/node/'], {
    cwd: ROOT,
    env: { ...process.env, PATH: '' },
    encoding: 'utf8',
  });
  assert.match(stderr, /the tests on real nodes cannot run: a real node needs/);
  assert.equal(status, 1);
});

test('every executable is started on its platform before it is published', () => {
  const { include } = (release.jobs.start as Job).strategy?.matrix ?? { include: [] };
  assert.deepEqual(include.map(({ target }) => target).sort(), TARGETS.map(nameOf).sort());
  const runners = { linux: 'ubuntu', darwin: 'macos', windows: 'windows' };
  for (const { os, arch, ...target } of TARGETS) {
    const { runner = '', npm } = include.find(one => one.target === nameOf({ os, arch, ...target })) ?? {};
    assert.equal(npm, platformOf({ os, arch, ...target }));
    assert.ok(runner.startsWith(runners[os]), runner);
    // The runners of macOS are arm64 but for those that say intel.
    const isArm = os === 'darwin' ? !runner.endsWith('-intel') : runner.endsWith('-arm');
    assert.equal(isArm, arch === 'arm64', runner);
  }
  for (const [name, { environment }] of Object.entries(release.jobs)) {
    if (environment !== undefined) assert.ok(neededBy(name).includes('start'), name);
  }
});

test('the image archive can be loaded by every image store of docker', () => {
  const script = scriptOf(release.jobs.start as Job);
  assert.match(
    script,
    /^skopeo copy "oci-archive:\S+-image\.tar:\$version" docker-archive:image\.tar:(\S+)\n.*load --input image\.tar\n.* \1 version/m,
  );
});

test('every change runs npm run image, which needs the C library', () => {
  const { steps = [] } = workflows.find(({ file }) => file.endsWith('/pull-request.yml'))?.jobs.test ?? {};
  const [image, libc] = [
    steps.find(({ run }) => run === 'npm run image'),
    steps.find(({ uses }) => uses === './.github/actions/debian'),
  ];
  assert.ok(image?.if);
  assert.equal(image.if, libc?.if);
});

test('npm publishes the platform packages first, then the main package, each once', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-publish-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const pack = async (path: string, name: string) => {
    mkdirSync(join(folder, 'package'), { recursive: true });
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify({ name }));
    await create({ file: join(folder, path), cwd: folder, gzip: true }, ['package']);
  };
  // The chart has the same ending.
  await pack('release/kubectl-nodepool-chart-1.2.3.tgz', 'chart');
  await pack('release/kubectl-nodepool-1.2.3.tgz', 'main');
  await pack('platforms/kubectl-nodepool-linux-x64-1.2.3.tgz', '@scope/linux-x64');
  await pack('platforms/kubectl-nodepool-win32-x64-1.2.3.tgz', '@scope/win32-x64');
  // This version of linux-x64 is there, and only an older one of win32-x64.
  const npm = `npm() {
    case "$*" in
      'view @scope/linux-x64@1.2.3 version') echo 1.2.3 ;;
      view*) return 1 ;;
      'publish --ignore-scripts ./platforms/kubectl-nodepool-darwin'*) return 1 ;;
      *) echo "$*" ;;
    esac
  }`;
  // As GitHub runs scripts without a `shell`.
  const publish = () =>
    spawnSync('bash', ['-e', '-c', `${npm}\n${scriptOf(release.jobs.npm as Job)}`], {
      cwd: folder,
      env: { ...process.env, GITHUB_REF_NAME: 'v1.2.3' },
      encoding: 'utf8',
    });
  const { status, stdout, stderr } = publish();
  assert.deepEqual(
    [status, stdout.trim().split('\n')],
    [
      0,
      [
        'publish --ignore-scripts ./platforms/kubectl-nodepool-win32-x64-1.2.3.tgz',
        'publish --ignore-scripts ./release/kubectl-nodepool-1.2.3.tgz',
      ],
    ],
    stderr,
  );
  // Without one platform there is no main package.
  await pack('platforms/kubectl-nodepool-darwin-x64-1.2.3.tgz', '@scope/darwin-x64');
  const failed = publish();
  assert.deepEqual([failed.status, failed.stdout], [1, '']);
});
