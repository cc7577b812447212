/** The longest prefix of the text with at most `limit` bytes of UTF-8. Does not split a character. */
export function cutBytes(text: string, limit: number): string {
  const bytes = new TextEncoder().encode(text).subarray(0, limit);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** Truncates the text to at most `limit` bytes of UTF-8; a truncated text ends with an ellipsis. */
export function ellipsize(text: string, limit: number): string {
  const fits = new TextEncoder().encode(text).length <= limit;
  return fits ? text : `${cutBytes(text, limit - new TextEncoder().encode('…').length)}…`;
}
