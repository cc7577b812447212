import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { firstFew, noun, plural, resourceOf } from '../../../src/nodepool/plural.ts';

test('what is counted', () => {
  assert.deepEqual(
    [0, 1, 2].map(count => plural(count, 'node')),
    ['0 nodes', '1 node', '2 nodes'],
  );
  assert.deepEqual(
    [plural(2, 'RuntimeClass'), plural(1, 'policy'), noun(3, 'policy')],
    ['2 RuntimeClasses', '1 policy', 'policies'],
  );
  assert.equal(noun(2, 'constructor'), 'constructors');
});

test('the first few names, and how many more', () => {
  assert.deepEqual(
    [[], ['a', 'b'], ['a', 'b', 'c', 'd']].map(names => firstFew(names, 2)),
    ['', 'a, b', 'a, b and 2 more'],
  );
});

test('the resource of a kind', () => {
  for (const [kind, resource] of [
    ['Deployment', 'deployments'],
    ['NetworkPolicy', 'networkpolicies'],
    ['ValidatingAdmissionPolicy', 'validatingadmissionpolicies'],
    ['ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings'],
    ['PriorityClass', 'priorityclasses'],
    ['RuntimeClass', 'runtimeclasses'],
  ] as const) {
    assert.equal(resourceOf(kind), resource);
  }
});

test('no other file makes a plural by hand', () => {
  const byHand = /=== 1 \? '(\w+)' : '\1s'|=== 1 \? '' : 's'|toLowerCase\(\)\}s\b/;
  const files = globSync('src/**/*.ts').filter(file => byHand.test(readFileSync(file, 'utf8')));
  assert.deepEqual(files, []);
});
