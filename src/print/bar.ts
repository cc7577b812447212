/** Horizontal bars of characters. */

export interface BarGlyphs {
  /** Equal steps within a cell, the last one full. */
  steps: readonly string[];
  empty: string;
}

/** Eighths of a cell. */
export const BLOCKS: BarGlyphs = { steps: ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'], empty: '░' };
export const ASCII: BarGlyphs = { steps: ['#'], empty: '-' };

/** Blocks in a UTF-8 locale (POSIX: LC_ALL, then LC_CTYPE, then LANG) and in Windows Terminal; else ASCII. */
export function barGlyphs(env: Record<string, string | undefined>): BarGlyphs {
  if (env.TERM === 'dumb') return ASCII;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return /utf-?8/i.test(locale) || env.WT_SESSION ? BLOCKS : ASCII;
}

/** Exactly `width` cells; above 0 at least one step, below 1 never full. @param fraction is clamped to 0..1 */
export function bar(fraction: number, width: number, { steps, empty }: BarGlyphs): string {
  const all = width * steps.length;
  const share = Math.min(Math.max(fraction, 0), 1);
  const rounded = Math.round(share * all);
  const filled = share === 0 || share === 1 ? rounded : Math.max(Math.min(Math.max(rounded, 1), all - 1), 0);
  const whole = Math.floor(filled / steps.length);
  const part = filled % steps.length === 0 ? '' : (steps[(filled % steps.length) - 1] ?? '');
  return `${(steps.at(-1) ?? '').repeat(whole)}${part}${empty.repeat(Math.max(width - whole - (part === '' ? 0 : 1), 0))}`;
}
