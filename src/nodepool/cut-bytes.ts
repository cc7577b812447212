/** The longest beginning of the text that has at most `limit` bytes of UTF-8, never half a character. */
export function cutBytes(text: string, limit: number): string {
  const bytes = new TextEncoder().encode(text).subarray(0, limit);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}
