/** Bun says ECONNREFUSED also where there is no route (oven-sh/bun#37093, #39579): the route is looked up. */

interface ConnectError extends NodeJS.ErrnoException {
  address?: string;
  port?: number;
}

interface BunGlobal {
  udpSocket(options: { connect: { hostname: string; port: number } }): Promise<{ close(): void }>;
}

/** Routes of the kinds `prohibit` and `blackhole`; of other calls than connect() they mean something else. */
const REFUSED_ROUTE = new Set(['EACCES', 'EINVAL']);
const NO_ROUTE = new Set([
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'ETIMEDOUT',
]);

/** What is said where isNoRoute(). */
export const NO_ROUTE_TEXT = 'no route to the host, or no answer';
export const NO_ROUTE_NEXT = 'check your network or VPN';

/** Whether no packet can leave this machine for the address, or none came back. */
export function isNoRoute(error: unknown): boolean {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return NO_ROUTE.has(code) || (syscall === 'connect' && REFUSED_ROUTE.has(code));
}

/** The error of a connection with the code that the system has for it. */
export async function withRoute(error: unknown): Promise<unknown> {
  const { code, address: hostname, port } = (error ?? {}) as ConnectError;
  const { Bun } = globalThis as { Bun?: BunGlobal };
  if (Bun === undefined || code !== 'ECONNREFUSED' || !hostname || port === undefined) return error;
  try {
    // Connecting a UDP socket looks up the route, and sends nothing.
    (await Bun.udpSocket({ connect: { hostname, port } })).close();
    return error;
  } catch (cause) {
    const { code: found } = cause as NodeJS.ErrnoException;
    if (!isNoRoute(cause)) return error;
    return Object.assign(new Error(`connect ${found} ${hostname}:${port}`, { cause: error }), {
      code: found,
      syscall: 'connect',
    });
  }
}
