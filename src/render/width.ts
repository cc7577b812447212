/**
 * The columns that a text takes on a terminal: two for wide characters and emoji, none for marks that stand on another.
 * Terminals differ in the rare ones; this is what most of them do, by Unicode's UAX #11 and UTS #51.
 */

/** What is printed as it is, a column each. */
export const PLAIN = /^[\x20-\x7e]*$/;
/** A flag, a keycap, or a picture with what is joined to it: one place, however many characters. */
const EMOJI =
  /\p{RI}{2}|[0-9#*]\ufe0f?\u20e3|\p{Extended_Pictographic}[\ufe0f\p{EMod}]?(?:\u200d\p{Extended_Pictographic}[\ufe0f\p{EMod}]?)*/gu;
/** Those that are shown as pictures by themselves, or are told to. */
const PICTURE = /^[\p{RI}0-9#*]|\p{Emoji_Presentation}|[\ufe0f\p{EMod}\u200d]/u;
/** Marks above and below, joiners, and what follows the first part of a Hangul syllable. */
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\u200b-\u200f\u1160-\u11ff\ud7b0-\ud7ff]/gu;
/** The blocks whose East_Asian_Width is W or F; of emoji the colours of a skin that stand alone. */
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
  // By characters, not by halves of them.
  return 2 * pictures + [...visible].length;
}
