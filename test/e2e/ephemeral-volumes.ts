/** Pods with a generic ephemeral volume, and the StorageClasses of its claim. */
import type { raw } from '../cluster/raw.ts';

type Api = ReturnType<typeof raw>;

const CLASSES = '/apis/storage.k8s.io/v1/storageclasses';
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const VOLUMES = '/api/v1/persistentvolumes';
export const ZONE = 'topology.kubernetes.io/zone';

/** `anywhere`, `east`, which provisions in that zone alone, and `static`, which provisions nothing. */
export async function createClasses(api: Api): Promise<void> {
  await api.expect('DELETE', CLASSES);
  for (const name of ['anywhere', 'east', 'static']) {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: ZONE, values: [name] }] }];
    await api.expect('POST', CLASSES, {
      metadata: { name },
      provisioner: name === 'static' ? 'kubernetes.io/no-provisioner' : 'example.com/disk',
      volumeBindingMode: 'WaitForFirstConsumer',
      ...(name === 'east' ? { allowedTopologies } : {}),
    });
  }
}

/** Of a pod's spec. */
export function scratch(storageClassName: string): { volumes: object[] } {
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } } };
  return { volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec } } }] };
}

/** The bound claim of that volume, as the ephemeral volume controller and the provisioner leave it: its volume is in one zone. */
export async function bindScratch(api: Api, pod: string, zone: string): Promise<void> {
  const name = `${pod}-scratch`;
  const of = { accessModes: ['ReadWriteOnce'], storageClassName: 'anywhere' };
  const requests = { storage: '1Gi' };
  await api.expect('POST', CLAIMS, {
    metadata: { name, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { ...of, resources: { requests }, volumeName: name },
  });
  const matchExpressions = [{ key: ZONE, operator: 'In', values: [zone] }];
  await api.expect('POST', VOLUMES, {
    metadata: { name },
    spec: {
      ...of,
      capacity: requests,
      csi: { driver: 'example.com', volumeHandle: name },
      claimRef: { namespace: 'default', name },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  });
}
