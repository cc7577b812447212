/**
 * What may be put on a command line at the press of a key. Scripts of shells evaluate candidates: that of kubectl 1.32 ran
 * the `$(...)` in a name of a resource, which whoever writes a node's status chooses.
 */

/** What names, label keys, contexts, flags and paths of fields need, and no shell reads as anything else. */
const CANDIDATE = /^[A-Za-z0-9._/:=,@+-]+$/;
/** The same, which begins as no flag does; a name of Kubernetes with its prefix has 317 characters at most. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._/:=,@+-]{0,511}$/;
/** The same and what our own sentences have; there is no `$`, no backquote and no backslash in them. */
const NOT_IN_SENTENCES = /[^A-Za-z0-9._/:=,@+ ;!()'"-]/g;

/** Whether it may be offered, whole: a part of a name would be another name. */
export function isSafeCandidate(value: string): boolean {
  return CANDIDATE.test(value);
}

/** The same of a name that somebody else chose. */
export function isSafeName(name: string): boolean {
  return NAME.test(name);
}

/** What a candidate means: one of our own sentences, never a text of a cluster or a file. */
export function safeDescription(text: string): string {
  return text.replaceAll('…', '...').replace(NOT_IN_SENTENCES, '');
}
