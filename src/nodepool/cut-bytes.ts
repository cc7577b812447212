/** The longest beginning of the text that has at most `limit` bytes of UTF-8, never half a character. */
export function cutBytes(text: string, limit: number): string {
  const bytes = new TextEncoder().encode(text).subarray(0, limit);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** The text in at most `limit` bytes of UTF-8; what is cut ends with an ellipsis. */
export function ellipsize(text: string, limit: number): string {
  const fits = new TextEncoder().encode(text).length <= limit;
  return fits ? text : `${cutBytes(text, limit - new TextEncoder().encode('…').length)}…`;
}
