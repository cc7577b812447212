/** What `rollout undo` refuses, asks and warns of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROLLER_REVISIONS, pathOf } from '../../src/kube/api/resource.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { poolWithHistory } from './undo.ts';

const testEnv = useTestEnv();
const { refused, unchanged } = commandsOf(testEnv.cluster);
const { run, edit, prepare } = poolWithHistory(testEnv);
const api = () => raw(testEnv.cluster());
const REVISIONS = pathOf(CONTROLLER_REVISIONS);

test('errors name the next step', async () => {
  await refused(['rollout', 'history', 'web'], 1, /^error: nodepool "web" not found/);
  await testEnv.pool('web', { labels: { tier: '1' } });
  const without = 'run `kubectl nodepool reconcile web` to save the first revision';
  const none = await unchanged(['rollout', 'history', 'web']);
  assert.deepEqual([none.code, none.stderr], [0, `next: ${without}\n`]);
  const message = 'error: no rollout history found for nodepool "web"';
  const byHand = 'next: the spec was never changed; describe the pool with `kubectl nodepool describe web`';
  await refused(['rollout', 'undo', 'web'], 1, `${message}; ${byHand}`);
  await testEnv.reconcile();
  await refused(['rollout', 'undo', 'web'], 1, `error: no last revision to roll back to; ${byHand}`);
  await refused(
    ['rollout', 'undo', 'web', '--to-revision=7'],
    1,
    'error: unable to find specified revision 7 in history; next: list the revisions with `kubectl nodepool rollout history web`',
  );
  await refused(['rollout', 'undo', 'web', '--to-revision=-1'], 2, /--to-revision/);
  await refused(
    ['rollout', 'undo', 'web', '--revision=1'],
    2,
    /^error: --revision: only `rollout history` and `rollout status` have it/,
  );
  await refused(['rollout', 'pause', 'web', '--to-revision=1'], 2, /^error: --to-revision: only `rollout undo` has it/);
  await refused(['rollout', 'history', 'web', '--dry-run=client'], 2, /^error: --dry-run: history writes nothing/);
});

test('does not restore a revision with an invalid spec, or one that is not of the pool', async () => {
  await prepare();
  const [own] = await testEnv.revisions();
  assert.ok(own);
  const forge = (name: string, data: object, owners = own.metadata.ownerReferences, revision = 9) =>
    api().expect('POST', REVISIONS, {
      metadata: { name, labels: own.metadata.labels, ownerReferences: owners },
      data,
      revision,
    });
  const [owner] = own.metadata.ownerReferences ?? [];
  await forge('of-another', { spec: { labels: { tier: 'forged' } } }, [{ ...owner, uid: 'x' } as never]);
  await refused(['rollout', 'undo', 'web', '--to-revision=9'], 1, /^error: unable to find specified revision 9/);
  // Whoever may write ControllerRevisions there can name the pool as the owner: the spec is validated as any other.
  await forge('invalid', { spec: { labels: { 'kubernetes.io/hostname': 'x' } } });
  await refused(
    ['rollout', 'undo', 'web', '--to-revision=9'],
    1,
    /^error: revision 9 of pool web.*spec\.labels\[kubernetes\.io\/hostname\]/,
  );
  await forge('unknown', { spec: { labels: { tier: '1' }, notAField: 1 } }, undefined, 10);
  await refused(['rollout', 'undo', 'web', '--to-revision=10'], 1, /notAField/);
  await forge('types', { spec: { labels: 7, paused: true, rollout: { canary: -1 } } }, undefined, 11);
  await refused(['rollout', 'undo', 'web', '--to-revision=11'], 1, /^error: revision 11 of pool web.*spec\.labels/);
  await forge('screen', { spec: { labels: { tier: '1' }, '\u001b[31mred': 1 } }, undefined, 12);
  const { stdout } = await run('history', 'web', '--revision=12');
  assert.ok(!stdout.includes('\u001b'), stdout);
  await forge('theirs', { spec: { labels: { tier: 'forged' } } }, undefined, 13);
  const theirs = /revision 13 was created by \S+, not by kubectl-nodepool/;
  const shown = (await unchanged(['rollout', 'history', 'web'])).stderr;
  assert.match(shown, theirs);
  assert.match(
    shown,
    /; next: before an undo to this revision, check its spec: `kubectl nodepool rollout history web --revision=13`/,
  );
  const asks = await refused(['rollout', 'undo', 'web', '--to-revision=13'], 1, theirs);
  assert.match(String(asks ?? '--yes'), /--yes/);
  assert.equal((await run('undo', 'web', '--to-revision=13', '--yes')).code, 0);
});

test('asks as edit does, and requires --yes in a script', { skip: NO_TERMINAL }, async () => {
  await testEnv.nodes(
    { name: 'a', labels: { ...role('web'), zone: 'a' } },
    { name: 'b', labels: { ...role('web'), zone: 'b' } },
  );
  await testEnv.pool('web', { rollout: {}, nodeSelector: { zone: 'a' } });
  await testEnv.reconcile();
  await edit({ nodeSelector: { zone: 'b' } });
  const message =
    /^ {2}~ spec\.nodeSelector\[zone\]: b -> a\nerror: 1 of 1 node leave pool web with the new selector: b; no pool takes them; nothing was changed; .*--yes$/;
  await refused(['rollout', 'undo', 'web'], 1, message);
  const no = await inTerminal(testEnv.cluster(), ['rollout', 'undo', 'web'], 'n\n');
  assert.equal(no.code, 1);
  assert.match(no.shown, /Roll pool web back to revision \d[^?]*:\s+1\s+of\s+1\s+node\s+leave[^?]*\? \[y\/N\]/);
  assert.match(no.shown, /nothing was changed/);
  const yes = await inTerminal(testEnv.cluster(), ['rollout', 'undo', 'web'], 'y\n');
  assert.equal(yes.code, 0, yes.shown);
  assert.equal(yes.shown.match(/spec\.nodeSelector\[zone\]/g)?.length, 1, yes.shown);
  assert.match(yes.shown, /rolled back/);
  assert.deepEqual((await testEnv.getPool('web'))?.spec.nodeSelector, { zone: 'a' });
});

test('warns of a pool that kubectl apply manages', async () => {
  await prepare();
  await testEnv.edit('web', {
    metadata: {
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ spec: { labels: { tier: '3' } } }),
      },
    },
  });
  const { code, stderr } = await run('undo', 'web');
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^warning: the next `kubectl apply` of the file of pool web will revert spec.labels.tier; next: also change the file$/m,
  );
});
