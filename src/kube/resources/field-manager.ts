/** The managers of an object's fields, by its managedFields. */
import { isObject, own } from '../../nodepool/json.ts';

/** The field manager of this program. */
export const FIELD_MANAGER = 'kubectl-nodepool';

/** The other manager that set the field last; undefined if no other manager owns it. */
export function managerOf(managedFields: unknown, path: readonly string[]): string | undefined {
  const entries = Array.isArray(managedFields) ? managedFields.filter(isObject) : [];
  const owners = entries.filter(({ manager, fieldsV1 }) => {
    const field = path.reduce<unknown>((at, name) => (isObject(at) ? own(at, `f:${name}`) : undefined), fieldsV1);
    return typeof manager === 'string' && manager !== FIELD_MANAGER && field !== undefined;
  });
  const times = owners.map(({ time }) => Date.parse(String(time)) || 0);
  const last = owners[times.indexOf(Math.max(...times))];
  return typeof last?.manager === 'string' ? last.manager : undefined;
}
