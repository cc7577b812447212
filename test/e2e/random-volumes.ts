/** Claims and volumes in every state that the scheduler tells apart, in each namespace of random-cluster.ts. */
import type { raw } from '../cluster/raw.ts';
import type { Dice } from './dice.ts';
import { CLAIMS, NAMESPACES, ZONE, ZONES } from './random-cluster.ts';

type Api = ReturnType<typeof raw>;

const CLASSES = [
  ['static', 'kubernetes.io/no-provisioner', 'WaitForFirstConsumer'],
  ['made', 'example.com/disk', 'WaitForFirstConsumer'],
  ['immediate', 'example.com/disk', 'Immediate'],
] as const;

export async function createVolumes(api: Api, random: Dice): Promise<void> {
  for (const [name, provisioner, volumeBindingMode] of CLASSES) {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: ZONE, values: ['a', 'b'] }] }];
    const more = name === 'made' ? { allowedTopologies } : {};
    const body = { metadata: { name }, provisioner, volumeBindingMode, ...more };
    await api.expect('POST', '/apis/storage.k8s.io/v1/storageclasses', body);
  }
  for (const namespace of Object.keys(NAMESPACES)) {
    for (let at = 0; at < CLAIMS; at++) {
      await createBound(api, namespace, `bound-${at}`, random, ['ReadWriteOnce']);
      await createVolume(api, `${namespace}-waits-${at}`, random, { storageClassName: 'static' });
      await createClaim(api, namespace, `waits-${at}`, { storageClassName: 'static' });
      await createClaim(api, namespace, `made-${at}`, { storageClassName: 'made' });
    }
    for (let at = 0; at < 3; at++) await createBound(api, namespace, `once-${at}`, random, ['ReadWriteOncePod']);
    await createClaim(api, namespace, 'immediate', { storageClassName: 'immediate' });
  }
}

async function createBound(api: Api, namespace: string, name: string, random: Dice, accessModes: string[]) {
  const volumeName = `${namespace}-${name}`;
  const claimRef = { namespace, name, kind: 'PersistentVolumeClaim', apiVersion: 'v1' };
  await createVolume(api, volumeName, random, { accessModes, claimRef, storageClassName: 'bound' });
  await createClaim(api, namespace, name, { accessModes, volumeName, storageClassName: 'bound' });
}

async function createVolume(api: Api, name: string, random: Dice, more: object) {
  const required = {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: ZONE, operator: 'In', values: [random.pick(ZONES), random.pick(ZONES)] }] },
      ...(random.chance(0.3) ? [{ matchExpressions: [{ key: 'rack', operator: 'In', values: ['r1', 'r2'] }] }] : []),
    ],
  };
  const labels = random.chance(0.3) ? { [ZONE]: random.chance(0.5) ? 'a__b' : random.pick(ZONES) } : {};
  const spec = {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: random.pick(['1Gi', '5Gi', '10Gi']) },
    local: { path: '/mnt' },
    nodeAffinity: { required },
    persistentVolumeReclaimPolicy: 'Retain',
    ...more,
  };
  await api.expect('POST', '/api/v1/persistentvolumes', { metadata: { name, labels }, spec });
}

async function createClaim(api: Api, namespace: string, name: string, more: object) {
  const resources = { requests: { storage: '1Gi' } };
  const spec = { accessModes: ['ReadWriteOnce'], resources, ...more };
  await api.expect('POST', `/api/v1/namespaces/${namespace}/persistentvolumeclaims`, { metadata: { name }, spec });
}
