import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePoolStatus } from '../../../src/nodepool/types.ts';
import { listText, poolResource } from '../../../src/print/cells.ts';

test('shortens a list to the width, with the number of further items', () => {
  const texts = ['aaaa', 'bbbb', 'cccc'];
  const cases: [texts: string[], width: number, shown: string][] = [
    [[], 3, '<none>'],
    [['too long'], 3, 'too long'],
    [texts, Infinity, 'aaaa,bbbb,cccc'],
    [texts, 14, 'aaaa,bbbb,cccc'],
    [texts, 13, 'aaaa,bbbb,+1'],
    [texts, 12, 'aaaa,bbbb,+1'],
    [texts, 11, 'aaaa,+2'],
    [texts, 3, 'aaaa,+2'],
  ];
  for (const [list, width, shown] of cases) assert.equal(listText(list, width), shown, `${width}`);
});

test('prints a device that no node of a pool has in one way, with and without nodes', () => {
  const status = (nodeCount: number, allocatable: object) =>
    ({ status: 200, nodeCount, allocatable }) as NodePoolStatus;
  const shown = (resource: string) =>
    [status(0, {}), status(1, { cpu: '4' })].map(each => poolResource(each, resource));
  assert.deepEqual(shown('nvidia.com/gpu'), ['<none>', '<none>']);
  assert.deepEqual(shown('cpu'), ['0', '4']);
});
