/** Shares equal traits of pods (labels, requests, rules): of thousands of pods most are equal, and compared as one. */
import type { PodTraits } from '../types.ts';

type PodPart = Exclude<keyof PodTraits, 'namespace' | 'nodeName' | 'isTerminating' | 'replicas'>;
const PARTS: readonly PodPart[] = [
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
  'notJudged',
];

/** For the pods of one snapshot. */
export class PodParts {
  readonly #byText = new Map<string, PartEntry>();
  /** For the first of equal parts. */
  readonly #entries = new WeakMap<object, PartEntry>();

  /** The same number for equal parts, which must not be modified. */
  id(part: object): number {
    return this.#entry(part).id;
  }

  /** The same object for pods that differ only in names and nodes. */
  traits(pod: Omit<PodTraits, 'nodeName'>): PodTraits {
    const made = this.#shared(pod);
    const entry = this.#entry(made.labels);
    const known = entry.labelled?.find(each => areSame(each, made));
    if (known !== undefined) return known;
    // No spare capacity: most labels have one entry.
    entry.labelled = [...(entry.labelled ?? []), made];
    return made;
  }

  /** The first of all parts equal to this one. */
  first<T extends object>(part: T): T {
    return this.#entry(part).part as T;
  }

  #shared({ namespace, isTerminating, ...parts }: Omit<PodTraits, 'nodeName' | 'replicas'>): PodTraits {
    const part = <P extends PodPart>(name: P) => this.first(parts[name]);
    return {
      ...{ namespace, isTerminating, labels: part('labels'), placement: part('placement'), requests: part('requests') },
      ...{ hostPorts: part('hostPorts'), spread: part('spread'), affinity: part('affinity') },
      ...{ antiAffinity: part('antiAffinity'), claims: part('claims'), disks: part('disks'), gates: part('gates') },
      notJudged: part('notJudged'),
    };
  }

  #entry(part: object): PartEntry {
    const known = this.#entries.get(part);
    if (known !== undefined) return known;
    const text = part instanceof Map ? [...part].join() : sortedJson(part);
    let entry = this.#byText.get(text);
    if (entry === undefined) {
      entry = { id: this.#byText.size, part };
      this.#byText.set(text, entry);
      this.#entries.set(part, entry);
    }
    return entry;
  }
}

/** Requires traits whose parts are the first of their equals. */
function areSame(a: PodTraits, b: PodTraits): boolean {
  const { namespace, isTerminating } = a;
  return namespace === b.namespace && isTerminating === b.isTerminating && PARTS.every(name => a[name] === b[name]);
}

interface PartEntry {
  id: number;
  /** The first of the equal parts. */
  part: object;
  /** Only for labels, which differ most: the traits with these labels. */
  labelled?: PodTraits[];
}

/** JSON with sorted fields, because protobuf maps have no order. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
