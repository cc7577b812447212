import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getPools } from '../../../../../src/commands/shared/pools/choose-pools.ts';
import { namesToSuggest, poolNotFound, poolsNotFound } from '../../../../../src/commands/shared/pools/not-found.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Node } from '../../../../../src/nodepool/types.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

const LIST = 'list the pools with `kubectl nodepool get`';

test('names a pool of a similar name', () => {
  const pools = ['worker', 'gpu'];
  const cases: [names: string[], message: string, next?: string][] = [
    [['wroker'], 'nodepool "wroker" not found; did you mean "worker"?'],
    [['wroker', 'gpx', 'far-away'], 'nodepools "wroker", "gpx", "far-away" not found; did you mean "worker", "gpu"?'],
    [['far-away'], 'nodepool "far-away" not found', LIST],
  ];
  for (const [names, message, next] of cases) {
    const error = poolNotFound('get', names, { pools });
    assert.deepEqual([error.message, error.next], [message, next]);
  }
  assert.equal(poolNotFound('get', ['wroker']).next, LIST);
  const { message } = poolNotFound('get', ['web'], { pools: ['web-b', 'gpu', 'web-a'] });
  assert.equal(message, 'nodepool "web" not found; did you mean "web-a", "web-b"?');
});

test('names the pool of a node that was given as a pool name', () => {
  const owners: Record<string, { owner: string | undefined }> = {
    n1: { owner: 'web' },
    n2: { owner: 'web' },
    n3: { owner: 'gpu' },
    free: { owner: undefined },
  };
  const cases: [line: string, next: string][] = [
    ['cordon n1', '"n1" is a node of pool web: `kubectl nodepool cordon web --node n1` or `kubectl cordon n1`'],
    [
      'drain n1 n2 n3',
      '"n1", "n2" are nodes of pool web: `kubectl nodepool drain web --node n1,n2` or `kubectl drain n1 n2`',
    ],
    ['cordon node/n1', '"n1" is a node of pool web: `kubectl nodepool cordon web --node n1` or `kubectl cordon n1`'],
    ['nodes no/n1', '"n1" is a node of pool web: `kubectl nodepool why n1`'],
    ['uncordon free', '"free" is a node of no pool: `kubectl uncordon free`'],
    ['drain node n1', '"n1" is a node of pool web: `kubectl nodepool drain web --node n1` or `kubectl drain n1`'],
    ['top n1', '"n1" is a node of pool web: `kubectl nodepool top web --nodes` or `kubectl top node n1`'],
    ['top free', '"free" is a node of no pool: `kubectl top node free`'],
    ['nodes n1', '"n1" is a node of pool web: `kubectl nodepool why n1`'],
    ['describe free', '"free" is a node of no pool: `kubectl nodepool why free` or `kubectl describe node free`'],
  ];
  for (const [line, next] of cases) {
    const [command = '', ...names] = line.split(' ');
    assert.equal(poolNotFound(command, names, { pools: ['web'], node: name => owners[name] }).next, next);
  }
});

test('suggests names without the type', () => {
  const cases: [line: string, next: string][] = [
    ['get pools', 'leave out "pools": write the pool names right after the command'],
    ['wait npool wroker', 'leave out "npool": write the pool names right after the command'],
    ['get nodes', 'for nodes: `kubectl nodepool nodes` or `kubectl get nodes`'],
    ['get node x', 'for nodes: `kubectl nodepool why x` or `kubectl get node x`'],
    ['describe no x', 'for nodes: `kubectl nodepool why x` or `kubectl describe no x`'],
    ['edit node x', 'for nodes: `kubectl edit node x`'],
    ['delete node x y', 'for nodes: `kubectl nodepool remove POOL x y` or `kubectl delete node x y`'],
    ['delete nodes', 'for nodes: `kubectl nodepool remove POOL NODE...` or `kubectl delete nodes`'],
    ['top nodes', 'for nodes: `kubectl nodepool top --nodes` or `kubectl top nodes`'],
    ['top node x', 'for nodes: `kubectl nodepool top POOL --nodes` or `kubectl top node x`'],
    ['top pods', 'for pods: `kubectl nodepool top --pods` or `kubectl top pods`'],
    ['top pod x', 'for pods: `kubectl top pod x`'],
    ['describe pod x', 'for pods: `kubectl describe pod x`'],
    ['nodes pods', 'for pods: `kubectl nodepool top --pods`'],
    ['cordon nodes', 'for nodes: `kubectl nodepool cordon POOL --node NODE`'],
    ['cordon node x', 'for nodes: `kubectl nodepool cordon POOL --node x` or `kubectl cordon x`'],
    ['drain node/x no/y', 'for nodes: `kubectl nodepool drain POOL --node x,y` or `kubectl drain x y`'],
    ['get node/x', 'for nodes: `kubectl nodepool why x` or `kubectl get node x`'],
    ['describe pod/x', 'for pods: `kubectl describe pod x`'],
    ['reconcile node x', 'for nodes: `kubectl nodepool why x`'],
  ];
  for (const [line, next] of cases) {
    const [command = '', ...names] = line.split(' ');
    const [error, ...more] = poolsNotFound(command, names, { pools: ['worker'] });
    assert.deepEqual([error?.next, more], [next, []]);
  }
});

test('recognises the name of a node when pools are requested one by one', async () => {
  const record = JSON.stringify({ pool: 'worker', labels: {}, taints: {} });
  const deps = (node: object | undefined) => ({
    pools: { firstNames: async () => ['worker'] },
    nodes: {
      get: async (name: string) => (name === 'worker-2' ? (node as Node | undefined) : undefined),
      list: async () => [],
    },
  });
  const next = async (command: string, node: object | undefined, name = 'worker-2') =>
    poolNotFound(command, [name], await namesToSuggest(command, [name], deps(node))).next;
  const is = '"worker-2" is a node of pool worker: ';
  for (const [command, typed] of [
    ['delete', '`kubectl nodepool remove worker worker-2` or `kubectl delete node worker-2`'],
    ['edit', '`kubectl edit node worker-2`'],
    ['wait', '`kubectl wait node/worker-2`'],
    ['events', '`kubectl nodepool why worker-2`'],
    ['rollout', '`kubectl nodepool why worker-2`'],
  ] as const)
    assert.equal(await next(command, { name: 'worker-2', record }), `${is}${typed}`, command);
  assert.match((await next('get', { name: 'worker-2' })) ?? '', /^"worker-2" is a node of no pool: /);
  assert.equal(await next('get', undefined), undefined);
  const no = () => Promise.reject(new NodepoolError('cluster', '403'));
  const refused = { ...deps({}), nodes: { get: no, list: no } };
  assert.deepEqual(await namesToSuggest('get', ['worker-2'], refused).then(known => known.pools), ['worker']);
});

test('recognises a unique short node name unless a pool name is similar', async () => {
  const record = JSON.stringify({ pool: 'worker', labels: {}, taints: {} });
  const nodes = ['ip-10-0-1-15.eu', 'ip-10-0-1-155.eu', 'twin.a', 'twin.b'].map(name => ({ name, record }) as Node);
  let lists = 0;
  const list = async () => {
    lists++;
    return nodes;
  };
  const deps = { pools: { firstNames: async () => ['worker'] }, nodes: { get: async () => undefined, list } };
  const error = async (name: string) => poolNotFound('wait', [name], await namesToSuggest('wait', [name], deps));
  const is = '"ip-10-0-1-15.eu" is a node of pool worker: ';
  assert.equal((await error('ip-10-0-1-15')).next, `${is}\`kubectl wait node/ip-10-0-1-15.eu\``);
  assert.equal((await error('twin')).next, LIST);
  assert.equal(lists, 2);
  assert.match((await error('wroker')).message, /did you mean "worker"\?$/);
  assert.equal(lists, 2);
});

test('get requests names once, and only when a pool is missing', async () => {
  let asked = 0;
  const nodes = { get: async () => undefined, list: async () => [] };
  const pools = {
    get: async (name: string) => (name === 'worker' ? aPool() : undefined),
    list: async () => [],
    firstNames: async () => {
      asked++;
      return ['worker'];
    },
  };
  const get = (names: string[], ignoreNotFound = false) =>
    getPools(
      { names, selector: undefined, fieldSelector: undefined, ignoreNotFound },
      { pools: pools as never, nodes },
    );
  assert.deepEqual((await get(['worker'])).missing, []);
  await get(['x'], true);
  await get(['nodepools', 'pods-x']);
  assert.equal(asked, 0);
  const { missing } = await get(['wroker', 'worker', 'nope']);
  assert.deepEqual(
    missing.map(({ message }) => message),
    ['nodepool "wroker" not found; did you mean "worker"?', 'nodepool "nope" not found'],
  );
  assert.equal(asked, 1);
});
