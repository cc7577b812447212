export const MAX_INT64 = 2n ** 63n - 1n;

/** A sign, and at most 19 digits beside leading zeros: what is longer is out of range, and would be slow to read. */
const DECIMAL = /^([+-]?)0*(\d{1,19})$/;

/** As Go's strconv.ParseInt(text, 10, 64); undefined where that is an error. */
export function parseInt64(text: string): bigint | undefined {
  const [, sign, digits = ''] = DECIMAL.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
