/** Topology spread and pod (anti-)affinity. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawPodSpec, RawPodTerm, RawSpreadConstraint } from '../../../src/scheduling/pod/raw-pod.ts';
import type { Pod } from '../../../src/scheduling/types.ts';
import { taint } from '../nodepool/fixtures.ts';
import { pod, site, snapshot, words } from './fixtures.ts';

const SPREAD = "node(s) didn't match pod topology spread constraints";
const NEAR = "node(s) didn't match pod affinity rules";
const FAR = "node(s) didn't match pod anti-affinity rules";
const REFUSED = "node(s) didn't satisfy existing pods anti-affinity rules";

const WEB = { matchLabels: { app: 'web' } };
const spread = (more: RawSpreadConstraint = {}): RawPodSpec => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: WEB, ...more },
  ],
});
const term = (more: RawPodTerm = {}): RawPodTerm[] => [{ topologyKey: 'zone', labelSelector: WEB, ...more }];
const near = (more: RawPodTerm = {}): RawPodSpec => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(more) } },
});
const far = (more: RawPodTerm = {}): RawPodSpec => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(more) } },
});

const NODES = [
  site('a1', { labels: { zone: 'a' } }),
  site('a2', { labels: { zone: 'a', disk: 'ssd' } }),
  site('b1', { labels: { zone: 'b', disk: 'ssd' }, taints: [taint('gpu:NoSchedule')] }),
  site('x1'),
];
const web = pod();
const db = pod({}, { labels: { app: 'db' } });
const gone = pod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
const other = pod({}, { namespace: 'team-a' });
const tolerates = { tolerations: [{ operator: 'Exists' }] };

/** Which words the nodes a1, b1 and x1 say. b1's taint is tolerated unless a case wants it. */
const CASES: [string, Pod, [string, Pod][], string[], string[], string[]][] = [
  ['spread over empty domains', pod({ ...spread(), ...tolerates }), [], [], [], [`${SPREAD} (missing required label)`]],
  [
    'spread, one domain is fuller',
    pod({ ...spread(), ...tolerates }),
    [['a2', web]],
    [SPREAD],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread, more skew',
    pod({ ...spread({ maxSkew: 2 }), ...tolerates }),
    [['a2', web]],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread counts its own namespace',
    pod({ ...spread(), ...tolerates }),
    [
      ['a1', other],
      ['a1', db],
      ['a1', gone],
    ],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread that is only preferred',
    pod({ ...spread({ whenUnsatisfiable: 'ScheduleAnyway' }), ...tolerates }),
    [['a1', web]],
    [],
    [],
    [],
  ],
  [
    'spread of other pods',
    pod({ ...spread(), ...tolerates }, { labels: {} }),
    [['a1', web]],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread, an empty selector counts no pod',
    pod({ ...spread({ labelSelector: {} }), ...tolerates }),
    [
      ['a1', web],
      ['a1', web],
    ],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread over fewer domains than minDomains',
    pod({ ...spread({ minDomains: 3 }), ...tolerates }),
    [
      ['a1', web],
      ['b1', web],
    ],
    [SPREAD],
    [SPREAD],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread, nodes that do not match are no domain',
    pod({ ...spread(), nodeSelector: { zone: 'a' }, ...tolerates }),
    [['a1', web]],
    [],
    ["node(s) didn't match Pod's node affinity/selector"],
    ["node(s) didn't match Pod's node affinity/selector", `${SPREAD} (missing required label)`],
  ],
  [
    'spread, unless they count',
    pod({ ...spread({ nodeAffinityPolicy: 'Ignore' }), nodeSelector: { zone: 'a' }, ...tolerates }),
    [['a1', web]],
    [SPREAD],
    ["node(s) didn't match Pod's node affinity/selector"],
    ["node(s) didn't match Pod's node affinity/selector", `${SPREAD} (missing required label)`],
  ],
  [
    'spread counts nodes with taints',
    pod(spread()),
    [['a1', web]],
    [SPREAD],
    ['node(s) had untolerated taint(s)'],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread, unless they do not count',
    pod(spread({ nodeTaintsPolicy: 'Honor' })),
    [['a1', web]],
    [],
    ['node(s) had untolerated taint(s)'],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread of one version',
    pod({ ...spread({ matchLabelKeys: ['v'] }), ...tolerates }, { labels: { app: 'web', v: '2' } }),
    [['a1', web]],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  ['near itself, the first', pod({ ...near(), ...tolerates }), [], [], [], [NEAR]],
  ['near itself, the second', pod({ ...near(), ...tolerates }), [['a2', web]], [], [NEAR], [NEAR]],
  [
    'near another, of which there is none',
    pod({ ...near(), ...tolerates }, { labels: {} }),
    [],
    [NEAR],
    [NEAR],
    [NEAR],
  ],
  ['near a pod that is being deleted', pod({ ...near(), ...tolerates }), [['b1', gone]], [NEAR], [], [NEAR]],
  [
    'near pods of another namespace',
    pod({ ...near({ namespaces: ['team-a'] }), ...tolerates }, { labels: {} }),
    [
      ['b1', other],
      ['a1', web],
    ],
    [NEAR],
    [],
    [NEAR],
  ],
  [
    'near pods of namespaces by label',
    pod({ ...near({ namespaceSelector: { matchLabels: { team: 'a' } } }), ...tolerates }, { labels: {} }),
    [
      ['b1', other],
      ['a1', web],
    ],
    [NEAR],
    [],
    [NEAR],
  ],
  [
    'near pods of any namespace',
    pod({ ...near({ namespaceSelector: {} }), ...tolerates }, { labels: {} }),
    [['b1', other]],
    [NEAR],
    [],
    [NEAR],
  ],
  [
    'near pods of its own version',
    pod({ ...near({ matchLabelKeys: ['v'] }), ...tolerates }, { labels: { v: '2' } }),
    [['a1', web]],
    [NEAR],
    [NEAR],
    [NEAR],
  ],
  ['far from itself', pod({ ...far(), ...tolerates }), [['a2', web]], [FAR], [], []],
  [
    'far from other versions',
    pod({ ...far({ mismatchLabelKeys: ['v'] }), ...tolerates }, { labels: { app: 'web', v: '2' } }),
    [['a1', pod({}, { labels: { app: 'web', v: '2' } })]],
    [],
    [],
    [],
  ],
  [
    'far from itself, refused by what runs too',
    pod({ ...far(), ...tolerates }),
    [['a2', pod(far())]],
    [FAR, REFUSED],
    [],
    [],
  ],
  [
    'refused by what runs',
    pod(tolerates),
    [
      ['b1', pod(far(), { labels: {} })],
      ['a1', db],
    ],
    [],
    [REFUSED],
    [],
  ],
  [
    'not refused by what runs in another namespace',
    pod(tolerates),
    [['b1', pod(far(), { namespace: 'team-a' })]],
    [],
    [],
    [],
  ],
  [
    'refused by any namespace',
    pod(tolerates, { namespace: 'team-a' }),
    [['b1', pod(far({ namespaceSelector: { matchLabels: { team: 'a' } } }))]],
    [],
    [REFUSED],
    [],
  ],
];

for (const [name, which, running, ...expected] of CASES) {
  test(name, () => {
    const where = snapshot(NODES, running);
    assert.deepEqual(
      ['a1', 'b1', 'x1'].map(node => words(which, node, where)),
      expected,
    );
  });
}

test('a pod that is removed no longer counts, in whatever order its labels are', () => {
  const where = snapshot(NODES);
  const labelled = (labels: Record<string, string>) =>
    pod(far({ labelSelector: { matchLabels: labels } }), { labels: { app: 'web', ...labels } });
  where.add(labelled({ a: '1', b: '2' }), 'a1');
  const which = pod({ ...near(), ...tolerates }, { labels: { app: 'web', a: '1', b: '2' } });
  assert.deepEqual(words(which, 'a1', where), [REFUSED]);
  where.remove(labelled({ b: '2', a: '1' }), 'a1');
  assert.deepEqual(words(which, 'b1', where), []);
});
