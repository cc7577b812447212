/** Whether a controller is a custom resource: nobody but its operator knows the pods that it would create. */
export function isCustomController({ apiVersion = '' }: { apiVersion?: string }): boolean {
  // The groups of the controllers of Kubernetes have no dot, those of CustomResourceDefinitions need one.
  return apiVersion.includes('.');
}
