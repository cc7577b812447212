/** The workloads of the demo and the pictures, as readable YAML. */

export interface Workload {
  kind?: 'Deployment' | 'DaemonSet';
  name: string;
  replicas?: number;
  /** Lines of the pod spec next to the container. */
  spec?: string[];
  /** Of the container, in flow style. */
  resources?: string;
}

export const imageOf = (name: string) => `registry.example.com/${name}:1`;

export function workload({ kind = 'Deployment', name, replicas, spec = [], resources }: Workload): string {
  const more = resources === undefined ? '' : `, resources: ${resources}`;
  const lines = [...spec, `containers: [{name: ${name}, image: "${imageOf(name)}"${more}}]`];
  return `apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${name}}
spec:
${replicas === undefined ? '' : `  replicas: ${replicas}\n`}  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
${lines.map(line => `      ${line}\n`).join('')}`;
}
