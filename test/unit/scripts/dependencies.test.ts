/** Inputs of a release: packages, Go modules, actions and downloads are pinned by hash, and jobs have few permissions. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { TARGETS } from '../../../scripts/package/targets.ts';
import { ROOT } from '../../../scripts/root.ts';

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

const manifest = JSON.parse(text('package.json')) as Manifest;
const { packages } = JSON.parse(text('package-lock.json')) as { packages: Record<string, Locked> };
const locked = Object.entries(packages).filter(([folder]) => folder !== '');

test('every package is locked with its SHA-512, without a registry host', () => {
  assert.ok(locked.length > 200);
  for (const [folder, { version, integrity, resolved, link }] of locked) {
    assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, folder);
    assert.match(version ?? '', /^\d+\.\d+\.\d+/, folder);
    assert.deepEqual([resolved, link], [undefined, undefined], folder);
  }
});

test('package.json has exact versions, and no dependencies at run time', () => {
  assert.equal(manifest.dependencies, undefined);
  for (const [name, version] of Object.entries(manifest.devDependencies))
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
});

test('only named packages may run install scripts', () => {
  const allowed = Object.keys(manifest.allowScripts);
  const runs = locked.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([folder]) => folder);
  // A script of an optional package of another platform is never run.
  const unknown = runs.map(folder => folder.replace(/^.*node_modules\//, '')).filter(name => !allowed.includes(name));
  assert.deepEqual(
    unknown.filter(name => name !== 'fsevents'),
    [],
  );
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

test('the Bun of every platform is pinned by its SHA-512', () => {
  for (const { bun, integrity } of TARGETS) assert.match(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, bun);
});

interface Job {
  permissions?: Record<string, string>;
  environment?: string;
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
}

interface Workflow {
  on: Record<string, unknown>;
  permissions: object;
  jobs: Record<string, Job>;
}

const workflows = globSync('.github/workflows/*.yml', { cwd: ROOT }).map(file => ({
  file,
  source: text(file),
  ...(load(text(file)) as Workflow),
}));

test('every action is pinned to a commit, with its version as comment', () => {
  let count = 0;
  for (const file of globSync('.github/{workflows/*,actions/*/action}.yml', { cwd: ROOT })) {
    for (const [, used = ''] of text(file).matchAll(/uses:(.*)/g)) {
      count++;
      // Actions of this repository come with its commit.
      assert.match(used, /^ ([\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/actions\/[\w-]+)$/, file);
    }
  }
  assert.ok(count > 8);
});

test('workflows are read-only by default; those that may write need approval and run no dependencies', () => {
  assert.deepEqual(
    workflows.map(({ file }) => file.replace(/^.*\//, '')),
    ['advisories.yml', 'pull-request.yml', 'release.yml'],
  );
  for (const { file, source, on, permissions, jobs } of workflows) {
    assert.deepEqual(permissions, { contents: 'read' }, file);
    // Not pull_request_target or comments: those run with this repository's token.
    for (const trigger of Object.keys(on))
      assert.ok(['pull_request', 'push', 'schedule', 'workflow_dispatch'].includes(trigger), trigger);
    if ('pull_request' in on) assert.doesNotMatch(source, /secrets\./, file);
    for (const [name, { permissions: own = {}, environment, steps }] of Object.entries(jobs)) {
      const writes = Object.values(own).includes('write');
      assert.equal(environment, writes ? 'release' : undefined, `${file}: ${name}`);
      for (const { uses = '', run = '', with: given = {} } of steps) {
        if (uses.startsWith('actions/checkout@')) assert.equal(given['persist-credentials'], false, `${file}: ${name}`);
        if (uses.startsWith('actions/setup-node@'))
          assert.equal(given['package-manager-cache'], false, `${file}: ${name}`);
        if (uses.startsWith('actions/setup-go@')) assert.equal(given.cache, false, `${file}: ${name}`);
        // A branch name or title would become part of the script.
        assert.doesNotMatch(run, /\$\{\{(?! matrix\.)/, `${file}: ${name}`);
        if (writes) assert.doesNotMatch(run + uses, /npm (ci|install|run|test)|checkout/, `${file}: ${name}`);
      }
    }
  }
});

test('advisories are checked daily, and updates proposed for everything that is pinned', () => {
  const daily = workflows.find(({ on }) => 'schedule' in on);
  assert.match(JSON.stringify(daily?.on.schedule), /"\d+ \d+ \* \* \*"/);
  assert.match(daily?.source ?? '', /- run: npm audit\n/);
  const { updates } = load(text('.github/dependabot.yml')) as {
    updates: { 'package-ecosystem': string; directories?: string[] }[];
  };
  assert.deepEqual(
    updates.map(one => one['package-ecosystem']),
    ['npm', 'github-actions', 'gomod'],
  );
  // The generator of older kubectl's completion scripts keeps its version.
  const modules = globSync('test/cluster/go/*/go.mod', { cwd: ROOT }).filter(file => !file.includes('/completion/'));
  const folders = modules.map(file => `/${dirname(file)}`);
  assert.deepEqual(updates.flatMap(({ directories = [] }) => directories).sort(), folders.sort());
});
