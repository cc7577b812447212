/** What each value of the chart changes in the objects that it renders. */
import pjson from '../../package.json' with { type: 'json' };
import { IMAGE_NAME } from '../../scripts/image/image.ts';

/** The new value, or what makes it of the default one. */
type Expected = unknown | ((before: never) => unknown);

export interface ValueCase {
  /** Not the default. */
  value: unknown;
  /** Other values, without which this one has no effect. */
  beside?: Record<string, unknown>;
  /** The objects that change, by KIND NAMESPACE/NAME: the fields (a/b/0/c), or whether the object is new or gone. */
  changes: Record<string, 'new' | 'gone' | Record<string, Expected>>;
}

const NAME = 'nodepool-system/nodepool-controller';
const DEPLOYMENT = `Deployment ${NAME}`;
const ROLE = 'ClusterRole /nodepool-controller';
const MONITOR = `ServiceMonitor ${NAME}`;
const CRD = 'CustomResourceDefinition /nodepools.nodes.lailin.xyz';
const POD = 'spec/template/spec';
const CONTAINER = `${POD}/containers/0`;
const DIGEST = `sha256:${'a'.repeat(64)}`;
const MONITORED = { serviceMonitor: { enabled: true } };

const image = (name: string) => ({ [DEPLOYMENT]: { [`${CONTAINER}/image`]: name } });
const pod = (field: string, expected: Expected) => ({ [DEPLOYMENT]: { [`${POD}/${field}`]: expected } });
const label = (key: string, name: string, value: string) => ({ [key]: { [`metadata/labels/${name}`]: value } });
/** Arguments after another one. */
const argsAfter = (flag: RegExp, more: readonly string[]) => ({
  [`${CONTAINER}/args`]: (args: string[]) => args.flatMap(arg => (flag.test(arg) ? [arg, ...more] : [arg])),
});
const rules = (...more: object[]) => ({ rules: (before: object[]) => [...before, ...more] });
/** Takes a key out of a map, which must have it. */
const without = (key: string) => (before: Record<string, string>) => {
  const { [key]: taken, ...rest } = before;
  if (taken === undefined) throw new Error(`no ${key}`);
  return rest;
};
const may = (group: string, resource: string, verbs: string[]) => ({
  apiGroups: [group],
  resources: [resource],
  verbs,
});
const policies = ['protect-membership', 'protect-records'].flatMap(name => [
  `ValidatingAdmissionPolicy /${name}.nodes.lailin.xyz`,
  `ValidatingAdmissionPolicyBinding /${name}.nodes.lailin.xyz`,
]);
const toleration = { key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute', tolerationSeconds: 5 };
const affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }],
    },
  },
};

export const VALUE_CASES: Record<string, ValueCase> = {
  'image.repository': { value: 'example.com/x', changes: image(`example.com/x:${pjson.version}`) },
  'image.tag': { value: '1.2.3', changes: image(`${IMAGE_NAME}:1.2.3`) },
  'image.digest': { value: DIGEST, changes: image(`${IMAGE_NAME}@${DIGEST}`) },
  'image.pullPolicy': { value: 'Always', changes: pod('containers/0/imagePullPolicy', 'Always') },
  imagePullSecrets: { value: [{ name: 's' }], changes: pod('imagePullSecrets', [{ name: 's' }]) },
  replicas: { value: 3, changes: { [DEPLOYMENT]: { 'spec/replicas': 3 } } },
  podCounts: {
    value: true,
    changes: {
      [DEPLOYMENT]: argsAfter(/^--log-format/, ['--pod-counts']),
      [ROLE]: rules(may('', 'pods', ['list', 'watch'])),
    },
  },
  evictions: {
    value: true,
    changes: {
      [ROLE]: rules(
        may('', 'pods', ['list']),
        may('', 'pods/eviction', ['create']),
        may('policy', 'poddisruptionbudgets', ['list']),
      ),
    },
  },
  transientKeys: {
    value: ['example.com/boot', 'acme.io/*'],
    changes: { [DEPLOYMENT]: argsAfter(/^--log-format/, ['--transient-keys=example.com/boot,acme.io/*']) },
  },
  extraArgs: { value: ['--v=4'], changes: { [DEPLOYMENT]: argsAfter(/^--log-format/, ['--v=4']) } },
  'crds.install': { value: false, changes: { [CRD]: 'gone' } },
  'crds.keep': { value: false, changes: { [CRD]: { 'metadata/annotations': without('helm.sh/resource-policy') } } },
  'policies.enabled': { value: false, changes: Object.fromEntries(policies.map(key => [key, 'gone' as const])) },
  'policies.bornInPool': {
    value: true,
    changes: {
      'MutatingAdmissionPolicy /born-in-pool.nodes.lailin.xyz': 'new',
      'MutatingAdmissionPolicyBinding /born-in-pool.nodes.lailin.xyz': 'new',
    },
  },
  'rbac.aggregate': {
    value: false,
    changes: {
      'ClusterRole /nodepool.lailin.xyz:view': {
        'metadata/labels': without('rbac.authorization.k8s.io/aggregate-to-view'),
      },
      'ClusterRole /nodepool.lailin.xyz:edit': {
        'metadata/labels': without('rbac.authorization.k8s.io/aggregate-to-admin'),
      },
    },
  },
  'serviceAccount.annotations': {
    value: { a: 'b' },
    changes: { [`ServiceAccount ${NAME}`]: { 'metadata/annotations': { a: 'b' } } },
  },
  podAnnotations: {
    value: { a: 'b' },
    changes: { [DEPLOYMENT]: { 'spec/template/metadata/annotations': { a: 'b' } } },
  },
  podLabels: { value: { a: 'b' }, changes: { [DEPLOYMENT]: { 'spec/template/metadata/labels/a': 'b' } } },
  priorityClassName: {
    value: 'low',
    changes: {
      ...pod('priorityClassName', 'low'),
      [`ResourceQuota ${NAME}`]: { 'spec/scopeSelector/matchExpressions/0/values': ['low'] },
    },
  },
  'resourceQuota.enabled': { value: false, changes: { [`ResourceQuota ${NAME}`]: 'gone' } },
  'resourceQuota.pods': { value: 5, changes: { [`ResourceQuota ${NAME}`]: { 'spec/hard/pods': '5' } } },
  // Helm merges maps.
  resources: { value: { limits: { cpu: '1' } }, changes: pod('containers/0/resources/limits/cpu', '1') },
  nodeSelector: { value: { disk: 'ssd' }, changes: pod('nodeSelector', { disk: 'ssd' }) },
  tolerations: { value: [toleration], changes: pod('tolerations', [toleration]) },
  affinity: { value: affinity, changes: pod('affinity', affinity) },
  'podDisruptionBudget.enabled': { value: false, changes: { [`PodDisruptionBudget ${NAME}`]: 'gone' } },
  'podDisruptionBudget.maxUnavailable': {
    value: '50%',
    changes: { [`PodDisruptionBudget ${NAME}`]: { 'spec/maxUnavailable': '50%' } },
  },
  'networkPolicy.enabled': { value: false, changes: { [`NetworkPolicy ${NAME}`]: 'gone' } },
  'networkPolicy.namespaceSelector': {
    value: { matchLabels: { a: 'b' } },
    changes: { [`NetworkPolicy ${NAME}`]: { 'spec/ingress/0/from/0/namespaceSelector/matchLabels/a': 'b' } },
  },
  'metrics.secure': {
    value: true,
    beside: MONITORED,
    changes: {
      [DEPLOYMENT]: argsAfter(/^--metrics-bind-address/, ['--metrics-secure']),
      [ROLE]: rules(
        may('authentication.k8s.io', 'tokenreviews', ['create']),
        may('authorization.k8s.io', 'subjectaccessreviews', ['create']),
      ),
      'ClusterRole /nodepool-metrics-reader': 'new',
      [MONITOR]: {
        'spec/endpoints': [
          {
            port: 'metrics',
            scheme: 'https',
            bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
            tlsConfig: { insecureSkipVerify: true },
          },
        ],
      },
    },
  },
  'metrics.certSecret': {
    value: 'tls',
    beside: { ...MONITORED, metrics: { secure: true } },
    changes: {
      [DEPLOYMENT]: {
        ...argsAfter(/^--metrics-secure/, ['--metrics-cert-path=/etc/metrics-cert']),
        [`${CONTAINER}/volumeMounts`]: [{ name: 'metrics-cert', mountPath: '/etc/metrics-cert', readOnly: true }],
        [`${POD}/volumes`]: [{ name: 'metrics-cert', secret: { secretName: 'tls' } }],
      },
      [MONITOR]: {
        'spec/endpoints/0/tlsConfig': {
          serverName: 'nodepool-controller-metrics.nodepool-system.svc',
          ca: { secret: { name: 'tls', key: 'ca.crt' } },
        },
      },
    },
  },
  'serviceMonitor.enabled': { value: true, changes: { [`Service ${NAME}-metrics`]: 'new', [MONITOR]: 'new' } },
  'serviceMonitor.interval': {
    value: '15s',
    beside: MONITORED,
    changes: { [MONITOR]: { 'spec/endpoints/0/interval': '15s' } },
  },
  'serviceMonitor.labels': { value: { release: 'p' }, beside: MONITORED, changes: label(MONITOR, 'release', 'p') },
  'prometheusRule.enabled': { value: true, changes: { [`PrometheusRule ${NAME}`]: 'new' } },
  'prometheusRule.labels': {
    value: { release: 'p' },
    beside: { prometheusRule: { enabled: true } },
    changes: label(`PrometheusRule ${NAME}`, 'release', 'p'),
  },
  'dashboard.enabled': { value: true, changes: { [`ConfigMap ${NAME}-dashboard`]: 'new' } },
  'dashboard.labels': {
    value: { folder: 'p' },
    beside: { dashboard: { enabled: true } },
    changes: label(`ConfigMap ${NAME}-dashboard`, 'folder', 'p'),
  },
};
