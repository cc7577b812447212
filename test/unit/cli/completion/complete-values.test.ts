import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MEASURES } from '../../../../src/nodepool/quantity/resource-usage.ts';
import { candidates } from './fake-names.ts';

describe('completes the value of a flag', () => {
  const conditions = ['condition=Ready', 'condition=Applied', 'condition=Conflict', 'condition=Progressing'];
  const pools = ['gpu', 'web', 'worker', ':4'];
  const nodes = ['node-a', 'node-b', ':4'];
  const both = ['gpu', 'node-a', 'node-b', 'web', 'worker', ':4'];
  const FORMATS =
    'wide json yaml name jsonpath= jsonpath-file= jsonpath-as-json= custom-columns= custom-columns-file='.split(' ');
  const cases: [words: string[], expected: string[]][] = [
    [
      ['get', '-o', ''],
      [...FORMATS, 'go-template=', 'go-template-file=', 'kyaml', ':4'],
    ],
    [
      ['nodes', '-o', ''],
      [...FORMATS, ':4'],
    ],
    [
      ['get', '-o=j'],
      [...FORMATS.filter(name => name.startsWith('j')), ':4'],
    ],
    [
      ['get', '-oj'],
      [...FORMATS.filter(name => name.startsWith('j')).map(name => `-o${name}`), ':4'],
    ],
    [
      ['get', '--output', 'y'],
      ['yaml', ':4'],
    ],
    [
      ['get', '--output=y'],
      ['yaml', ':4'],
    ],
    [
      ['delete', '--dry-run=c'],
      ['client', ':4'],
    ],
    [['create', '-f', ''], [':0']],
    [['get', '--kubeconfig=/et'], [':0']],
    [
      ['get', '--context', ''],
      ['kind', 'prod@eu', ':4'],
    ],
    [
      ['get', '--cluster='],
      ['c1', ':4'],
    ],
    [
      ['get', '--user', 'a'],
      ['admin', ':4'],
    ],
    [['create', 'x', '--nodes', ''], nodes],
    // Members of the pool by record or role.
    [
      ['cordon', 'gpu', '--node', ''],
      ['node-b', ':4'],
    ],
    [
      ['cordon', 'pool/gpu', '--node', ''],
      ['node-b', ':4'],
    ],
    [
      ['uncordon', 'gpu', 'worker', '--node='],
      ['node-a', 'node-b', ':4'],
    ],
    [['nodes', '--why', ''], nodes],
    [['history', ''], both],
    [
      ['history', 'node/'],
      ['node/node-a', 'node/node-b', ':4'],
    ],
    [
      ['history', 'pool/w'],
      ['pool/web', 'pool/worker', ':4'],
    ],
    [
      ['describe', 'nodepool.nodes.lailin.xyz/g'],
      ['nodepool.nodes.lailin.xyz/gpu', ':4'],
    ],
    [['describe', 'node/'], [':4']],
    [
      ['remove', 'worker', 'node/'],
      ['node/node-a', ':4'],
    ],
    [['remove', 'worker', 'node/node-a', 'node/'], [':4']],
    // Pods of the context's namespace, of that of the flag, and of the one in the word.
    [
      ['fit', ''],
      ['shop-1', 'shop-2', ':4'],
    ],
    [
      ['fit', '-n', 'web', 'web-1'],
      ['web-1', ':4'],
    ],
    [
      ['-nweb', 'fit', ''],
      ['web-1', 'web-2', ':4'],
    ],
    [
      ['fit', '-n', 'web', 'db/'],
      ['db/db-1', 'db/db-2', ':4'],
    ],
    [['fit', 'a/b/'], [':4']],
    [['fit', '..%2f/'], [':4']],
    [
      ['fit', '-n', ''],
      ['default', 'shop', ':4'],
    ],
    [
      ['fit', '--namespace=s'],
      ['shop', ':4'],
    ],
    [
      ['-n', 'd'],
      ['default', ':4'],
    ],
    [['get', '-n', ''], [':4']],
    [
      ['top', '--resources', ''],
      ['cpu', 'memory', 'pods', 'ephemeral-storage', 'hugepages-2Mi', 'nvidia.com/gpu', 'all', ':4'],
    ],
    [
      ['get', '--resources', 'cpu,n'],
      ['cpu,nvidia.com/gpu', ':4'],
    ],
    [['top', '--resources', 'cpu,a'], [':4']],
    [
      ['top', '--sort-by', ''],
      ['name', 'nodes', 'cpu', 'memory', 'pods', 'nvidia.com/gpu', ':4'],
    ],
    [
      ['top', '--resources', 'hugepages-2Mi', '--sort-by', 'h'],
      ['hugepages-2Mi', ':4'],
    ],
    [
      ['top', '--resources=all', '--sort-by', 'm'],
      ['memory', ':4'],
    ],
    [
      ['top', '--sort-by', 'nvidia.com/gpu.'],
      [...MEASURES, 'percent'].map(name => `nvidia.com/gpu.${name}`).concat(':4'),
    ],
    [
      ['get', '--sort-by', '.status.node'],
      ['.status.nodeCount', ':4'],
    ],
    [
      ['nodes', '--sort-by=.alloc'],
      ['.allocatable.cpu', '.allocatable.memory', ':4'],
    ],
    [
      ['create', 'x', '--nodes', 'node-a,'],
      ['node-a,node-b', ':4'],
    ],
    [
      ['create', 'x', '--nodes=node-b,no'],
      ['node-b,node-a', ':4'],
    ],
    [
      ['create', 'x', '--label', ''],
      ['tier=', ':6'],
    ],
    [
      ['create', 'x', '--node-selector', 'ku'],
      ['kubernetes.io/os=', ':6'],
    ],
    [
      ['get', '-l', ''],
      ['team=', ':6'],
    ],
    [
      ['get', '-l', 'a=b,t'],
      ['a=b,team=', ':6'],
    ],
    [
      ['get', '-l', 'team='],
      ['team=a', 'team=b', ':4'],
    ],
    [
      ['get', '-l', 'a=b,team=b'],
      ['a=b,team=b', ':4'],
    ],
    [
      ['nodes', '-l', 'tier='],
      ['tier=gold', 'tier=silver', ':4'],
    ],
    [['nodes', '-l', 'toString='], [':4']],
    [
      ['create', 'x', '--node-selector', 'kubernetes.io/os=l'],
      ['kubernetes.io/os=linux', ':4'],
    ],
    [['get', '-L', 'team='], [':4']],
    [
      ['create', 'x', '--label', 'a=b,ti'],
      ['a=b,tier=', ':6'],
    ],
    [
      ['create', 'x', '--taint', 'a:NoExecute,b=c:P'],
      ['a:NoExecute,b=c:PreferNoSchedule', ':4'],
    ],
    [['create', 'x', '--taint', 'a'], [':4']],
    [
      ['edit', 'x', '--taint', 'ded'],
      ['dedicated=gpu:NoSchedule', 'dedicated=web:NoExecute', ':4'],
    ],
    [
      ['create', 'x', '--taint', 'a=b:P'],
      ['a=b:PreferNoSchedule', ':4'],
    ],
    [
      ['create', 'x', '--taint=a:NoE'],
      ['a:NoExecute', ':4'],
    ],
    // kubectl's scripts for the shells would cut these words in different places.
    [['create', 'x', '--taint=a=b:NoE'], [':4']],
    [['create', 'x', '--taint', 'my-key=b:NoE'], [':4']],
    [
      ['wait', 'web', '--for='],
      ['status=200', 'nodes=', 'ready=', ...conditions, 'jsonpath=', 'create', 'delete', ':4'],
    ],
    [
      ['wait', 'web', '--for=cond'],
      [...conditions, ':4'],
    ],
    [
      ['wait', 'web', '--for', 'condition='],
      [...conditions, ':4'],
    ],
    [['events', '--for', ''], pools],
  ];
  for (const [words, expected] of cases) {
    test(JSON.stringify(words), async () => assert.deepEqual(await candidates(...words), expected));
  }
});
