import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { INSTEAD, insteadOf, typedInstead } from '../../../../src/cli/unknown/unknown-flag.ts';

const BIN = 'kubectl nodepool';

const cases: [command: string, error: object, expected: string | undefined][] = [
  ['create', { flags: ['-k'] }, `kubectl kustomize DIR | ${BIN} create -f -`],
  ['create', { flags: ['--kustomize=dir'] }, `kubectl kustomize DIR | ${BIN} create -f -`],
  ['get', { flags: ['-fpool.yaml'] }, 'name a pool, or use -l SELECTOR'],
  ['drain', { flags: ['--delete-local-data'] }, `${BIN} drain NAME --delete-emptydir-data`],
  ['get', { flags: ['--chunk-size=500'] }, 'leave it out: long lists are read in chunks automatically'],
  ['events', { flags: ['--watch-only'] }, `${BIN} events --watch`],
  ['add', { flags: ['--pool'] }, `${BIN} add NAME NODE...`],
  [
    'remove',
    { flags: ['--all'] },
    `${BIN} delete NAME to release all nodes, ${BIN} remove NAME -l SELECTOR to release some`,
  ],
  [
    'uninstall',
    { flags: ['--all'] },
    `${BIN} uninstall --controller for the controller and the admission policies, then ${BIN} uninstall --cascade for all pools and the CRD`,
  ],
  ['edit', { args: ['a=b'] }, `${BIN} edit NAME --label a=b`],
  ['edit', { args: ['a-'] }, `${BIN} edit NAME --label a-`],
  ['edit', { args: ['a=b:NoSchedule'] }, `${BIN} edit NAME --taint a=b:NoSchedule`],
  ['edit', { args: [{ name: 'name' }] }, undefined],
  ['delete', { args: ['a=b'] }, undefined],
  ['view', { args: ['web'] }, `${BIN} view shows all pools, ${BIN} describe NAME shows one`],
  [
    'create',
    { flags: ['--rollout=x'] },
    '--max-concurrent limits the nodes per step; --canary limits the nodes of the first step',
  ],
  ['get', { flags: ['--constructor'] }, undefined],
  ['get', new Error('x'), undefined],
];
for (const [command, error, expected] of cases) {
  test(`${command} ${JSON.stringify(error)}`, () => assert.equal(insteadOf(error, command, BIN), expected));
}

test('no command has a flag for which another flag is suggested', () => {
  const { commands } = JSON.parse(
    readFileSync(new URL('../../../../oclif.manifest.json', import.meta.url), 'utf8'),
  ) as {
    commands: Record<string, { flags: Record<string, { char?: string }> }>;
  };
  for (const [command, flag] of Object.keys(INSTEAD).map(key => key.split(' '))) {
    if (flag === undefined || command === undefined) continue;
    const flags = Object.entries(commands[command]?.flags ?? assert.fail(command));
    assert.ok(!flags.some(([name, { char }]) => [`--${name}`, `-${char}`].includes(flag)), `${command} ${flag}`);
  }
});

test('suggests what to type when a type precedes the names', () => {
  assert.equal(
    typedInstead(['remove', 'pool', 'web', '-l', 'a=b']),
    'leave out "pool": write the pool names right after the command',
  );
  const full = 'nodepools.nodes.lailin.xyz';
  assert.equal(typedInstead(['delete', full]), `leave out "${full}": write the pool names right after the command`);
  assert.equal(typedInstead(['edit', 'node', 'a', 'b']), 'for nodes: `kubectl edit node a b`');
  assert.equal(typedInstead(['edit', 'web', 'node']), undefined);
});
