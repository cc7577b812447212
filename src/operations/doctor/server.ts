/** Kubeconfig, the way to the server, its version and its clock. */
import type { AccessFacts, Probe } from '../doctor-port.ts';
import { error, type Finding, ok, warning } from './check.ts';

/** The minor version of Kubernetes 1 that the CRD's rules need (optionalOldSelf in CEL). */
export const OLDEST_MINOR = 30;
/** The newest one that this program is tested with: test/cluster/programs.ts. */
export const TRIED_MINOR = 36;

const CLOCK_WARNING_SECONDS = 5;
/** Tokens and certificates begin to be refused. */
const CLOCK_ERROR_SECONDS = 300;

export function checkKubeconfig({ context, cluster, user, source, verifiesServer }: AccessFacts): Finding {
  const parts = [
    ...(context === undefined ? [] : [`context ${context}`]),
    `cluster ${cluster}`,
    user === '' ? 'no user' : `user ${user}`,
  ];
  const message = `${source}: ${parts.join(', ')}`;
  if (verifiesServer) return ok(message);
  return warning(
    `${message}; the server's identity is not verified`,
    `set an https server and a certificate-authority for cluster ${cluster}, and remove insecure-skip-tls-verify`,
  );
}

/** The server takes requests without credentials, or with an unknown certificate, for those of system:anonymous. */
export function notLoggedIn({ server, user }: AccessFacts): Finding {
  const who = user === '' ? 'the context names no user' : `the server ignores the credentials of user "${user}"`;
  return error(
    `not logged in to ${server}: ${who}, and requests are those of system:anonymous`,
    'log in, or choose another user with --user or --context',
  );
}

export function checkServer({ server }: AccessFacts, { latencyMs }: Probe): Finding {
  return ok(`${server} answers in ${Math.max(1, Math.round(latencyMs))} ms`);
}

export function checkVersion({ version }: Probe): Finding {
  if (version === undefined) {
    return warning('this user may not read the version', 'ask for the role system:public-info-viewer');
  }
  const [, major, minor = ''] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (major !== '1') {
    return warning(
      `the version "${version}" is unknown`,
      `check that the server is Kubernetes 1.${OLDEST_MINOR} or newer`,
    );
  }
  if (Number(minor) < OLDEST_MINOR) {
    return error(`Kubernetes ${version} is too old`, `upgrade the cluster to 1.${OLDEST_MINOR} or newer`);
  }
  // One minor version of skew is what Kubernetes' own clients promise.
  if (Number(minor) > TRIED_MINOR + 1) {
    return warning(
      `Kubernetes ${version} is more than one minor version newer than 1.${TRIED_MINOR}, the newest that this program is tested with`,
      'install a newer kubectl-nodepool',
    );
  }
  return ok(`Kubernetes ${version}`);
}

/** Milliseconds that the server's clock is ahead of ours. Its Date header leaves out the part of a second. */
export function clockSkewMs({ clocks }: Probe): number | undefined {
  return clocks && clocks.server.getTime() + 500 - clocks.ours.getTime();
}

export function checkClock(probe: Probe): Finding {
  const skew = clockSkewMs(probe);
  if (skew === undefined) return ok('the server sends no time');
  const seconds = Math.round(Math.abs(skew) / 1000);
  if (seconds < CLOCK_WARNING_SECONDS) return ok("this machine's clock agrees with the server's");
  const message = `this machine's clock is ${seconds} s ${skew > 0 ? 'behind' : 'ahead of'} the server's`;
  const remedy = 'synchronize the clock that is wrong (NTP)';
  return seconds < CLOCK_ERROR_SECONDS ? warning(message, remedy) : error(message, remedy);
}
