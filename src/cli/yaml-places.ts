/** Positions of the fields of a document in its YAML text; read only when a field is wrong. */
import { EVENT_ID, type Event, getScalarValue } from 'js-yaml';

/** Characters of a label key with its prefix and brackets; the position of a longer key is that of its map. */
const MAX_STEP_LENGTH = 512;

export interface YamlNode {
  /** Of its key; without a key, of the value. */
  offset: number;
  /** By the next step of a path: `.key` and `[key]`, `[0]`. */
  members: Map<string, YamlNode>;
}

/** @param at the index of the value's first event */
export function readValue(events: readonly Event[], at: number, source: string): YamlNode {
  let index = at;
  return readNode(() => events[index++], source, 0) ?? { offset: 0, members: new Map() };
}

/**
 * The offset of a field, or of its nearest parent that exists; of a field in an alias, the offset of the alias.
 * @param path as errors have it: `spec.taints[0].key`, `spec.labels[a.b/c]`
 */
export function offsetOf(path: string, root: YamlNode): number {
  let node = root;
  for (let rest = `.${path}`; ; ) {
    const step = longestStep(rest, node) ?? '';
    const member = node.members.get(step);
    if (member === undefined) return node.offset;
    node = member;
    rest = rest.slice(step.length);
  }
}

/** Keys may contain dots. */
function longestStep(rest: string, { members }: YamlNode): string | undefined {
  for (let end = Math.min(rest.length, MAX_STEP_LENGTH); end > 0; end--) {
    const next = rest[end];
    if (next !== undefined && next !== '.' && next !== '[') continue;
    const step = rest.slice(0, end);
    if (members.has(step)) return step;
  }
  return undefined;
}

/** Undefined where no value begins. @param parent the parent's offset, for an empty value, which has none */
export function startOf(event: Event | undefined, parent = 0): number | undefined {
  if (event === undefined || event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT) return undefined;
  const found = 'start' in event ? event.start : 'valueStart' in event ? event.valueStart : event.anchorStart;
  return found < 0 ? parent : found;
}

/** @returns undefined at the end of the parent */
function readNode(next: () => Event | undefined, source: string, parent: number, event = next()): YamlNode | undefined {
  const offset = startOf(event, parent);
  if (event === undefined || offset === undefined) return undefined;
  const members = new Map<string, YamlNode>();
  if (event.type === EVENT_ID.MAPPING) {
    for (let key = next(); ; key = next()) {
      const at = readNode(next, source, offset, key)?.offset;
      if (at === undefined) break;
      const value = readNode(next, source, at);
      if (key?.type !== EVENT_ID.SCALAR || value === undefined) continue;
      const name = getScalarValue(source, key);
      for (const step of [`.${name}`, `[${name}]`]) members.set(step, { ...value, offset: at });
    }
  } else if (event.type === EVENT_ID.SEQUENCE) {
    for (let item = readNode(next, source, offset); item !== undefined; item = readNode(next, source, offset)) {
      members.set(`[${members.size}]`, item);
    }
  }
  return { offset, members };
}
