/** A question about a permission, as text. */
import type { AccessQuestion } from '../../../kube/ports/doctor.ts';

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

/** `nodepools.nodes.lailin.xyz/status` */
export function objectText({ group, resource, subresource, namespace, name }: AccessQuestion): string {
  return [
    `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`,
    ...(name === undefined ? [] : [`"${name}"`]),
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
  ].join(' ');
}
