/** The workloads of the demo and of the pictures, as YAML that people read. */

export interface Workload {
  kind?: 'Deployment' | 'DaemonSet';
  name: string;
  replicas?: number;
  /** Lines of the pods' spec beside the container. */
  spec?: string[];
  /** Of the container, in YAML's flow style. */
  resources?: string;
}

export function workload({ kind = 'Deployment', name, replicas, spec = [], resources }: Workload): string {
  const more = resources === undefined ? '' : `, resources: ${resources}`;
  const lines = [...spec, `containers: [{name: ${name}, image: "registry.example.com/${name}:1"${more}}]`];
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
