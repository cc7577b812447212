import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getPools } from '../../../../../src/commands/shared/pools/choose-pools.ts';
import type { NodePoolsClient } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';

/** A server that refuses every list with this error. */
function refusing(message: string) {
  const list = async () => {
    throw new NodepoolError('input', message);
  };
  return { pools: { list } as unknown as NodePoolsClient, nodes: { get: async () => undefined, list: async () => [] } };
}

const FIELD = 'field label not supported: spec.handler';

test('names the invalid selector of a refused list', async () => {
  const ask = (options: { selector?: string; fieldSelector?: string }, message: string) =>
    getPools(
      { names: [], selector: undefined, fieldSelector: undefined, ignoreNotFound: false, ...options },
      refusing(message),
    );
  await assert.rejects(ask({ fieldSelector: 'spec.handler=x' }, FIELD), {
    kind: 'usage',
    message: `--field-selector "spec.handler=x": ${FIELD}`,
    next: 'the server can only filter by metadata.name; for other fields, use -o jsonpath',
  });
  await assert.rejects(ask({ selector: 'a', fieldSelector: 'spec.handler=x' }, FIELD), /--field-selector "spec/);
  await assert.rejects(
    ask({ selector: 'a=b=c', fieldSelector: 'metadata.name=x' }, 'found 2nd ='),
    /-l "a=b=c": found/,
  );
  await assert.rejects(ask({ selector: 'a=b=c' }, 'unable to parse a field'), /-l "a=b=c"/);
  await assert.rejects(ask({}, 'anything'), { message: 'anything' });
});

test('refuses names together with selectors', async () => {
  const names = ['gpu'];
  await assert.rejects(
    getPools({ names, selector: 'a', fieldSelector: undefined, ignoreNotFound: false }, refusing('')),
    /names and -l/,
  );
  await assert.rejects(
    getPools({ names, selector: undefined, fieldSelector: 'a', ignoreNotFound: false }, refusing('')),
    {
      kind: 'usage',
      message: 'names and --field-selector cannot be used together',
    },
  );
});

test('reports names that do not exist, or ignores them', async () => {
  const get = async (name: string) => (name === 'gpu' ? { metadata: { name } } : undefined);
  const deps = {
    pools: { get, firstNames: async () => [] } as unknown as NodePoolsClient,
    nodes: { get: async () => undefined, list: async () => [] },
  };
  const ask = (ignoreNotFound: boolean) =>
    getPools({ names: ['nope', 'gpu'], selector: undefined, fieldSelector: undefined, ignoreNotFound }, deps);
  const shown = ({ pools, missing }: Awaited<ReturnType<typeof getPools>>) => [
    pools.map(({ metadata }) => metadata.name),
    missing.map(({ message }) => message),
  ];
  assert.deepEqual(shown(await ask(false)), [['gpu'], ['nodepool "nope" not found']]);
  assert.deepEqual(shown(await ask(true)), [['gpu'], []]);
});
