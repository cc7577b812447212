/** The lines of `drain --check-fit` about pods without a place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type UnfitPods, unfitLines } from '../../../../src/commands/drain/unfit-lines.ts';

const tainted = { words: 'node(s) had untolerated taint(s)', nodes: 2, details: ['gpu:NoSchedule'] };
const far = (volume: string) => ({ words: 'far', nodes: 1, details: [`volume ${volume}`] });

test('joins pods of one owner, and owners with the same reasons, on one line', () => {
  const set = (name: string, volume: string): UnfitPods => ({
    owner: 'StatefulSet data/db',
    names: [`data/${name}`],
    reasons: [far(volume), tainted],
  });
  assert.deepEqual(
    unfitLines([
      ...['0', '1', '2', '3'].map(at => set(`db-${at}`, `v-${at}`)),
      { owner: 'ReplicaSet shop/web', names: ['shop/a', 'shop/b'], reasons: [tainted] },
      ...['0', '1'].map(at => ({ owner: 'StatefulSet data/zk', names: [`data/zk-${at}`], reasons: [tainted] })),
      { owner: 'ReplicaSet shop/one', names: ['shop/one-x'], reasons: [tainted] },
      ...['c', 'd', 'e'].map(at => ({ owner: `Job ${at}`, names: [`jobs/${at}`], reasons: [tainted] })),
      { owner: 'ReplicaSet shop/none', names: ['shop/none-x'], reasons: [] },
    ]),
    [
      '4 pods would not fit: 1 far (volume v-0, volume v-1, …), 2 node(s) had untolerated taint(s) (gpu:NoSchedule): data/db-0, data/db-1, data/db-2 and 1 more',
      '8 pods would not fit: 2 node(s) had untolerated taint(s) (gpu:NoSchedule): 2 of ReplicaSet shop/web, 2 of StatefulSet data/zk, shop/one-x, jobs/c, jobs/d and 1 of others',
      '1 pod would not fit: there is no other node: shop/none-x',
    ],
  );
});
