import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type NodeTerm,
  type PodPlacement,
  type UnplacedReason,
  whyUnplaced,
} from '../../../../src/nodepool/drain/placement.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { aNode, taint } from '../fixtures.ts';

const ssd = aNode({ name: 'n1', labels: { disk: 'ssd', cpus: '8' } });
const gpu = aNode({ name: 'n2', labels: { disk: 'ssd', gpu: '' }, taints: [taint('gpu=yes:NoSchedule')] });
const soft = aNode({ name: 'n3', taints: [taint('a:PreferNoSchedule')] });

const where = (key: string, operator: string, ...values: string[]): NodeTerm => ({
  matchExpressions: [{ key, operator, values }],
});
const named = (...values: string[]): NodeTerm => ({
  matchFields: [{ key: 'metadata.name', operator: 'In', values }],
});

const CASES: [string, Partial<PodPlacement>, Node[], UnplacedReason | undefined][] = [
  ['without nodes', {}, [], 'no nodes'],
  ['without constraints', {}, [ssd], undefined],
  ['a matching nodeSelector', { nodeSelector: { disk: 'ssd' } }, [ssd], undefined],
  ['a nodeSelector that matches only in part', { nodeSelector: { disk: 'ssd', gpu: '' } }, [ssd], 'no match'],
  ['a nodeSelector with a key of Object.prototype', { nodeSelector: { constructor: 'x' } }, [ssd], 'no match'],
  ['a taint', {}, [gpu], 'taints'],
  ['a taint of another node', {}, [gpu, ssd], undefined],
  ['PreferNoSchedule repels nothing', {}, [soft], undefined],
  ['a tolerated taint', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, [gpu], undefined],
  ['NoExecute', {}, [aNode({ taints: [taint('a:NoExecute')] })], 'taints'],
  ['a tolerated taint on a node without the label', { nodeSelector: { disk: 'hdd' } }, [gpu], 'no match'],
  ['one term of several', { nodeTerms: [where('disk', 'In', 'hdd'), where('disk', 'In', 'ssd')] }, [ssd], undefined],
  [
    'selector and affinity',
    { nodeSelector: { gpu: '' }, nodeTerms: [where('cpus', 'Exists')] },
    [ssd, gpu],
    'no match',
  ],
  [
    'a term that matches only in part',
    { nodeTerms: [{ ...where('disk', 'In', 'ssd'), ...named('n9') }] },
    [ssd],
    'no match',
  ],
  ['NotIn', { nodeTerms: [where('disk', 'NotIn', 'ssd')] }, [ssd], 'no match'],
  ['NotIn without the label', { nodeTerms: [where('zone', 'NotIn', 'a')] }, [ssd], undefined],
  ['DoesNotExist', { nodeTerms: [where('gpu', 'DoesNotExist')] }, [gpu], 'no match'],
  ['Gt', { nodeTerms: [where('cpus', 'Gt', '7')] }, [ssd], undefined],
  ['Gt with an equal value', { nodeTerms: [where('cpus', 'Gt', '8')] }, [ssd], 'no match'],
  ['Gt with a value below int64', { nodeTerms: [where('cpus', 'Gt', '-9223372036854775809')] }, [ssd], 'no match'],
  ['Lt', { nodeTerms: [where('cpus', 'Lt', '10')] }, [ssd], undefined],
  ['Lt with a label that is no number', { nodeTerms: [where('disk', 'Lt', '10')] }, [ssd], 'no match'],
  ['a field', { nodeTerms: [named('n1')] }, [ssd], undefined],
  ['a field of another node', { nodeTerms: [named('n2')] }, [ssd], 'no match'],
  ['no term', { nodeTerms: [] }, [ssd], 'no match'],
  ['an empty term', { nodeTerms: [{}] }, [ssd], 'no match'],
  ['an unknown operator', { nodeTerms: [where('disk', 'Near', 'ssd')] }, [ssd], 'no match'],
];

for (const [name, placement, nodes, expected] of CASES) {
  test(`${name}: ${expected ?? 'fits'}`, () => {
    const base = { nodeSelector: {}, nodeTerms: undefined, tolerations: [] };
    assert.equal(whyUnplaced({ ...base, ...placement }, nodes), expected);
  });
}
