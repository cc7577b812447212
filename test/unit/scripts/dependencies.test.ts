/** Inputs of a release: packages, Go modules, actions and downloads are pinned by hash, and jobs have few permissions. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { load } from 'js-yaml';
import { BUN_VERSION, TARGETS } from '../../../scripts/package/targets.ts';
import { projectFiles, ROOT } from '../../../scripts/root.ts';
import { run } from '../../cluster/run.ts';
import { npmEnvironment, npmIn, startNpmRegistry } from '../../package/npm-registry.ts';
import { release, workflows } from './workflows.ts';

const folder = mkdtempSync(join(tmpdir(), 'nodepool-scripts-'));
after(() => rmSync(folder, { recursive: true }));
const registry = await startNpmRegistry({ after });

const text = (file: string) => readFileSync(join(ROOT, file), 'utf8');

interface Manifest {
  dependencies?: object;
  devDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

interface Locked {
  version?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  hasInstallScript?: boolean;
}

interface Lock {
  packages: Record<string, Locked>;
}

const manifest = JSON.parse(text('package.json')) as Manifest;
const lockFiles = projectFiles('{,{scripts,site}/**/}package-lock.json')
  .filter(file => !file.includes('node_modules'))
  .map(file => ({
    file,
    locked: Object.entries((JSON.parse(text(file)) as Lock).packages).filter(([folder]) => folder !== ''),
  }));

test('every package is locked with its SHA-512, without a registry host', () => {
  assert.ok(lockFiles.length >= 3);
  for (const { file, locked } of lockFiles) {
    assert.ok(locked.length > 10, file);
    for (const [folder, { version, integrity, resolved, link }] of locked) {
      assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, folder);
      assert.match(version ?? '', /^\d+\.\d+\.\d+/, folder);
      assert.deepEqual([resolved, link], [undefined, undefined], folder);
    }
  }
});

test('package.json has exact versions, and no dependencies at run time', () => {
  assert.equal(manifest.dependencies, undefined);
  for (const [name, version] of Object.entries(manifest.devDependencies))
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
});

test('only named packages may run install scripts', () => {
  const allowed = Object.keys(manifest.allowScripts);
  const locked = lockFiles.find(({ file }) => file === 'package-lock.json')?.locked;
  const runs = locked?.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([folder]) => folder);
  // A script of an optional package of another platform is never run.
  const unknown = runs?.map(folder => folder.replace(/^.*node_modules\//, '')).filter(name => !allowed.includes(name));
  assert.deepEqual(
    unknown?.filter(name => name !== 'fsevents'),
    [],
  );
});

const skip = process.platform === 'win32' && 'npm is a script there';

describe('a package that is not named', { skip, timeout: 300_000 }, () => {
  const ran = () => ['evil', 'node'].filter(name => existsSync(join(folder, `${name}-ran`)));
  /** It notes that it ran, and installs the Node of this run. */
  const script = (name: string) => `
    const fs = require('node:fs');
    fs.writeFileSync(${JSON.stringify(join(folder, `${name}-ran`))}, '');
    fs.mkdirSync('bin', { recursive: true });
    fs.symlinkSync(${JSON.stringify(process.execPath)}, 'bin/node');\n`;
  const own = join(folder, 'own');
  let isStrict: boolean;

  before(async () => {
    for (const name of ['evil', 'node']) {
      const files = join(folder, name);
      mkdirSync(files);
      writeFileSync(join(files, 'install.cjs'), script(name));
      const scripts = { postinstall: 'node install.cjs' };
      writeFileSync(join(files, 'package.json'), JSON.stringify({ name, version: '1.0.0', scripts }));
      assert.equal((await npmIn(folder, registry, ['pack', files])).code, 0);
      await registry.publish(join(folder, `${name}-1.0.0.tgz`));
    }
    const [major = 0, minor = 0] = (await npmIn(folder, registry, ['--version'])).stdout.split('.').map(Number);
    isStrict = major > 11 || (major === 11 && minor >= 19);
    mkdirSync(join(own, 'scripts'), { recursive: true });
    for (const file of ['.npmrc', 'scripts/setup.mjs']) copyFileSync(join(ROOT, file), join(own, file));
    writeFileSync(join(own, 'scripts', 'check-tag.ts'), "const text: string = 'notes';\nconsole.log(text);\n");
    const dependencies = { evil: '1.0.0', node: '1.0.0' };
    const { allowScripts } = manifest;
    writeFileSync(join(own, 'package.json'), JSON.stringify({ name: 'own', dependencies, allowScripts }));
    const { code, stderr } = await npmIn(folder, registry, ['install', '--package-lock-only', '--ignore-scripts'], own);
    assert.equal(code, 0, stderr);
  });

  beforeEach(() => {
    for (const name of ran()) rmSync(join(folder, `${name}-ran`));
    rmSync(join(own, 'node_modules'), { recursive: true, force: true });
  });

  test('runs its install script where npm allows all', async () => {
    const { code, stderr } = await npmIn(folder, registry, ['ci', '--dangerously-allow-all-scripts'], own);
    assert.equal(code, 0, stderr);
    assert.deepEqual(ran(), ['evil', 'node']);
  });

  test('is refused by npm ci and the npm scripts, with its name', async t => {
    if (!isStrict) return t.skip('npm 11.19 is the first that refuses');
    const env = npmEnvironment(folder, registry);
    for (const command of [
      ['npm', 'ci'],
      [process.execPath, 'scripts/setup.mjs'],
    ] as const) {
      const { code, stderr } = await run(command[0], command.slice(1), { cwd: own, env });
      assert.equal(code, 1);
      assert.match(stderr, /ESTRICTALLOWSCRIPTS.*evil@1\.0\.0 \(/s);
    }
    assert.deepEqual(ran(), []);
  });

  test('runs no install script in a release, even with an npm that does not refuse it', async () => {
    const env = { ...npmEnvironment(folder, registry), npm_config_strict_allow_scripts: 'false' };
    const jobs = Object.values(release.jobs).filter(({ steps }) =>
      steps.some(({ uses = '' }) => /checkout/.test(uses)),
    );
    assert.equal(jobs.length, 2);
    for (const { steps } of jobs) {
      const { run: command = '' } = steps.find(step => /npm|setup\.mjs/.test(step.run ?? '')) ?? {};
      rmSync(join(own, 'node_modules'), { recursive: true, force: true });
      const { code, stderr } = await run('sh', ['-ec', command], { cwd: own, env, timeoutMs: 120_000 });
      assert.equal(code, 0, stderr);
      assert.ok(existsSync(join(own, 'node_modules', 'evil')));
      assert.deepEqual(ran(), ['node'], command);
    }
  });
});

test('workflows install packages by scripts/setup.mjs, or without install scripts', () => {
  const scripts = workflows
    .flatMap(({ jobs }) => Object.values(jobs))
    .flatMap(({ steps }) => steps.map(one => one.run));
  // Those of the release are installed to start them.
  for (const [command] of scripts.join('\n').matchAll(/\bnpm (ci|i|install)\b.*/g))
    assert.match(command, / --ignore-scripts| \.\/platform\.tgz \.\/main\.tgz$/);
});

test('go.sum has the hash of every required Go module', () => {
  const modules = globSync('test/cluster/go/*/*.mod', { cwd: ROOT });
  assert.ok(modules.length > 4);
  for (const file of modules) {
    const sums = new Set(
      text(file.replace(/mod$/, 'sum'))
        .split('\n')
        .map(line => line.split(' h1:')[0]),
    );
    const replaced = new Map(
      [...text(file).matchAll(/(\S+) => (\S+) (v\S+)/g)].map(([, name = '', ...one]) => [name, one]),
    );
    const required = [...text(file).matchAll(/^(?:\t|require )(\S+) (v\S+)/gm)].map(([, name = '', version = '']) =>
      (replaced.get(name) ?? [name, version]).join(' '),
    );
    assert.ok(required.length > 0, file);
    for (const one of required) assert.ok(sums.has(`${one}/go.mod`), `${file}: ${one}`);
  }
});

test('the Bun of every platform is pinned by SHA-512, with a version that scanners see', () => {
  for (const { bun, integrity } of TARGETS) assert.match(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, bun);
  const { locked } = lockFiles.find(({ file }) => file.startsWith('scripts/package/bun/')) ?? { locked: [] };
  for (const [folder, { version }] of locked) assert.equal(version, BUN_VERSION, folder);
});

test('every action is pinned to a commit, with its version as comment', () => {
  let count = 0;
  for (const file of globSync('.github/{workflows/*,actions/*/action}.yml', { cwd: ROOT })) {
    for (const [, used = ''] of text(file).matchAll(/uses:(.*)/g)) {
      count++;
      // Actions of this repository come with its commit.
      assert.match(
        used,
        /^ ([\w-]+\/[\w-]+(\/[\w-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/actions\/[\w-]+)$/,
        file,
      );
    }
  }
  assert.ok(count > 8);
});

test('workflows are read-only by default, and writing ones need approval and run no dependencies', () => {
  assert.deepEqual(
    workflows.map(({ file }) => file.replace(/^.*\//, '')),
    ['advisories.yml', 'codeql.yml', 'dependency-review.yml', 'pull-request.yml', 'release.yml', 'site.yml'],
  );
  for (const { file, source, on, permissions, jobs } of workflows) {
    assert.deepEqual(permissions, { contents: 'read' }, file);
    // Not pull_request_target or comments: those run with this repository's token.
    for (const trigger of Object.keys(on))
      assert.ok(['pull_request', 'push', 'schedule', 'workflow_dispatch'].includes(trigger), trigger);
    if ('pull_request' in on) assert.doesNotMatch(source, /secrets\./, file);
    for (const [name, { permissions: own = {}, environment, steps }] of Object.entries(jobs)) {
      // Results of CodeQL are not published.
      const writes = Object.entries(own).some(([scope, right]) => right === 'write' && scope !== 'security-events');
      const protectedBy = 'pages' in own ? 'github-pages' : 'release';
      assert.equal(environment, writes ? protectedBy : undefined, `${file}: ${name}`);
      for (const { uses = '', run = '', with: given = {} } of steps) {
        if (uses.startsWith('actions/checkout@')) assert.equal(given['persist-credentials'], false, `${file}: ${name}`);
        if (uses.startsWith('actions/setup-node@'))
          assert.equal(given['package-manager-cache'], false, `${file}: ${name}`);
        if (uses.startsWith('actions/setup-go@')) assert.equal(given.cache, false, `${file}: ${name}`);
        // A branch name or title would become part of the script.
        assert.doesNotMatch(run, /\$\{\{(?! matrix\.)/, `${file}: ${name}`);
        for (const [publish] of run.matchAll(/npm publish.*/g)) {
          assert.match(publish, /^npm publish --ignore-scripts /, `${file}: ${name}`);
        }
        if (writes) assert.doesNotMatch(run + uses, /npm (ci|install|run|test)|checkout/, `${file}: ${name}`);
      }
    }
  }
});

test('pull requests are analysed, and new dependencies in every scope checked', () => {
  const uses = (action: string) =>
    workflows
      .filter(({ on }) => 'pull_request' in on)
      .flatMap(({ jobs }) => Object.values(jobs).flatMap(({ steps }) => steps))
      .find(step => step.uses?.startsWith(`${action}@`));
  assert.ok(uses('github/codeql-action/analyze'));
  // By default only those of `dependencies`, of which there are none.
  assert.equal(uses('actions/dependency-review-action')?.with?.['fail-on-scopes'], 'runtime, development, unknown');
});

test('advisories are checked daily, and updates proposed for everything pinned', () => {
  const daily = workflows.find(({ file }) => file.endsWith('advisories.yml'));
  assert.match(JSON.stringify(daily?.on.schedule), /"\d+ \d+ \* \* \*"/);
  assert.match(daily?.source ?? '', /- run: npm audit\n/);
  assert.match(
    daily?.source ?? '',
    /- run: npm audit --package-lock-only\n +working-directory: scripts\/package\/bun\n/,
  );
  const { updates } = load(text('.github/dependabot.yml')) as {
    updates: { 'package-ecosystem': string; directories?: string[] }[];
  };
  assert.deepEqual([...new Set(updates.map(one => one['package-ecosystem']))].sort(), [
    'github-actions',
    'gomod',
    'npm',
  ]);
  const folders = (ecosystem: string) =>
    updates.flatMap(one => (one['package-ecosystem'] === ecosystem ? (one.directories ?? []) : [])).sort();
  const locks = lockFiles.map(({ file }) => (dirname(file) === '.' ? '/' : `/${dirname(file)}`));
  assert.deepEqual(folders('npm'), locks.sort());
  // The generator of older kubectl's completion scripts keeps its version.
  const modules = globSync('test/cluster/go/*/go.mod', { cwd: ROOT }).filter(file => !file.includes('/completion/'));
  assert.deepEqual(folders('gomod'), modules.map(file => `/${dirname(file)}`).sort());
});
