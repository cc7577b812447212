/**
 * Parsing of kubeconfig and kuberc: YAML, and typed fields of a kubeconfig's sections. A value of a wrong type is an
 * error.
 */
import path from 'node:path';
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { checkExpanded, checkLength } from '../../nodepool/spec/text-limits.ts';

/** As kubectl's parser, with the merge key `<<`. */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

export type Section = Record<string, unknown>;

/** Typed fields of a section. As for kubectl, null, an empty string and an empty list are absent. */
export class Fields {
  readonly body: Section;
  readonly #where: string;
  readonly #file: string;

  constructor(body: Section, where: string, file: string) {
    this.body = body;
    this.#where = where;
    this.#file = file;
  }

  text(name: string): string | undefined {
    return this.#checked(name, 'a string', value => typeof value === 'string') as string | undefined;
  }

  /** Resolved against the file's folder. */
  path(name: string, folder: string): string | undefined {
    const value = this.text(name);
    return value === undefined || path.isAbsolute(value) ? value : path.join(folder, value);
  }

  flag(name: string): boolean {
    return this.#checked(name, 'true or false', value => typeof value === 'boolean') === true;
  }

  texts(name: string): string[] | undefined {
    const texts = this.#checked(name, 'a list of strings', isTexts) as string[] | undefined;
    return texts?.length ? texts : undefined;
  }

  lists(name: string): Record<string, string[]> | undefined {
    const isLists = (value: unknown) => isObject(value) && Object.values(value).every(isTexts);
    return this.#checked(name, 'a mapping of lists of strings', isLists) as Record<string, string[]> | undefined;
  }

  section(name: string): Section | undefined {
    return this.#checked(name, 'a mapping', isObject) as Section | undefined;
  }

  #checked(name: string, what: string, isRight: (value: unknown) => boolean): unknown {
    const value = this.body[name] ?? undefined;
    if (value === undefined || value === '') return undefined;
    if (!isRight(value)) throw malformed(this.#file, `${this.#where}${name} is not ${what}`);
    return value;
  }
}

/** Throws YAMLException, and Error beyond the limits of size, depth and aliases. */
export function documentsIn(text: string): unknown[] {
  checkLength(text);
  const documents = loadAll(text.replace(/^\uFEFF/, ''), { schema: SCHEMA });
  // Only aliases can expand.
  if (text.includes('*')) checkExpanded(documents);
  return documents;
}

export function malformed(file: string, problem: string, cause?: unknown): NodepoolError {
  return new NodepoolError(
    'input',
    `the kubeconfig ${file} is malformed: ${problem}`,
    'correct the file or choose another with --kubeconfig',
    { cause },
  );
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string');
}
