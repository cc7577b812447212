/** Parts of pods, as their labels, requests and rules: of thousands of pods most are equal, and are kept and compared as one. */
import type { Pod } from './types.ts';

type Part = Exclude<keyof Pod, 'namespace' | 'name' | 'nodeName' | 'isTerminating'>;
const PARTS: readonly Part[] = [
  'labels',
  'placement',
  'requests',
  'hostPorts',
  'spread',
  'affinity',
  'antiAffinity',
  'claims',
  'disks',
  'gates',
];

/** Of the pods of one snapshot. */
export class PodParts {
  readonly #byText = new Map<string, { id: number; part: object }>();
  readonly #ids = new WeakMap<object, number>();

  /** The same number for equal parts. Nothing may change them. */
  id(part: object): number {
    return this.#ids.get(part) ?? this.#entry(part).id;
  }

  /** The pod with parts of earlier ones where they are equal. */
  shared(pod: Pod): Pod {
    const shared = { ...pod };
    for (const name of PARTS) this.#share(shared, name);
    return shared;
  }

  /** The same text for pods that are alike: they differ in nothing but their names and nodes, so the scheduler has the same answer. */
  kindOf(pod: Pod): string {
    return `${pod.namespace} ${pod.isTerminating} ${PARTS.map(name => this.id(pod[name])).join(' ')}`;
  }

  #share<P extends Part>(pod: Pod, name: P): void {
    pod[name] = this.#entry(pod[name]).part as Pod[P];
  }

  #entry(part: object): { id: number; part: object } {
    const text = part instanceof Map ? [...part].join() : sortedJson(part);
    let entry = this.#byText.get(text);
    if (entry === undefined) {
      entry = { id: this.#byText.size, part };
      this.#byText.set(text, entry);
    }
    this.#ids.set(part, entry.id);
    return entry;
  }
}

/** JSON with the fields of objects in order: maps are in any order in protobuf. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
