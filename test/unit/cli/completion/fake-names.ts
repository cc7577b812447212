/** Completes words against pool and node names that the test gives in place of a cluster. */
import assert from 'node:assert/strict';
import manifest from '../../../../oclif.manifest.json' with { type: 'json' };
import { complete, type FlagValues } from '../../../../src/cli/completion/complete.ts';
import type { Grammar } from '../../../../src/cli/completion/grammar.ts';
import type { CompletionNames, NamesPort } from '../../../../src/kube/resources/names.ts';

const POOLS: CompletionNames = {
  names: ['worker', 'gpu', 'web'],
  labelKeys: ['team'],
  labelValues: { team: ['a', 'b'] },
  taints: ['dedicated=gpu:NoSchedule', 'dedicated=web:NoExecute'],
  startupTaints: ['agent=starting:NoSchedule'],
  annotations: ['example.com/owner', 'note'],
  resources: ['cpu', 'hugepages-2Mi', 'memory', 'nvidia.com/gpu'],
};
const NODES: CompletionNames = {
  names: ['node-b', 'node-a'],
  labelKeys: ['kubernetes.io/os', 'tier'],
  labelValues: { 'kubernetes.io/os': ['linux'], tier: ['', 'gold', 'silver'] },
  recorded: { gpu: ['node-b'] },
  roles: { worker: ['node-a'] },
};
const REVISIONS: CompletionNames = { names: [], labelKeys: [], revisions: { gpu: ['1', '2'], web: ['7'] } };
const NAMESPACES: CompletionNames = { names: ['shop', 'default'], labelKeys: [] };
export const START = new Date('2026-01-01T00:00:00Z');

export interface FakeNames extends NamesPort {
  asked: string[];
  flags: FlagValues[];
}

/** A NamesPort that records its calls. */
export function fakeNames(changes: Partial<NamesPort> = {}): FakeNames {
  const asked: string[] = [];
  return {
    asked,
    flags: [],
    access: () => ({ contexts: ['kind', 'prod@eu', 'evil\u001b[31m'], clusters: ['c1'], users: ['admin'] }),
    identity: () => 'https://server admin',
    namespace: () => 'shop',
    isQuiet: () => true,
    async list(kind, timeoutMs, namespace) {
      asked.push(`${kind} ${timeoutMs}`);
      const pods = { names: [`${namespace}-2`, `${namespace}-1`], labelKeys: [] };
      return { pools: POOLS, nodes: NODES, revisions: REVISIONS, namespaces: NAMESPACES, pods }[kind];
    },
    ...changes,
  };
}

interface Options {
  port?: FakeNames;
  wholeWords?: boolean;
  commands?: Grammar;
  cache?: string;
  now?: Date;
}

/** The output for the shell. */
export async function answer(words: string[], { port = fakeNames(), cache = '', now = START, ...rest }: Options = {}) {
  return complete({
    words,
    wholeWords: rest.wholeWords ?? false,
    commands: rest.commands ?? (manifest.commands as Grammar),
    io: { env: { XDG_CACHE_HOME: cache }, now: () => now },
    openNames: async flags => {
      port.flags.push(flags);
      return port;
    },
  });
}

/** The candidates without descriptions, and the directive. */
export async function candidates(...words: string[]): Promise<string[]> {
  const text = await answer(words);
  assert.ok(text.endsWith('\n'));
  return text
    .slice(0, -1)
    .split('\n')
    .map(line => line.replace(/\t.*/, ''));
}
