/** Pods that keep running but could not be scheduled there again, by rules beside selector, node affinity and taints. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../src/nodepool/types.ts';
import { LeavingPods } from '../../../../src/scheduling/impact/leaving-pods.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { NO_STORAGE, readClaim, readVolume, type Storage } from '../../../../src/scheduling/volumes/storage.ts';
import { pod, site, snapshot, words } from '../fixtures.ts';

/** Of a change from one set of labels to another, the keys because of which the pod would not come back. */
function causes(spec: RawPodSpec, [from, to]: [Node['labels'], Node['labels']], storage: Storage = NO_STORAGE) {
  const change = { before: site('a', { labels: from }), after: site('a', { labels: to }) };
  const running = pod(spec);
  const fate = new LeavingPods(change).fate({ pod: running, owner: undefined }, storage);
  const found = 'causes' in fate ? fate.causes.map(({ key }) => key) : ['it is evicted'];
  // As the rules for all nodes have it.
  assert.equal(words(running, 'a', snapshot([change.after], [], storage)).length > 0, found.length > 0);
  return found;
}

const selector = { matchLabels: { app: 'web' } };

test('a node that loses a topology key does not take back pods that must spread over it or be near other pods', () => {
  const lost: [Node['labels'], Node['labels']] = [{ rack: '1' }, {}];
  const spread = (whenUnsatisfiable: string) => ({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable, labelSelector: selector }],
  });
  assert.deepEqual(causes(spread('DoNotSchedule'), lost), ['rack']);
  assert.deepEqual(causes(spread('ScheduleAnyway'), lost), []);
  const terms = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'rack', labelSelector: selector }] };
  assert.deepEqual(causes({ affinity: { podAffinity: terms } }, lost), ['rack']);
  assert.deepEqual(causes({ affinity: { podAntiAffinity: terms } }, lost), []);
  assert.deepEqual(causes(spread('DoNotSchedule'), [{ rack: '1' }, { rack: '2' }]), [], 'another domain');
});

test('a pod does not return to a node that leaves the zone label of its volume', () => {
  const zone = 'topology.kubernetes.io/zone';
  const claim = readClaim({
    metadata: { namespace: 'default', name: 'data', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { volumeName: 'pv' },
  });
  const volume = readVolume({ metadata: { name: 'pv', labels: { [zone]: 'east' } } });
  const storage = { ...NO_STORAGE, claims: new Map([['default/data', claim]]), volumes: new Map([['pv', volume]]) };
  const spec = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
  assert.deepEqual(causes(spec, [{ [zone]: 'east' }, { [zone]: 'west' }], storage), [zone]);
  assert.deepEqual(causes(spec, [{ [zone]: 'east' }, {}], storage), [], 'a node without a zone is in any');
});
