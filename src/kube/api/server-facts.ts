/** The server's version and clock, by one request. */
import { isObject } from '../../nodepool/json.ts';
import type { Transport } from '../transport/transport.ts';

/** Without the version where this user may not read it. */
export async function serverFacts(transport: Transport): Promise<ServerFacts> {
  const { status, text, headers } = await transport.request({ path: '/version' });
  const time = new Date(headers.date ?? '');
  return {
    ...(status === 200 ? versionIn(text) : {}),
    ...(Number.isNaN(time.getTime()) ? {} : { time }),
  };
}

function versionIn(text: string): Pick<ServerFacts, 'version'> {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) && typeof body.gitVersion === 'string' ? { version: body.gitVersion } : {};
  } catch {
    return {};
  }
}

/** What the server says of itself, as far as it does. */
export interface ServerFacts {
  /** As `v1.36.3`. */
  version?: string;
  /** Its clock, to the second. */
  time?: Date;
}
