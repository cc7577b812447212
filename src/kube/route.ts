/** Bun reports ECONNREFUSED even if there is no route (oven-sh/bun#37093, #39579), so the route is looked up. */

interface ConnectError extends NodeJS.ErrnoException {
  address?: string;
  port?: number;
}

interface BunGlobal {
  udpSocket(options: { connect: { hostname: string; port: number } }): Promise<{ close(): void }>;
}

/** Codes of connect() for routes of the kinds `prohibit` and `blackhole`; other calls use them for other errors. */
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

/** The message if isNoRoute() is true. */
export const NO_ROUTE_TEXT = 'no route to the host, or no answer';
export const NO_ROUTE_NEXT = 'check your network or VPN';

/** Whether no packet can leave this machine for the address, or none came back. */
export function isNoRoute(error: unknown): boolean {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return NO_ROUTE.has(code) || (syscall === 'connect' && REFUSED_ROUTE.has(code));
}

/** Replaces the error code of a connection by that of the operating system. */
export async function withRoute(error: unknown): Promise<unknown> {
  const { code, address: hostname, port } = (error ?? {}) as ConnectError;
  const { Bun } = globalThis as { Bun?: BunGlobal };
  if (Bun === undefined || code !== 'ECONNREFUSED' || !hostname || port === undefined) return error;
  try {
    // Connecting a UDP socket looks up the route without sending a packet.
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
