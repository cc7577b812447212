/** The responses of /healthz and /readyz, in the format of Kubernetes components, without an HTTP server. */

interface HealthAnswer {
  status: 200 | 500;
  /** Plain text. */
  body: string;
}

/** 200 when all checks are true; otherwise the body lists every check. */
export function healthAnswer(checks: Record<string, () => boolean>): HealthAnswer {
  const results = Object.entries(checks).map(([name, check]) => ({ name, good: check() }));
  if (results.every(({ good }) => good)) return { status: 200, body: 'ok' };
  const lines = results.map(({ name, good }) => (good ? `[+]${name} ok\n` : `[-]${name} failed\n`));
  return { status: 500, body: lines.join('') };
}
