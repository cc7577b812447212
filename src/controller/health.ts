/** The answers of /healthz and /readyz, as Kubernetes' own components give them. The HTTP server is somebody else's. */

export interface HealthAnswer {
  status: 200 | 500;
  /** Plain text. */
  body: string;
}

/** All checks must be true; the answer names each that is not. */
export function healthAnswer(checks: Record<string, () => boolean>): HealthAnswer {
  const results = Object.entries(checks).map(([name, check]) => ({ name, good: check() }));
  if (results.every(({ good }) => good)) return { status: 200, body: 'ok' };
  const lines = results.map(({ name, good }) => (good ? `[+]${name} ok\n` : `[-]${name} failed\n`));
  return { status: 500, body: lines.join('') };
}
