/**
 * Measures, cuts and wraps text in terminal columns: two for wide characters and emoji, none for combining marks.
 * Terminals differ for rare characters; this follows the majority, by Unicode's UAX #11 and UTS #51.
 */
import { sanitizeLine } from './sanitize.ts';

/** Printable ASCII: one column each. */
export const PLAIN = /^[\x20-\x7e]*$/;
/** A flag, a keycap, or a pictograph with everything joined to it: always two columns. */
const EMOJI =
  /\p{RI}{2}|[0-9#*]\ufe0f?\u20e3|\p{Extended_Pictographic}[\ufe0f\p{EMod}]?(?:\u200d\p{Extended_Pictographic}[\ufe0f\p{EMod}]?)*/gu;
/** Shown as emoji by default, or because of a variation selector. */
const PICTURE = /^[\p{RI}0-9#*]|\p{Emoji_Presentation}|[\ufe0f\p{EMod}\u200d]/u;
/** Combining marks, joiners, and all but the first part of a Hangul syllable. */
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\u200b-\u200f\u1160-\u11ff\ud7b0-\ud7ff]/gu;
/** Blocks with East_Asian_Width W or F, and separate skin tone modifiers. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\p{EMod}\u{20000}-\u{3fffd}]/gu;

/** @param text one line, without escapes */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let pictures = 0;
  const rest = text.replace(EMOJI, emoji => {
    if (!PICTURE.test(emoji)) return emoji;
    pictures++;
    return '';
  });
  const visible = rest.replace(WITHOUT_WIDTH, '').replace(WIDE, 'xx');
  // Counts code points, not UTF-16 units.
  return 2 * pictures + [...visible].length;
}

/** Created lazily: that takes at least 5 ms, and few commands cut text. */
let segmenter: Intl.Segmenter | undefined;
/** Maximum UTF-16 units in one column: a family emoji has 25 in two columns. */
const MAX_UNITS = 64;

/** As much of the text as fits, with an ellipsis if it was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width < 1 ? '' : `${head(text, width - 1)}…`;
}

/** Like cut(), with the ellipsis in the middle. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width || !PLAIN.test(text)) return cut(text, width);
  const end = Math.max(Math.floor((width - 1) / 2), 0);
  return cut(text, width - end) + text.slice(text.length - end);
}

/** The escaped text in as many lines as necessary, broken at spaces if possible. At least one line. */
export function wrap(text: string, width: number, firstWidth = width): string[] {
  const lines: string[] = [];
  let rest = sanitizeLine(text);
  while (width > 0) {
    const most =
      head(rest, lines.length === 0 ? firstWidth : width) || (graphemesOf(rest).containing(0)?.segment ?? rest);
    if (most === rest) break;
    const space = rest.charAt(most.length) === ' ' ? most.length : most.lastIndexOf(' ');
    const line = space > 0 ? rest.slice(0, space) : most;
    lines.push(line);
    rest = rest.slice(line.length).trimStart();
  }
  return rest === '' && lines.length > 0 ? lines : [...lines, rest];
}

/** Like wrap(), with continuation lines aligned to the text, or to the value of a line such as `Title:   value`. */
export function wrapIndented(text: string, width: number): string[] {
  const [lead = ''] = /^ */.exec(text) ?? [];
  const [title = ''] = /^ *[^\s:][^:]*: {2,}/.exec(text) ?? [];
  const most = Math.floor(width / 2);
  const start = Math.min(lead.length, most);
  const indent = Math.min(title.length > 0 && title.length <= most ? title.length : start + 2, most);
  const lines = wrap(text.slice(lead.length), width - indent, width - start);
  return lines.map((line, i) => ' '.repeat(i === 0 ? start : indent) + line);
}

/**
 * Wraps escaped text only at spaces; keeps longer words whole, and commands in backticks. A command longer than a line
 * is broken with shell continuations, because a pasted half could run. All lines but the first are indented, so that
 * text of others cannot look like a line of this program.
 */
export function wrapWords(text: string, width: number, indent = '  '): string[] {
  const lines: string[] = [];
  let line = '';
  for (const [phrase] of text.matchAll(/ *(?:`[^`]*`|[^ ])+/g)) {
    const isWhole = widthOf(indent + phrase.trimStart()) <= width;
    const words = isWhole ? [phrase] : (phrase.match(/ *(?:'[^']*'|"[^"]*"|[^ ])+/g) ?? []);
    for (const [i, word] of words.entries()) {
      const room = i < words.length - 1 ? width - CONTINUED.length : width;
      if (line !== '' && widthOf(line + word) > room) {
        lines.push(i === 0 ? line : line + CONTINUED);
        line = indent + word.trimStart();
      } else line += word;
    }
  }
  return [...lines, line];
}

/** Continues a shell command on the next line. */
const CONTINUED = ' \\';

/** The graphemes that fit. Does not segment the rest of the text, which may be a megabyte. */
function head(text: string, width: number): string {
  let [taken, used] = ['', 0];
  for (const { segment } of graphemesOf(text.slice(0, width * MAX_UNITS))) {
    used += widthOf(segment);
    if (used > width) break;
    taken += segment;
  }
  return taken;
}

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}
