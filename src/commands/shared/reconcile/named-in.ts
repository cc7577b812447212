/** Which nodes the note of an Event about a pool names. */

const NAME_CHARACTER = /[a-z0-9.-]/;

/** As the notes of reconciler/events.ts and conflicts.ts name them: in a list at the end, or after `node`. */
export function isNamedIn(note: string, node: string): boolean {
  const list = note.slice(note.lastIndexOf(': ') + 2);
  if (note.includes(': ') && list.split(', ').includes(node)) return true;
  return after('nodes? ', note, node);
}

/** Whether a list that begins after the word has the name. */
function after(word: string, note: string, node: string): boolean {
  for (const { index, 0: found } of note.matchAll(new RegExp(`\\b${word}`, 'g'))) {
    let at = index + found.length;
    // A list of names, separated by commas.
    for (;;) {
      let end = at;
      while (end < note.length && NAME_CHARACTER.test(note[end] ?? '')) end++;
      if (note.slice(at, end) === node) return true;
      if (end === at || !note.startsWith(', ', end)) break;
      at = end + 2;
    }
  }
  return false;
}
