/** A question about a permission: put together, and as text. */
import type { AccessQuestion } from '../doctor-port.ts';

/** An AccessQuestion whose narrower parts may be undefined. */
interface Parts extends Pick<AccessQuestion, 'verb' | 'group' | 'resource'> {
  subresource?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}

/** Without what is undefined. */
export function accessQuestion({ subresource, namespace, name, ...question }: Parts): AccessQuestion {
  return {
    ...question,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
}

/** `patch nodepools.nodes.lailin.xyz/status`, `get leases.coordination.k8s.io "x" in kube-system` */
export function questionText(question: AccessQuestion): string {
  return `${question.verb} ${objectText(question)}`;
}

/** The same of several, each object once: `get,patch nodes`. */
export function questionTexts(questions: readonly AccessQuestion[]): string[] {
  const byObject = Map.groupBy(questions, objectText);
  return [...byObject].map(([object, asked]) => {
    const verbs = new Set(asked.map(({ verb }) => verb));
    return `${[...verbs].join(',')} ${object}`;
  });
}

function objectText({ group, resource, subresource, namespace, name }: AccessQuestion): string {
  return [
    `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`,
    ...(name === undefined ? [] : [`"${name}"`]),
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
  ].join(' ');
}
