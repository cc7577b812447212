/** Users of kubeconfigs, and a command that needs a login, for the tests of logins. */
import assert from 'node:assert/strict';
import { clientCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cli, useCluster } from '../cluster/harness.ts';
import type { RunResult } from '../cluster/run.ts';
import { EXEC_V1 } from './login-files.ts';

/** Needs a login; every login of these tests permits it. */
export const ASK = ['get'];
export const KUBECTL_ASK = ['get', '--raw', '/api'];

interface Logins {
  cluster(): ControlPlane;
  /** The status of an ExecCredential with an administrator's certificate. */
  admin(): { clientCertificateData: string; clientKeyData: string };
  /** A user with an exec plugin. */
  user(command: string, more?: object): object;
  ask(kubeconfig: string, env?: Record<string, string>): Promise<RunResult>;
}

export function useLogins(): Logins {
  const cluster = useCluster({ audit: true, crd: true });
  return {
    cluster,
    admin() {
      const { cert, key } = clientCertificate(cluster().authority, 'plugin-user', ['system:masters'], {});
      return { clientCertificateData: cert, clientKeyData: key };
    },
    user: (command, more = {}) => ({ exec: { apiVersion: EXEC_V1, command, interactiveMode: 'Never', ...more } }),
    ask: (kubeconfig, env = {}) => cli(cluster(), ASK, { env: { KUBECONFIG: kubeconfig, ...env } }),
  };
}

export function good({ code, stderr }: RunResult): void {
  assert.equal(code, 0, stderr);
}
