/** Selectors of pools: the index agrees with trying every pool, and the text says the same as the selector. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Requirement } from '../../../src/nodepool/membership/label-query.ts';
import { parseLabelSelector } from '../../../src/nodepool/membership/label-selector.ts';
import { PoolIndex } from '../../../src/nodepool/membership/membership.ts';
import { matches, membershipSelector, selectorText } from '../../../src/nodepool/membership/selector.ts';
import { validatePool } from '../../../src/nodepool/spec/validation.ts';
import type { NodePoolSpec } from '../../../src/nodepool/types.ts';
import { aNode, aPool } from '../nodepool/fixtures.ts';
import { property } from './property.ts';

const key = fc.constantFrom('zone', 'cpu', 'a.b/spot', 'in');
const value = fc.constantFrom('', 'a', 'b', '4', '08', '16', '9223372036854775807');
const some = fc.array(value, { minLength: 1, maxLength: 3 });

const expression: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: some }),
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  fc.record({ key, operator: fc.constantFrom('Gt', 'Lt'), values: fc.constantFrom('4', '010').map(bound => [bound]) }),
);
const labels = fc.dictionary(key, value, { maxKeys: 4 }).map(one => ({ ...one }));
const spec: fc.Arbitrary<NodePoolSpec> = fc
  .record(
    { nodeSelector: labels, matchExpressions: fc.array(expression, { minLength: 1, maxLength: 3 }) },
    { requiredKeys: [] },
  )
  .map(({ nodeSelector = {}, ...rest }) => (Object.keys(nodeSelector).length === 0 ? rest : { ...rest, nodeSelector }));

property(
  'the index finds the pools that match',
  fc.property(fc.array(spec, { maxLength: 6 }), labels, (specs, live) => {
    const pools = specs.map((one, at) => aPool(one, { name: `p${at}`, uid: `uid-${at}` }));
    for (const pool of pools) assert.deepEqual(validatePool(pool), []);
    const { owner, conflicting } = new PoolIndex(pools).ownership(aNode({ labels: live }));
    const wanted = pools.filter(pool => matches(membershipSelector(pool), live)).map(({ metadata }) => metadata.name);
    assert.deepEqual([owner, ...conflicting].filter(name => name !== undefined).toSorted(), wanted.toSorted());
  }),
  300,
);

property(
  'a selector and its text match the same nodes',
  fc.property(spec, labels, (one, live) => {
    const selector = membershipSelector(aPool(one));
    assert.equal(parseLabelSelector(selectorText(selector))(live), matches(selector, live), selectorText(selector));
  }),
  300,
);
