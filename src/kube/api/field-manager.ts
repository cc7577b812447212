/** The other manager that set a field of an object last. */
import { FIELD_MANAGER, setterOf } from '../../nodepool/managed-fields.ts';

export { FIELD_MANAGER, setterOf };

/** Undefined if no other manager owns the field. */
export function managerOf(managedFields: unknown, path: readonly string[]): string | undefined {
  return setterOf(managedFields, path)?.manager;
}
