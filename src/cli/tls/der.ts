/** The few pieces of DER (ITU-T X.690) that an X.509 certificate needs. Every function returns a whole encoded element. */

export function element(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), length(body.length), body]);
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...content: Uint8Array[]) => element(0x30, ...content);
export const set = (...content: Uint8Array[]) => element(0x31, ...content);
export const octets = (content: Uint8Array) => element(0x04, content);
export const utf8 = (text: string) => element(0x0c, Buffer.from(text));
export const bool = (value: boolean) => element(0x01, Buffer.from([value ? 0xff : 0]));
/** A bit string; `unused` bits at its end do not count. */
export const bits = (content: Uint8Array, unused = 0) => element(0x03, Buffer.from([unused]), content);
/** The context-specific constructed tag [number]. */
export const explicit = (number: number, content: Uint8Array) => element(0xa0 | number, content);
/** The context-specific primitive tag [number]. */
export const implicit = (number: number, content: Uint8Array) => element(0x80 | number, content);

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex(byte => byte !== 0);
  const minimal = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  const sign = (minimal[0] ?? 0) & 0x80 ? [0] : [];
  return element(0x02, Buffer.from(sign), minimal);
}

/** An object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc % 128];
    for (let high = Math.floor(arc / 128); high > 0; high = Math.floor(high / 128)) groups.unshift((high % 128) | 0x80);
    bytes.push(...groups);
  }
  return element(0x06, Buffer.from(bytes));
}

/** UTCTime up to 2049, GeneralizedTime from 2050, as RFC 5280 section 4.1.2.5 asks. Fractions of a second are cut. */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, '')}Z`;
  return date.getUTCFullYear() < 2050
    ? element(0x17, Buffer.from(digits.slice(2)))
    : element(0x18, Buffer.from(digits));
}
