import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wideWarning } from '../../../../../src/commands/shared/consent/warnings.ts';
import type { NodePoolSpec } from '../../../../../src/nodepool/types.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

const LINUX = { os: 'linux' };
const CP = 'node-role.kubernetes.io/control-plane';
const MASTER = 'node-role.kubernetes.io/master';
const NODES = [
  { name: 'w', labels: LINUX },
  { name: 'cp-2', labels: { ...LINUX, [MASTER]: '' } },
  { name: 'cp-1', labels: { ...LINUX, [CP]: '' } },
];
const warned = (spec: NodePoolSpec, nodes = NODES) => wideWarning(aPool(spec, { name: 'all' }), nodes);

test('names the control-plane nodes that a nodeSelector matches', () => {
  assert.deepEqual(warned({ nodeSelector: LINUX }), {
    message: 'pool all selects 3 nodes, 2 of them in the control plane: cp-1, cp-2',
    next: `exclude the control plane with \`kubectl nodepool edit all --node-selector '!${CP},!${MASTER}'\`, or see them with \`kubectl get nodes -l os=linux\``,
  });
  assert.equal(warned({ nodeSelector: LINUX }, NODES.slice(0, 1)), undefined);
});

test('prints nothing for a pool whose selector names the control plane', () => {
  assert.equal(warned({ nodeSelector: { ...LINUX, [CP]: '' } }), undefined);
  assert.equal(warned({ matchExpressions: [{ key: MASTER, operator: 'Exists' }] }), undefined);
  assert.equal(wideWarning(aPool({}, { name: 'control-plane' }), NODES), undefined);
  const other = { matchExpressions: [{ key: MASTER, operator: 'DoesNotExist' }] };
  assert.match(JSON.stringify(warned(other)), /1 of them in the control plane: cp-1; its selector requires no label/);
});
