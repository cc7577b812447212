/** Checks field types that scheduling reads, for pods that no server has validated. */

import { isObject } from '../../nodepool/json.ts';

/** `map`: with string values. A list has items of one shape. Unnamed fields are not read. */
type Shape = 'text' | 'number' | 'boolean' | 'map' | { list: Shape } | { fields: Readonly<Record<string, Shape>> };

const TEXTS: Shape = { list: 'text' };
const REQUIREMENTS: Shape = { list: { fields: { key: 'text', operator: 'text', values: TEXTS } } };
const SELECTOR: Shape = { fields: { matchLabels: 'map', matchExpressions: REQUIREMENTS } };
const RESOURCES: Shape = { fields: { requests: 'map', limits: 'map' } };
const PORTS: Shape = {
  list: { fields: { containerPort: 'number', hostPort: 'number', hostIP: 'text', protocol: 'text' } },
};
const CONTAINERS: Shape = {
  list: {
    fields: {
      name: 'text',
      restartPolicy: 'text',
      restartPolicyRules: { list: { fields: { action: 'text' } } },
      resources: RESOURCES,
      ports: PORTS,
    },
  },
};
const POD_TERMS: Shape = {
  fields: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      list: {
        fields: {
          labelSelector: SELECTOR,
          namespaces: TEXTS,
          namespaceSelector: SELECTOR,
          topologyKey: 'text',
          matchLabelKeys: TEXTS,
          mismatchLabelKeys: TEXTS,
        },
      },
    },
    preferredDuringSchedulingIgnoredDuringExecution: {
      list: { fields: { podAffinityTerm: { fields: { namespaces: TEXTS, namespaceSelector: SELECTOR } } } },
    },
  },
};
const NODE_TERMS: Shape = {
  fields: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      fields: {
        nodeSelectorTerms: { list: { fields: { matchExpressions: REQUIREMENTS, matchFields: REQUIREMENTS } } },
      },
    },
  },
};
const CLAIM_SPEC: Shape = {
  fields: {
    accessModes: TEXTS,
    selector: SELECTOR,
    resources: RESOURCES,
    volumeName: 'text',
    storageClassName: 'text',
    volumeMode: 'text',
    volumeAttributesClassName: 'text',
  },
};
const SPREAD: Shape = {
  list: {
    fields: {
      maxSkew: 'number',
      topologyKey: 'text',
      whenUnsatisfiable: 'text',
      labelSelector: SELECTOR,
      minDomains: 'number',
      nodeAffinityPolicy: 'text',
      nodeTaintsPolicy: 'text',
      matchLabelKeys: TEXTS,
    },
  },
};
const VOLUMES: Shape = {
  list: {
    fields: {
      name: 'text',
      persistentVolumeClaim: { fields: { claimName: 'text' } },
      ephemeral: { fields: { volumeClaimTemplate: { fields: { spec: CLAIM_SPEC } } } },
      csi: { fields: {} },
      gcePersistentDisk: { fields: { pdName: 'text', readOnly: 'boolean' } },
      awsElasticBlockStore: { fields: { volumeID: 'text' } },
      iscsi: { fields: { iqn: 'text', readOnly: 'boolean' } },
      rbd: { fields: { monitors: TEXTS, pool: 'text', image: 'text', readOnly: 'boolean' } },
    },
  },
};
const SPEC: Shape = {
  fields: {
    containers: CONTAINERS,
    initContainers: CONTAINERS,
    overhead: 'map',
    resources: RESOURCES,
    resourceClaims: { list: { fields: { name: 'text' } } },
    nodeName: 'text',
    nodeSelector: 'map',
    hostNetwork: 'boolean',
    hostUsers: 'boolean',
    runtimeClassName: 'text',
    schedulerName: 'text',
    priorityClassName: 'text',
    priority: 'number',
    activeDeadlineSeconds: 'number',
    schedulingGates: { list: { fields: { name: 'text' } } },
    affinity: { fields: { nodeAffinity: NODE_TERMS, podAffinity: POD_TERMS, podAntiAffinity: POD_TERMS } },
    tolerations: {
      list: { fields: { key: 'text', operator: 'text', value: 'text', effect: 'text', tolerationSeconds: 'number' } },
    },
    topologySpreadConstraints: SPREAD,
    volumes: VOLUMES,
  },
};

/** A pod, or a pod template. */
export const POD: Shape = { fields: { metadata: { fields: { labels: 'map' } }, spec: SPEC } };
export const LABEL_SELECTOR = SELECTOR;
/** spec.volumeClaimTemplates of a StatefulSet. */
export const CLAIM_TEMPLATES: Shape = {
  list: { fields: { metadata: { fields: { name: 'text' } }, spec: CLAIM_SPEC } },
};

export interface ShapeError {
  /** `spec.containers[0].ports`. */
  field: string;
  /** The expected type: `a list`. */
  expected: string;
}

/** The value without nulls, which the API treats as absent; numbers in maps become strings: quantities may be both. */
export function checkedShape(value: unknown, shape: Shape, field: string): { value: unknown } | ShapeError {
  if (shape === 'map') return shapedMap(value, field);
  if (typeof shape === 'string') {
    const type = shape === 'text' ? 'string' : shape;
    return typeof value === type ? { value } : { field, expected: EXPECTED[shape] };
  }
  if ('list' in shape) {
    if (!Array.isArray(value)) return { field, expected: 'a list' };
    const items: unknown[] = [];
    for (const [at, item] of value.entries()) {
      const found = checkedShape(item, shape.list, `${field}[${at}]`);
      if ('field' in found) return found;
      items.push(found.value);
    }
    return { value: items };
  }
  if (!isObject(value)) return { field, expected: 'an object' };
  const object: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    if (each === null || each === undefined) continue;
    const part = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
    const found =
      part === undefined ? { value: each } : checkedShape(each, part, field === '' ? name : `${field}.${name}`);
    if ('field' in found) return found;
    object[name] = found.value;
  }
  return { value: object };
}

const EXPECTED = { text: 'a text', number: 'a number', boolean: 'true or false' };

function shapedMap(value: unknown, field: string): { value: unknown } | ShapeError {
  if (!isObject(value)) return { field, expected: 'an object' };
  const entries: [string, string][] = [];
  for (const [key, each] of Object.entries(value)) {
    if (typeof each !== 'string' && typeof each !== 'number') return { field: `${field}.${key}`, expected: 'a text' };
    entries.push([key, String(each)]);
  }
  return { value: Object.fromEntries(entries) };
}
