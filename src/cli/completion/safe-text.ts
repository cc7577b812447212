/**
 * Candidates that are safe in a command line. Completion scripts evaluate candidates: that of kubectl 1.32 ran the `$(...)`
 * in the name of a resource, which anybody who writes a node's status chooses.
 */

/** The characters of names, label keys, contexts, flags and field paths; special to no shell. */
const CANDIDATE = /^[A-Za-z0-9._/:=,@+-]+$/;
/** The same, without a leading dash; a qualified name of Kubernetes has at most 317 characters. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._/:=,@+-]{0,511}$/;
/** All but those and the punctuation of our own sentences, which have no `$`, backquote or backslash. */
const NOT_IN_SENTENCES = /[^A-Za-z0-9._/:=,@+ ;!()'"-]/g;

/** Whether the candidate may be offered; an unsafe one is dropped, as a part of it would be another name. */
export function isSafeCandidate(value: string): boolean {
  return CANDIDATE.test(value);
}

/** The same for a name that somebody else chose. */
export function isSafeName(name: string): boolean {
  return NAME.test(name);
}

/** The description of a candidate: our own sentence, never text of a cluster or a file. */
export function safeDescription(text: string): string {
  return text.replaceAll('…', '...').replace(NOT_IN_SENTENCES, '');
}
