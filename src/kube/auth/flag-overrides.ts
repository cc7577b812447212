/** The flags that override fields of the chosen cluster and user, by client-go's rules (clientcmd's ConfigOverrides). */
import path from 'node:path';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined } from '../../nodepool/json.ts';
import type { ClusterEntry, UserEntry } from './kubeconfig-file.ts';

export interface FlagOverrides {
  server?: string;
  tlsServerName?: string;
  /** Files; relative to the working directory. */
  certificateAuthority?: string;
  clientCertificate?: string;
  clientKey?: string;
  insecureSkipTlsVerify?: boolean;
  disableCompression?: boolean;
  token?: string;
}

/** The flags that take a value; kubectl ignores an empty one, which is an unset variable of a script here. */
const VALUES: Record<string, keyof FlagOverrides> = {
  '--server': 'server',
  '--tls-server-name': 'tlsServerName',
  '--certificate-authority': 'certificateAuthority',
  '--client-certificate': 'clientCertificate',
  '--client-key': 'clientKey',
  '--token': 'token',
};

/** Throws NodepoolError (usage) for an empty value, and for two flags that exclude each other. */
export function checkOverrides(overrides: FlagOverrides): void {
  for (const [flag, name] of Object.entries(VALUES)) {
    if (overrides[name] === '')
      throw new NodepoolError('usage', `${flag}: the value is empty`, 'look for a variable that is not set');
  }
  if (overrides.insecureSkipTlsVerify === true && overrides.certificateAuthority !== undefined) {
    throw new NodepoolError(
      'usage',
      '--certificate-authority and --insecure-skip-tls-verify exclude each other',
      'keep one of the two',
    );
  }
}

/** As in client-go, --server drops the file's tls-server-name, and a flag about trust drops all that the file trusts. */
export function overrideCluster(cluster: ClusterEntry, overrides: FlagOverrides): ClusterEntry {
  const { server, tlsServerName, certificateAuthority, insecureSkipTlsVerify, disableCompression } = overrides;
  const { caFile, caData, tlsServerName: named, ...rest } = cluster;
  const isTrustGiven = certificateAuthority !== undefined || insecureSkipTlsVerify === true;
  const trust = isTrustGiven
    ? { caFile: absolute(certificateAuthority), caData: undefined, skipTlsVerify: insecureSkipTlsVerify === true }
    : { caFile, caData };
  return defined({
    ...rest,
    ...trust,
    server: server ?? cluster.server,
    tlsServerName: tlsServerName ?? (server === undefined ? named : undefined),
    disableCompression: disableCompression === true ? (true as const) : cluster.disableCompression,
  }) as ClusterEntry;
}

/** As in client-go, a token takes precedence over a plugin; a certificate stays, and the server looks at it first. */
export function overrideUser(user: UserEntry, { token, clientCertificate, clientKey }: FlagOverrides): UserEntry {
  const { certFile, certData, keyFile, keyData, ...others } = user;
  const { tokenFile, exec, authProvider, username, password, ...rest } = others;
  return defined({
    ...(token === undefined ? others : { ...rest, token }),
    ...(clientCertificate === undefined ? { certFile, certData } : { certFile: absolute(clientCertificate) }),
    ...(clientKey === undefined ? { keyFile, keyData } : { keyFile: absolute(clientKey) }),
  }) as UserEntry;
}

function absolute(file: string | undefined): string | undefined {
  return file === undefined ? undefined : path.resolve(file);
}
