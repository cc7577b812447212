/** `npm run demo -- --full --keep` with a real node, which ends with the demo: what to try meanwhile. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../test/cluster/control-plane.ts';
import type { RealNode } from '../test/cluster/node/start.ts';
import { ROOT } from './root.ts';

/** Resolves at Ctrl-C, or when this process is to end. */
export function interrupted(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
}

/** @param exports the line that gives a shell the cluster and the programs */
export async function textOfKept({ dir }: ControlPlane, node: RealNode, exports: string): Promise<string> {
  const proxy = await node.podProxy();
  const [config, pods] = [join(dir, 'prometheus.yaml'), join(dir, 'pods.yaml')];
  // JSON is YAML.
  await writeFile(config, JSON.stringify(prometheusConfig(proxy, pods)));
  const get = 'kubectl -n nodepool-system get pods -o jsonpath=';
  return `
# The cluster stays up until Ctrl-C, with its real node ${node.name}. In another terminal, in this folder:

${exports}

# Install the controller by its chart, on the real node: pods of simulated nodes only seem to run. The CRD is there already.

helm install nodepool ./charts/kubectl-nodepool --namespace nodepool-system --create-namespace --take-ownership \\
  --set 'nodeSelector.kubernetes\\.io/hostname=${node.name}' --wait

# Pods of the real node are reached by a proxy. The one that leads has the metrics of pools:

for pod in $(${get}'{.items[*].status.podIP}'); do curl -s --proxy ${proxy} http://$pod:8080/metrics; done | grep ^nodepool_

# A Prometheus of yours finds the pods in a file, and has the alerts of the chart at http://127.0.0.1:9090/alerts. Break something,
# such as \`kubectl delete clusterrolebinding nodepool-controller\`: an alert is pending within a minute or two, and fires 10 minutes later.

${get}'- targets:{range .items[*]}{"\\n"}  - {.status.podIP}:8080{end}{"\\n"}' > ${pods}
prometheus --config.file=${config} --storage.tsdb.path=${join(dir, 'prometheus')} --web.listen-address=127.0.0.1:9090
`;
}

function prometheusConfig(proxy_url: string, pods: string): object {
  return {
    global: { scrape_interval: '15s', evaluation_interval: '15s' },
    rule_files: [join(ROOT, 'charts/kubectl-nodepool/files/alerts.yaml')],
    scrape_configs: [
      { job_name: 'nodepool', proxy_url, file_sd_configs: [{ files: [pods], refresh_interval: '15s' }] },
    ],
  };
}
