/** Good and bad spec.annotations, for POOL_CASES. */
import type { NodePoolSpec } from '../../src/nodepool/types.ts';

interface AnnotationCase {
  title: string;
  spec: Pick<NodePoolSpec, 'labels' | 'annotations'>;
}

const a63 = 'a'.repeat(63);
const KIB = 1024;
const longest = `${a63}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}/${a63}`;

const many = (count: number, value = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, value]));
const set = (key: string) => ({ annotations: { [key]: 'x' } });

export const GOOD_ANNOTATIONS: AnnotationCase[] = [
  { title: 'no annotations', spec: { annotations: {} } },
  {
    title: 'annotations with values of any text',
    spec: { annotations: { a: '', 'example.com/b': 'two words, "quoted"\n\ttab é 🌍 \u0001', c: '{"a":[1,2]}' } },
  },
  { title: 'the longest annotation key', spec: set(longest) },
  { title: '64 annotations', spec: { annotations: many(64) } },
  { title: '64 KiB of annotations', spec: { annotations: { ab: 'x'.repeat(64 * KIB - 2) } } },
  { title: '64 KiB of annotations in two bytes each', spec: { annotations: { ab: 'é'.repeat(32 * KIB - 1) } } },
  { title: 'an annotation of the autoscaler', spec: set('cluster-autoscaler.kubernetes.io/scale-down-disabled') },
  { title: 'an annotation beside those of the cluster', spec: set('beta.volumes.kubernetes.io/a') },
  { title: 'another annotation of kubectl', spec: set('kubectl.kubernetes.io/restartedAt') },
  { title: 'an annotation that is also a label', spec: { labels: { a: 'x' }, annotations: { a: 'y' } } },
  { title: 'annotation keys that are names of JavaScript', spec: { annotations: { constructor: 'x', toString: 'y' } } },
];

export const BAD_ANNOTATIONS: (AnnotationCase & { wrong: string[] })[] = [
  ...['a b', '', `${a63}a`, `${'e'.repeat(254)}/a`, 'A.com/a', 'a/b/c', '/a', 'a/', 'a\n', 'é'].map(key => ({
    title: `the annotation key ${JSON.stringify(key)}`,
    spec: set(key),
    wrong: [`spec.annotations[${key}]`],
  })),
  ...[
    'nodes.lailin.xyz/applied',
    'nodes.lailin.xyz/other',
    'node.alpha.kubernetes.io/ttl',
    'volumes.kubernetes.io/controller-managed-attach-detach',
    'kubeadm.alpha.kubernetes.io/cri-socket',
    'csi.volume.kubernetes.io/nodeid',
    'alpha.kubernetes.io/provided-node-ip',
    'kubectl.kubernetes.io/last-applied-configuration',
  ].map(key => ({ title: `the annotation ${key}`, spec: set(key), wrong: [`spec.annotations[${key}]`] })),
  { title: '65 annotations', spec: { annotations: many(65) }, wrong: ['spec.annotations'] },
  {
    title: 'a byte more than 64 KiB of annotations',
    spec: { annotations: { ab: 'x'.repeat(64 * KIB - 1) } },
    wrong: ['spec.annotations'],
  },
  {
    title: 'fewer than 64 Ki characters of annotations in more bytes',
    spec: { annotations: { ab: 'é'.repeat(32 * KIB) } },
    wrong: ['spec.annotations'],
  },
  {
    title: 'more than 64 KiB in many annotations',
    spec: { annotations: many(64, 'x'.repeat(KIB)) },
    wrong: ['spec.annotations'],
  },
  {
    title: 'an annotation of more than 64 Ki characters',
    spec: { annotations: { a: 'x'.repeat(64 * KIB + 1) } },
    wrong: ['spec.annotations[a]'],
  },
];
