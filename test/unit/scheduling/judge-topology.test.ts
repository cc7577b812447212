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
  [
    'a pod that spreads over empty zones may go to any zone, but not to a node without a zone',
    pod({ ...spread(), ...tolerates }),
    [],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'a pod that spreads over zones is refused in the fuller zone',
    pod({ ...spread(), ...tolerates }),
    [['a2', web]],
    [SPREAD],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'a larger maxSkew allows the fuller zone',
    pod({ ...spread({ maxSkew: 2 }), ...tolerates }),
    [['a2', web]],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'spread ignores pods of other namespaces, pods with other labels and pods that are being deleted',
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
    'spread with ScheduleAnyway refuses no node',
    pod({ ...spread({ whenUnsatisfiable: 'ScheduleAnyway' }), ...tolerates }),
    [['a1', web]],
    [],
    [],
    [],
  ],
  [
    'a pod that its own spread selector does not match does not count itself',
    pod({ ...spread(), ...tolerates }, { labels: {} }),
    [['a1', web]],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'an empty selector of a spread counts no pod',
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
    'with fewer zones than minDomains, no zone takes more than maxSkew pods',
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
    'zones of nodes that the nodeSelector excludes do not count for the spread',
    pod({ ...spread(), nodeSelector: { zone: 'a' }, ...tolerates }),
    [['a1', web]],
    [],
    ["node(s) didn't match Pod's node affinity/selector"],
    ["node(s) didn't match Pod's node affinity/selector", `${SPREAD} (missing required label)`],
  ],
  [
    'with nodeAffinityPolicy Ignore, zones of excluded nodes count for the spread',
    pod({ ...spread({ nodeAffinityPolicy: 'Ignore' }), nodeSelector: { zone: 'a' }, ...tolerates }),
    [['a1', web]],
    [SPREAD],
    ["node(s) didn't match Pod's node affinity/selector"],
    ["node(s) didn't match Pod's node affinity/selector", `${SPREAD} (missing required label)`],
  ],
  [
    'zones of nodes with taints count for the spread',
    pod(spread()),
    [['a1', web]],
    [SPREAD],
    ['node(s) had untolerated taint(s)'],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'with nodeTaintsPolicy Honor, zones of nodes with taints do not count for the spread',
    pod(spread({ nodeTaintsPolicy: 'Honor' })),
    [['a1', web]],
    [],
    ['node(s) had untolerated taint(s)'],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'with matchLabelKeys, spread counts only pods of the same version',
    pod({ ...spread({ matchLabelKeys: ['v'] }), ...tolerates }, { labels: { app: 'web', v: '2' } }),
    [['a1', web]],
    [],
    [],
    [`${SPREAD} (missing required label)`],
  ],
  [
    'the first pod with affinity to its own labels may go to any zone',
    pod({ ...near(), ...tolerates }),
    [],
    [],
    [],
    [NEAR],
  ],
  [
    'the second pod with affinity to its own labels goes to the zone of the first',
    pod({ ...near(), ...tolerates }),
    [['a2', web]],
    [],
    [NEAR],
    [NEAR],
  ],
  [
    'affinity to pods that do not exist refuses every node',
    pod({ ...near(), ...tolerates }, { labels: {} }),
    [],
    [NEAR],
    [NEAR],
    [NEAR],
  ],
  [
    'a pod that is being deleted still counts for affinity',
    pod({ ...near(), ...tolerates }),
    [['b1', gone]],
    [NEAR],
    [],
    [NEAR],
  ],
  [
    'affinity with namespaces counts only pods of these namespaces',
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
    'affinity with a namespaceSelector counts pods of matching namespaces',
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
    'affinity with an empty namespaceSelector counts pods of all namespaces',
    pod({ ...near({ namespaceSelector: {} }), ...tolerates }, { labels: {} }),
    [['b1', other]],
    [NEAR],
    [],
    [NEAR],
  ],
  [
    'with matchLabelKeys, affinity needs a pod of the same version',
    pod({ ...near({ matchLabelKeys: ['v'] }), ...tolerates }, { labels: { v: '2' } }),
    [['a1', web]],
    [NEAR],
    [NEAR],
    [NEAR],
  ],
  ['anti-affinity refuses the zone of a matching pod', pod({ ...far(), ...tolerates }), [['a2', web]], [FAR], [], []],
  [
    'with mismatchLabelKeys, anti-affinity ignores pods of the same version',
    pod({ ...far({ mismatchLabelKeys: ['v'] }), ...tolerates }, { labels: { app: 'web', v: '2' } }),
    [['a1', pod({}, { labels: { app: 'web', v: '2' } })]],
    [],
    [],
    [],
  ],
  [
    'anti-affinity of the pod and of a running pod are two reasons',
    pod({ ...far(), ...tolerates }),
    [['a2', pod(far())]],
    [FAR, REFUSED],
    [],
    [],
  ],
  [
    'anti-affinity of a running pod refuses its zone',
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
    'anti-affinity of a running pod ignores pods of other namespaces',
    pod(tolerates),
    [['b1', pod(far(), { namespace: 'team-a' })]],
    [],
    [],
    [],
  ],
  [
    'anti-affinity of a running pod with a namespaceSelector refuses pods of matching namespaces',
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

test('a removed pod no longer counts, even if its labels are in another order', () => {
  const where = snapshot(NODES);
  const labelled = (labels: Record<string, string>) =>
    pod(far({ labelSelector: { matchLabels: labels } }), { labels: { app: 'web', ...labels } });
  where.add(labelled({ a: '1', b: '2' }), 'a1');
  const which = pod({ ...near(), ...tolerates }, { labels: { app: 'web', a: '1', b: '2' } });
  assert.deepEqual(words(which, 'a1', where), [REFUSED]);
  where.remove(labelled({ b: '2', a: '1' }), 'a1');
  assert.deepEqual(words(which, 'b1', where), []);
});
