/** A Status that a kube-apiserver 1.36 sends with a refusal. */
export function failed(code: number, reason: string, message: string, details: object = {}): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    metadata: {},
    code,
    reason,
    message,
    details,
  });
}
