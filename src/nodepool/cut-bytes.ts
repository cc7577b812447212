/** The longest beginning of the text that has at most `limit` bytes of UTF-8, never half a character. */
export function cutBytes(text: string, limit: number): string {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, limit), { stream: true });
}
