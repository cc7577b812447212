import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodesText } from '../../../src/print/names.ts';
import { questionLines, whereText } from '../../../src/print/question.ts';
import { GKE } from '../../cloud-names.ts';

const NODES = nodesText(GKE);

test('names the action, the cluster and each loss once', () => {
  const facts = { action: 'Delete pool gpu (releases 2 nodes)', where: 'context prod' };
  assert.deepEqual(questionLines(facts, 100), ['Delete pool gpu (releases 2 nodes) in context prod? [y/N]']);
  assert.deepEqual(questionLines({ ...facts, where: undefined, losses: ['2 pods go', '1 waits'] }, 100), [
    'Delete pool gpu (releases 2 nodes): 2 pods go; 1 waits? [y/N]',
  ]);
});

test('prints at most 8 terminal lines, and counts what it omits', () => {
  const losses = Array.from({ length: 30 }, (_, at) => `${at} of ${NODES}`);
  const action = `Add ${NODES} to pool gpu`;
  for (const width of [80, 120, 200]) {
    const lines = questionLines({ action, where: 'context arn:aws:eks:eu-west-1:1:cluster/prod', losses }, width);
    assert.ok(lines.length <= 8 && lines.every(line => line.length <= width), lines.join('\n'));
    const text = lines.join(' ').replaceAll(/ +/g, ' ');
    assert.match(text, /^Add 18 nodes \(gke-prod-\S+ and 17 more\) to pool gpu in context arn/);
    assert.match(text, /; and \d+ more\? \[y\/N\]$/);
  }
});

test('prints the first loss even with long names', () => {
  const action = `Save pool frontend, to change ${NODES}`;
  const evicted = `NoExecute taints evict 22 pods at once from ${NODES}: ${'many pods '.repeat(60)}`;
  const text = questionLines({ action, where: 'context prod', losses: [evicted, 'b', 'c'] }, 80).join(' ');
  assert.match(text, /NoExecute taints evict 22 pods at once/);
  assert.match(text, /and 2 more\? \[y\/N\]$/);
});

test('names the context as the cluster, and escapes control characters', () => {
  assert.equal(whereText({ contextName: 'prod', clusterName: 'c' }), 'context prod');
  assert.equal(whereText({ contextName: undefined, clusterName: 'c' }), 'cluster c');
  assert.equal(whereText({ contextName: undefined, clusterName: '' }), undefined);
  assert.deepEqual(questionLines({ action: 'a\u001b[31m\nb', where: undefined }, 80), ['a\\u001b[31m\\nb? [y/N]']);
});
