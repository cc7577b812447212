import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printChecks, renderChecks, worstStatus } from '../../../../src/commands/doctor/print.ts';
import type { Check } from '../../../../src/commands/shared/check.ts';
import { colored, plain } from '../../print/fixtures.ts';

const CHECKS: Check[] = [
  { id: 'kubeconfig', status: 'ok', message: '/home/a/.kube/config: context prod, cluster prod, user a', details: [] },
  {
    id: 'clock',
    status: 'warning',
    message: "this machine's clock is 9 s ahead of the server's",
    details: [],
    remedy: 'set it',
  },
  {
    id: 'overlaps',
    status: 'error',
    message: 'nodes match several pools',
    details: ['gpu also matches 2 nodes of worker: a, b', '\u001b[2Jx\nerror forged'],
    remedy: 'change one',
  },
  { id: 'handlers', status: 'skipped', message: 'the nodes could not be read', details: [] },
];

test('prints problems first, with a word per check and the next step below', () => {
  assert.equal(
    renderChecks(CHECKS, 'all', plain),
    `
warning  clock       this machine's clock is 9 s ahead of the server's
                     next: set it
error    overlaps    nodes match several pools
                     - gpu also matches 2 nodes of worker: a, b
                     - \\u001b[2Jx\\nerror forged
                     next: change one
ok       kubeconfig  /home/a/.kube/config: context prod, cluster prod, user a
skipped  handlers    the nodes could not be read

4 checks: 1 error, 1 warning, 1 passed, 1 skipped`.slice(1),
  );
});

test('counts passed checks, and omits them with --quiet', () => {
  const [ok, clock] = CHECKS;
  assert.ok(ok && clock);
  const problem = "warning  clock  this machine's clock is 9 s ahead of the server's\n                next: set it";
  const shown = (checks: Check[], what: 'problems' | 'quiet') => renderChecks(checks, what, plain);
  assert.equal(shown([ok, clock], 'problems'), `${problem}\n\n2 checks: 1 warning, 1 passed; --all shows them`);
  assert.equal(shown([ok, clock], 'quiet'), problem);
  assert.equal(shown([ok, ok], 'problems'), '2 checks: 2 passed; --all shows them');
  assert.equal(shown([ok, ok], 'quiet'), '');
});

test('wraps texts on a terminal, and a long command so that it can be copied', () => {
  const remedy = 'run `kubectl nodepool move node-a node-b --to gpu`, or change one of them';
  const checks = CHECKS.slice(2, 3).map(check => ({ ...check, remedy }));
  assert.equal(
    renderChecks(checks, 'problems', plain, 50),
    `
error  overlaps
  nodes match several pools
  - gpu also matches 2 nodes of worker: a, b
  - \\u001b[2Jx\\nerror forged
  next: run \`kubectl nodepool move node-a node-b \\
    --to gpu\`, or change one of them

1 check: 1 error`.slice(1),
  );
});

test('puts the next step in the same column as its problem', () => {
  const long = `pods ${'a-name-without-spaces-'.repeat(3)} run`;
  const [clock] = CHECKS.slice(1);
  assert.ok(clock);
  const permissions = [{ verbs: 'get', resource: 'pods', commands: ['drain'] }];
  const rendered = (more: Partial<Check>) => renderChecks([{ ...clock, ...more }], 'quiet', plain, 80).split('\n');
  for (const more of [[], permissions]) {
    const lines = rendered({ permissions: more, message: long });
    assert.deepEqual([lines[0], lines.at(-1)], ['warning  clock', '  next: set it']);
    assert.deepEqual(rendered({ permissions: more, remedy: long }).slice(0, 2), [
      'warning  clock',
      `  ${clock.message}`,
    ]);
  }
});

test('prints missing permissions as a table, and consecutive skipped checks on one line', () => {
  const details = ['patch nodes: needed by add, drain'];
  const permissions = [
    { verbs: 'patch', resource: 'nodes', commands: ['add', 'drain'] },
    { verbs: 'list', resource: '\u001b', commands: ['get'] },
  ];
  const skipped = (id: Check['id'], message: string): Check => ({ id, status: 'skipped', message, details: [] });
  const checks: Check[] = [
    { id: 'permissions', status: 'warning', message: 'm', details, permissions },
    skipped('clock', 'not logged in'),
    skipped('overlaps', 'not logged in'),
    skipped('orphans', 'not logged in'),
    skipped('pools', 'another'),
  ];
  assert.equal(
    renderChecks(checks, 'all', plain),
    `
warning  permissions      m
  VERBS                               RESOURCE                            COMMANDS
  patch                               nodes                               add, drain
  list                                \\u001b                              get
skipped  clock - orphans  not logged in (3 checks)
skipped  pools            another

5 checks: 1 warning, 4 skipped`.slice(1),
  );
  assert.equal('permissions' in JSON.parse(printChecks(checks, 'json')).checks[0], false);
});

test('cuts a text of a megabyte, and thousands of equal findings', () => {
  const long = 'x'.repeat(1_000_000);
  const details = Array.from({ length: 5_000 }, (_, at) => `node n${at}`);
  const checks: Check[] = [
    { id: 'server', status: 'error', message: long, details: [long], remedy: long },
    { id: 'quantities', status: 'error', message: 'm', details, remedy: 'r' },
  ];
  const lines = renderChecks(checks, 'all', plain).split('\n');
  assert.ok(lines.every(line => line.length < 1_100));
  assert.deepEqual(
    lines.slice(-5).map(line => line.trim()),
    ['- node n49', '- and 4950 more', 'next: r', '', '2 checks: 2 errors'],
  );
  assert.equal(JSON.parse(printChecks(checks, 'json')).checks[1].details.length, 5_000);
});

test('conveys nothing by colour alone', () => {
  assert.equal(
    renderChecks(CHECKS.slice(0, 1), 'all', colored),
    '\u001b[32mok\u001b[39m  kubeconfig  /home/a/.kube/config: context prod, cluster prod, user a\n\n1 check: 1 passed',
  );
});

test('prints JSON', () => {
  const { status, checks } = JSON.parse(printChecks(CHECKS, 'json'));
  assert.equal(status, 'error');
  assert.deepEqual(checks, CHECKS);
  assert.equal(worstStatus(CHECKS.slice(0, 2)), 'warning');
  assert.equal(worstStatus(CHECKS.slice(0, 1)), 'ok');
});
