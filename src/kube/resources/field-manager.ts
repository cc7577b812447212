/** The managers of an object's fields, by its managedFields. */
import { isObject, own } from '../../nodepool/json.ts';
import type { FieldSetter } from '../../nodepool/plan.ts';

/** The field manager of this program. */
export const FIELD_MANAGER = 'kubectl-nodepool';

/** The other manager that set the field last; undefined if no other manager owns it. */
export function managerOf(managedFields: unknown, path: readonly string[]): string | undefined {
  return setterOf(managedFields, path)?.manager;
}

/** As managerOf(). The time is that of the manager's last write to any of its fields: the server keeps no other. */
export function setterOf(managedFields: unknown, path: readonly string[]): FieldSetter | undefined {
  const entries = Array.isArray(managedFields) ? managedFields.filter(isObject) : [];
  const owners = entries.flatMap(({ manager, operation, time, fieldsV1 }): FieldSetter[] => {
    const field = path.reduce<unknown>((at, name) => (isObject(at) ? own(at, `f:${name}`) : undefined), fieldsV1);
    if (typeof manager !== 'string' || manager === FIELD_MANAGER || field === undefined) return [];
    return [{ manager, operation: String(operation), ...(typeof time === 'string' ? { time } : {}) }];
  });
  const times = owners.map(({ time = '' }) => Date.parse(time) || 0);
  return owners[times.indexOf(Math.max(...times))];
}
