/** Commands that print names of nodes, in terminals of two sizes, with the names that clouds give. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { EKS, GKE } from '../cloud-names.ts';
import { createCloudCluster } from './cloud-cluster.ts';
import { openTerminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const SIZES = [
  [80, 24],
  [120, 40],
] as const;

interface Shown {
  text: string;
  /** Lines that the terminal had to wrap, as they were too wide. */
  wrapped: string[];
}

async function run(t: Parameters<typeof openTerminal>[0], args: readonly string[], columns: number, rows: number) {
  const terminal = openTerminal(t, cluster(), args, { columns, rows, env: { NO_COLOR: '1' } });
  await terminal.exit;
  const buffer = terminal.buffer();
  const lines: string[] = [];
  const shown: Shown = { text: '', wrapped: [] };
  for (let i = 0; i < buffer.length; i++) {
    const line = buffer.getLine(i);
    const text = line?.translateToString(true) ?? '';
    if (line?.isWrapped) shown.wrapped.push((lines.pop() ?? '') + text);
    lines.push(line?.isWrapped ? (shown.wrapped.at(-1) ?? '') : text);
  }
  shown.text = lines.join('\n').trim();
  return shown;
}

/** The words of the text that begin as the names, each once. */
function namesIn({ text }: Shown, begin: string): Set<string> {
  return new Set(text.split(/[\s:,;]+/).filter(word => word.startsWith(begin)));
}

test('tables fit two terminal widths, with 18 distinct node names of a cloud', async t => {
  await createCloudCluster(testEnv);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'big' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  const [first] = pod.spec.containers;
  Object.assign(first ?? {}, { resources: { requests: { cpu: '9', 'nvidia.com/gpu': '1' } } });
  const file = join(cluster().dir, 'pod.json');
  await writeFile(file, JSON.stringify(pod));
  for (const [columns, rows] of SIZES) {
    const size = `${columns}x${rows}`;
    for (const [pool, begin] of [
      ['frontend', 'ip-'],
      ['backend', 'gke-'],
    ] as const) {
      for (const args of [
        ['nodes', pool],
        ['top', pool, '--nodes'],
        ...(columns === 80 ? [['describe', pool]] : []),
        ...(columns === 120 ? [['nodes', pool, '-L', 'topology.kubernetes.io/zone']] : []),
      ]) {
        const what = `${args.join(' ')} at ${size}`;
        const shown = await run(t, args, columns, rows);
        const tables = shown.wrapped.filter(line => /^ *(ip-|gke-|NAME|NODE|Name +Status)/.test(line));
        assert.deepEqual(tables, [], `${what}\n${shown.text}`);
        if (args[0] !== 'describe') assert.equal(namesIn(shown, begin).size, 18, `${what}\n${shown.text}`);
      }
    }
    for (const args of [
      ['get'],
      ['events'],
      ['describe', 'frontend'],
      ['edit', 'frontend', '--taint', 'dedicated=web:NoExecute', '--dry-run'],
      ['history', 'frontend'],
      ['history', 'backend'],
      ['history', `node/${GKE[0]}`],
      ['fit', '-f', file],
    ]) {
      const shown = await run(t, args, columns, rows);
      assert.deepEqual(shown.wrapped, [], `${args.join(' ')} at ${size}\n${shown.text}`);
    }
    if (columns > 80) continue;
    const shown = await run(t, ['doctor'], columns, rows);
    // The nodes that are not ready, with whole names.
    const found = [...namesIn(shown, 'ip-'), ...namesIn(shown, 'gke')];
    assert.deepEqual(found, [EKS[4], GKE[4]], `doctor at ${size}\n${shown.text}`);
  }
});
