import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LivePool } from '../../../../src/commands/get/live-counts.ts';
import { type PoolsTableOptions, poolsPrinter, withLive } from '../../../../src/commands/get/print.ts';
import type { NodePool } from '../../../../src/nodepool/types.ts';
import type { Style } from '../../../../src/print/style.ts';
import { colored, condition, freshPool, gpuPool, NOW, plain, workerPool } from '../../print/fixtures.ts';

const renderPools = (pools: NodePool[], options: PoolsTableOptions, style: Style) =>
  poolsPrinter(options, style)(pools, NOW);

test('prints the table', () => {
  const pools = [workerPool(), gpuPool(), freshPool()];
  assert.equal(
    renderPools(pools, { wide: false, headers: true }, plain),
    `
NAME     STATUS     NODES    READY    CORDONED   DUE      DRIFT       CPU      MEMORY   PODS     GPU      TAINTS                           AGE
worker   Ready      2        2        0          <none>   <unknown>   8        5.8Gi    220      4        node-pool=worker:NoSchedule,+1   2d3h
gpu      Conflict   1        1        1          <none>   <unknown>   15.82    64Gi     110      <none>   <none>                           60m
fresh    Pending    <none>   <none>   <none>     <none>   <unknown>   <none>   <none>   <none>   <none>   <none>                           3s`.slice(
      1,
    ),
  );
});

test('appends rows to a table, with their current age', () => {
  const render = poolsPrinter({ wide: false, headers: true }, plain);
  const [first] = render([workerPool()], NOW).split('\n').slice(1);
  const later = render([workerPool()], new Date(NOW.getTime() + 3_600_000));
  assert.equal(later, first?.replace(/2d3h$/, '2d4h'));
});

/** What the nodes of a pool are now. */
function live(facts: Partial<LivePool> = {}): LivePool {
  const state = { nodes: 2, ready: 2, due: 0, drifted: 0, isInvalid: false, losesNodes: false, isStartupStuck: false };
  return { ...state, cordoned: 0, allocatable: {}, maintenance: { active: 0, overdue: 0 }, ...facts };
}

test('prints the wide table', () => {
  const pools = [workerPool(), gpuPool()];
  const [ofWorker, ofGpu] = pools.map(({ status }) => status?.allocatable ?? {});
  const nodes = new Map([
    [
      'worker',
      live({
        drifted: 1,
        maintenance: { active: 2, overdue: 1 },
        allocatable: { ...ofWorker, 'hugepages-1Gi': '1Gi' },
      }),
    ],
    ['gpu', live({ nodes: 1, ready: 1, cordoned: 1, losesNodes: true, ...(ofGpu && { allocatable: ofGpu }) })],
  ]);
  const [header, worker, gpu] = renderPools(pools, { wide: true, headers: true, live: nodes }, plain)
    .split('\n')
    .map(line => line.split(/ +/));
  assert.equal(
    header?.join(' '),
    'NAME STATUS NODES READY CORDONED DUE DRIFT CPU MEMORY PODS GPU TAINTS AGE CODE HANDLER STORAGE SELECTOR REASON MAINTENANCE HUGEPAGES-1GI',
  );
  assert.equal(
    worker?.join(' '),
    'worker Drifted 2 2 0 0 1 8 5.8Gi 220 4 node-pool=worker:NoSchedule,dedicated:NoExecute 2d3h 200 gvisor 175.5Gi node-role.kubernetes.io/worker= <none> 2,1-overdue 1Gi',
  );
  assert.equal(
    gpu?.join(' '),
    'gpu Conflict 1 1 1 0 0 15.82 64Gi 110 <none> <none> 60m 409 <none> <none> example.com/gpu=a100 NodeConflict 0 <none>',
  );
});

test('CODE is that of the shown STATUS', () => {
  const shown = (pool: NodePool, facts?: Partial<LivePool>) => {
    const now = facts && new Map([[pool.metadata.name, live(facts)]]);
    const [header = [], row = []] = renderPools([pool], { wide: true, headers: true, live: now }, plain)
      .split('\n')
      .map(line => line.split(/ +/));
    return ['STATUS', 'CODE', 'DRIFT', 'MAINTENANCE'].map(name => row[header.indexOf(name)]).join(' ');
  };
  assert.equal(shown(workerPool(), { losesNodes: true }), 'Conflict 409 0 0');
  assert.equal(shown(workerPool(), { isInvalid: true }), 'Invalid 422 0 0');
  assert.equal(shown(workerPool(), { ready: 0 }), 'NotReady 503 0 0');
  assert.equal(shown(gpuPool(), {}), 'Ready 200 0 0');
  assert.equal(shown(gpuPool()), 'Conflict 409 <unknown> <unknown>');
  assert.equal(shown(freshPool(), {}), 'Pending <none> 0 0');
  const failing = workerPool();
  if (failing.status !== undefined) failing.status.status = 500;
  assert.equal(shown(failing, {}), 'Failing 500 0 0');
});

test('DUE counts changes of a reconcile, DRIFT foreign changes, shown on a terminal when present', () => {
  const cells = (facts: Partial<LivePool>, terminalWidth?: number) => {
    const now = live(facts);
    const options = { wide: false, headers: true, live: new Map([['worker', now]]), terminalWidth };
    const lines = renderPools([withLive(workerPool(), now)], options, plain).split('\n');
    const [header = [], row = []] = lines.map(line => line.split(/ +/));
    return Object.fromEntries(header.map((name, at) => [name, row[at]]));
  };
  const { STATUS, NODES, READY, CORDONED, DUE, DRIFT } = cells({ nodes: 3, ready: 2, due: 2, drifted: 1, cordoned: 1 });
  assert.deepEqual([STATUS, NODES, READY, CORDONED, DUE, DRIFT], ['Drifted', '3', '2', '1', '2', '1']);
  assert.deepEqual(Object.keys(cells({}, 200)).slice(0, 5), ['NAME', 'STATUS', 'NODES', 'READY', 'CPU']);
  assert.deepEqual(Object.keys(cells({ due: 1 }, 200)).slice(3, 6), ['READY', 'DUE', 'CPU']);
  assert.deepEqual(Object.keys(cells({})).slice(3, 8), ['READY', 'CORDONED', 'DUE', 'DRIFT', 'CPU']);
});

test('prints whole resource names when two devices share a short name', () => {
  const pool = workerPool();
  const allocatable = {
    cpu: '1',
    'nvidia.com/gpu': '4',
    'amd.com/gpu': '2',
    'intel.com/gpu': '0',
    'example.com/dongle': '9',
  };
  if (pool.status !== undefined) pool.status.allocatable = allocatable;
  const [header = ''] = renderPools([pool], { wide: false, headers: true }, plain).split('\n');
  assert.match(header, / PODS +AMD\.COM\/GPU +NVIDIA\.COM\/GPU +TAINTS /);
});

test('prints as many words in every line as there are columns, with and without headers', () => {
  const pools = [workerPool(), gpuPool(), freshPool()];
  for (const wide of [false, true]) {
    const text = renderPools(pools, { wide, headers: false }, plain);
    for (const line of text.split('\n')) assert.equal(line.split(/ +/).length, wide ? 19 : 13, line);
  }
});

const widest = (text: string) => Math.max(...text.split('\n').map(line => line.length));

test('fits the table into a terminal of 80 columns: cuts taints, then leaves columns out', () => {
  const pools = [workerPool(), gpuPool(), freshPool()];
  const shape = { wide: false, headers: true };
  assert.equal(
    renderPools([workerPool()], { ...shape, terminalWidth: 80 }, plain),
    `
NAME     STATUS   NODES   READY   CPU   MEMORY   PODS   GPU   AGE …
worker   Ready    2       2       8     5.8Gi    220    4     2d3h`.slice(1),
  );
  assert.equal(
    renderPools(pools.slice(0, 2), { ...shape, terminalWidth: 80 }, plain),
    `
NAME     STATUS     NODES   READY   CORDONED   CPU     MEMORY   GPU      AGE …
worker   Ready      2       2       0          8       5.8Gi    4        2d3h
gpu      Conflict   1       1       1          15.82   64Gi     <none>   60m`.slice(1),
  );
  const whole = renderPools(pools, { ...shape, terminalWidth: 1000 }, plain);
  for (let width = 40; width < 120; width++) {
    const text = renderPools(pools, { ...shape, terminalWidth: width }, plain);
    assert.ok(widest(text) <= Math.max(width, 41), `${width}:\n${text}`);
  }
  assert.equal(renderPools(pools, { ...shape, terminalWidth: widest(whole) }, plain), whole);
  const chosen = { ...shape, terminalWidth: 40, resources: ['cpu', 'pods'] };
  assert.match(renderPools(pools, chosen, plain), /^NAME +STATUS +NODES +CPU +PODS …$/m);
});

/** The pool of worker, with a longer status. */
function losing(): NodePool {
  const pool = workerPool();
  if (pool.status !== undefined) pool.status.status = 409;
  return pool;
}

test('a watch fits the terminal, and keeps CORDONED, DUE and DRIFT, which may change', () => {
  const options = { wide: false, headers: true, terminalWidth: 80, isWatch: true };
  const header = (text: string) => (text.split('\n')[0] ?? '').replace(' …', '').split(/ +/);
  for (const terminalWidth of [50, 60, 70, 80, 90]) {
    for (const pools of [[workerPool()], [gpuPool()], [workerPool(), gpuPool(), freshPool()]]) {
      const text = poolsPrinter({ ...options, terminalWidth }, plain)(pools, NOW);
      assert.ok(widest(text) <= terminalWidth, text);
      assert.deepEqual(header(text).slice(0, 3), ['NAME', 'STATUS', 'NODES']);
    }
  }
  const counted = new Map([['worker', live()]]);
  assert.match(poolsPrinter({ ...options, live: counted }, plain)([workerPool()], NOW), / CORDONED +DUE +DRIFT/);
  const withEvents = poolsPrinter(options, plain);
  const lines = [withEvents([workerPool()], NOW, 'ADDED'), withEvents([losing()], NOW, 'MODIFIED')].join('\n');
  assert.ok(widest(lines) <= 80, lines);
  assert.match(lines, /^EVENT +NAME /);
});

test('prints the node counts of a pool that was never reconciled', () => {
  const now = live({ nodes: 3, ready: 2, due: 3 });
  const options = { wide: false, headers: false, live: new Map([['fresh', now]]) };
  const text = renderPools([withLive(freshPool(), now)], options, plain);
  assert.match(text, /^fresh +Pending +3 +2 +0 +3 +0 /m);
});

test('counts former members as due, also in a pool without nodes', () => {
  const now = live({ nodes: 0, ready: 0, due: 2 });
  const pool = withLive(workerPool(), now);
  const text = renderPools([pool], { wide: false, headers: false, live: new Map([['worker', now]]) }, plain);
  assert.match(text, /^worker +Pending +0 +0 +0 +2 +0 /m);
  assert.equal(pool.status?.updatedNodeCount, 0);
});

test('prints 0 resources for a reconciled pool without nodes', () => {
  const pool = freshPool();
  pool.status = { status: 200, nodeCount: 0, readyNodeCount: 0, unschedulableNodeCount: 0, allocatable: {} };
  const text = renderPools([pool], { wide: false, headers: false }, plain);
  assert.equal(text.split(/ +/).join(' '), 'fresh Empty 0 0 0 <none> <unknown> 0 0 0 <none> 3s');
});

test('shows that a pool is being deleted', () => {
  const pools = [workerPool(), freshPool()].map(pool => {
    pool.metadata.deletionTimestamp = '2026-11-21T08:59:59Z';
    return pool;
  });
  const text = renderPools(pools, { wide: false, headers: false }, plain);
  assert.deepEqual(
    text.split('\n').map(line => line.split(/ +/)[1]),
    ['Deleting', 'Deleting'],
  );
});

test('colours the status green, yellow or red', () => {
  const pools = [200, 503, 409, 500].map(status => {
    const pool = workerPool();
    if (pool.status !== undefined) pool.status.status = status;
    return pool;
  });
  const lines = renderPools(pools, { wide: false, headers: false }, colored).split('\n');
  assert.deepEqual(
    lines.map(line => /\x1b\[(\d+)m([^\x1b]*)/.exec(line)?.slice(1).join(' ')),
    ['32 Ready', '33 NotReady', '31 Conflict', '31 Failing'],
  );
});

test('prints requested resources instead of the default ones', () => {
  const pools = [workerPool(), gpuPool(), freshPool()];
  const shape = { wide: false, headers: true };
  assert.equal(
    renderPools(pools, { ...shape, resources: ['nvidia.com/gpu', 'memory', 'nonsense'] }, plain),
    `
NAME     STATUS     NODES    READY    CORDONED   DUE      DRIFT       NVIDIA.COM/GPU   MEMORY   NONSENSE   TAINTS                           AGE
worker   Ready      2        2        0          <none>   <unknown>   4                5.8Gi    <none>     node-pool=worker:NoSchedule,+1   2d3h
gpu      Conflict   1        1        1          <none>   <unknown>   <none>           64Gi     <none>     <none>                           60m
fresh    Pending    <none>   <none>   <none>     <none>   <unknown>   <none>           <none>   <none>     <none>                           3s`.slice(
      1,
    ),
  );
  const headers = (options: object) =>
    renderPools(pools, { ...shape, ...options }, plain)
      .split('\n', 1)[0]
      ?.split(/ +/)
      .slice(7)
      .join(' ');
  assert.equal(headers({ resources: 'all' }), 'CPU MEMORY PODS STORAGE HUGEPAGES-1GI NVIDIA.COM/GPU TAINTS AGE');
  assert.equal(
    headers({ resources: ['pods'], wide: true }),
    'PODS TAINTS AGE CODE HANDLER SELECTOR REASON MAINTENANCE',
  );
  assert.equal(headers({ resources: [] }), 'TAINTS AGE');
});

test('prints labels as columns named without prefix, and all labels', () => {
  const pools = [workerPool(), freshPool()];
  const [worker, fresh] = pools;
  if (worker !== undefined) worker.metadata.labels = { team: 'a', 'example.com/tier': 'gold', empty: '' };
  assert.ok(fresh);
  const labelColumns = ['example.com/tier', 'team', 'empty'];
  const text = renderPools(pools, { wide: false, headers: true, labelColumns, showLabels: true }, plain);
  assert.deepEqual(
    text.split('\n').map(line => line.split(/ +/).slice(13).join(' ')),
    ['TIER TEAM EMPTY LABELS', 'gold a <none> empty=,example.com/tier=gold,team=a', '<none> <none> <none> <none>'],
  );
});

test('treats names of Object.prototype as neither labels nor resources', () => {
  const options = { wide: false, headers: false, resources: ['constructor'], labelColumns: ['toString'] };
  const words = renderPools([workerPool()], options, plain).split(/ +/);
  assert.deepEqual([words[7], words.at(-1)], ['<none>', '<none>']);
});

test('prints the watch event first without moving columns', () => {
  const render = poolsPrinter({ wide: false, headers: true }, plain);
  const lines = [
    ...render([workerPool()], NOW, 'ADDED').split('\n'),
    render([workerPool()], NOW, 'MODIFIED'),
    render([workerPool()], NOW, 'DELETED'),
  ];
  assert.deepEqual(
    lines.map(line => line.slice(0, 17)),
    ['EVENT      NAME  ', 'ADDED      worker', 'MODIFIED   worker', 'DELETED    worker'],
  );
});

test('escapes labels and resources that would break the table', () => {
  const pool = workerPool();
  pool.metadata.labels = { team: 'a\x1b[31m\u202e' };
  if (pool.status !== undefined) pool.status.allocatable = { 'example.com/\x1b[2J': '1' };
  const options = { wide: true, headers: true, labelColumns: ['team'], showLabels: true };
  const text = renderPools([pool], options, plain);
  assert.doesNotMatch(text, /[\x1b\u202e]/);
  assert.match(text, /EXAMPLE\.COM\/\\u001b\[2J/);
});

test('prints values that another CRD version allowed as one word', () => {
  const pool = workerPool();
  pool.spec = {
    handler: 'my runtime',
    nodeSelector: { a: 'b c' },
    taints: [{ key: 'k k', effect: 'NoSchedule' }],
  };
  for (const wide of [false, true]) {
    const lines = renderPools([pool], { wide, headers: true }, plain).split('\n');
    const [header = [], row = []] = lines.map(line => line.split(/ +/));
    assert.equal(header.length, row.length, lines.join('\n'));
  }
});

test('prints status text of others as one short word', () => {
  const pool = workerPool();
  if (pool.status !== undefined) {
    pool.status.conditions = [condition('Applied', false, 'two words', '')];
    pool.status.allocatable = { cpu: 'x y'.repeat(100_000), memory: '1Gi', 'example.com/a b': '1' };
  }
  const lines = renderPools([pool], { wide: true, headers: true }, plain).split('\n');
  const [header = [], row = []] = lines.map(line => line.split(/ +/));
  assert.equal(header.length, row.length);
  assert.deepEqual(row.slice(-3), ['two_words', '<unknown>', '1']);
  assert.equal(row[7]?.length, 128);
});
