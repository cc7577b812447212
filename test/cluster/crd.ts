/** Installs the CRD as `kubectl nodepool install` does. */
import { fileURLToPath } from 'node:url';
import { readCrd } from '../../src/cli/manifests.ts';
import { connect } from '../../src/kube/connect.ts';

/** Resolves when the API server serves pools. @param kubeconfig path of the administrator's */
export async function installCrd(kubeconfig: string): Promise<void> {
  const { object } = await readCrd(fileURLToPath(new URL('../../', import.meta.url)));
  const { crd, close } = await connect({ kubeconfig, env: {}, log: () => {}, version: '0.0.0-test' });
  await crd.apply(object);
  await crd.waitUntilEstablished(30_000);
  close();
}
