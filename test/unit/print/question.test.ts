import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodesText, questionLines, whereText } from '../../../src/print/question.ts';

const names = Array.from({ length: 25 }, (_, at) => `ip-10-0-1-${at + 10}.eu-west-1.compute.internal`);

test('names the action, the cluster and each loss once', () => {
  const facts = { action: 'Delete pool gpu (releases 2 nodes)', where: 'context prod' };
  assert.deepEqual(questionLines(facts, 100), ['Delete pool gpu (releases 2 nodes) in context prod? [y/N]']);
  assert.deepEqual(questionLines({ ...facts, where: undefined, losses: ['2 pods go', '1 waits'] }, 100), [
    'Delete pool gpu (releases 2 nodes): 2 pods go; 1 waits? [y/N]',
  ]);
});

test('prints at most 8 terminal lines, and counts what it omits', () => {
  const losses = Array.from({ length: 15 }, (_, at) => `${at} of ${nodesText(names)}`);
  const action = `Add ${nodesText(names)} to pool gpu`;
  for (const width of [80, 120, 200]) {
    const lines = questionLines({ action, where: 'context arn:aws:eks:eu-west-1:1:cluster/prod', losses }, width);
    assert.ok(lines.length <= 8 && lines.every(line => line.length <= width), lines.join('\n'));
    const text = lines.join(' ').replaceAll(/ +/g, ' ');
    assert.match(text, /^Add 25 nodes \(ip-10-0-1-10\.\S+, \S+ and 23 more\) to pool gpu in context arn/);
    assert.match(text, /; and \d+ more\? \[y\/N\]$/);
  }
});

test('prints the first loss even with long names', () => {
  const action = `Save pool frontend, to change ${nodesText(names)}`;
  const evicted = `NoExecute taints evict 22 pods at once from ${nodesText(names)}: ${'many pods '.repeat(60)}`;
  const text = questionLines({ action, where: 'context prod', losses: [evicted, 'b', 'c'] }, 80).join(' ');
  assert.match(text, /NoExecute taints evict 22 pods at once/);
  assert.match(text, /and 2 more\? \[y\/N\]$/);
});

test('names few nodes and counts all of them', () => {
  assert.deepEqual(
    [nodesText([]), nodesText(['a']), nodesText(['a', 'b', 'c', 'd'])],
    ['0 nodes', '1 node (a)', '4 nodes (a, b, c and 1 more)'],
  );
});

test('names the context as the cluster, and escapes control characters', () => {
  assert.equal(whereText({ contextName: 'prod', clusterName: 'c' }), 'context prod');
  assert.equal(whereText({ contextName: undefined, clusterName: 'c' }), 'cluster c');
  assert.equal(whereText({ contextName: undefined, clusterName: '' }), undefined);
  assert.deepEqual(questionLines({ action: 'a\u001b[31m\nb', where: undefined }, 80), ['a\\u001b[31m\\nb? [y/N]']);
});
