/** Draws the ratios as bars in an SVG: the peer is 1, and a mark shows the target. */
import type { RaceResult } from '../../test/bench/race.ts';
import { median } from '../../test/bench/statistics.ts';
import { number, verdict } from './report.ts';

const [WIDTH, LEFT, RIGHT] = [860, 260, 60];
const [TITLE, LINE, BAR] = [46, 26, 14];
const [TOP, BOTTOM] = [12, 54];
/** Width of the number next to a bar. */
const NUMBER = 44;

/** With its own background, so that it is readable on any page. */
const STYLE = `
  svg { font: 13px system-ui, sans-serif; } rect { fill: #8c959f; }
  .ground { fill: #ffffff; } text { fill: #1f2328; } .faint { fill: #59636e; }
  .peer { stroke: #59636e; } .grid { stroke: #d1d9e0; } .target { stroke: #1f2328; stroke-width: 2; }
  .executable { fill: #0f766e; } .npm { fill: #7c93c4; } .missed { fill: #c2410c; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } text { fill: #e6edf3; } .faint { fill: #9198a1; }
    .peer { stroke: #9198a1; } .grid { stroke: #30363d; } .target { stroke: #e6edf3; }
    .executable { fill: #2dd4bf; } .npm { fill: #6079b0; } .missed { fill: #fb923c; }
  }`;

export function plot(races: RaceResult[], caption: string): string {
  const all = races.flatMap(({ others }) => others);
  const most = Math.max(1, ...all.flatMap(({ ratios, limits }) => [median(ratios), limits.ratio ?? 0]));
  const end = Math.ceil(most * 2) / 2;
  const x = (ratio: number) => LEFT + (ratio / end) * (WIDTH - LEFT - RIGHT);
  const parts: string[] = [];
  let y = TOP;
  for (const { title, peer, others } of races) {
    parts.push(text(16, y + 20, title, 'font-weight="600"'), text(16, y + 37, `1 = ${peer.name}`, 'class="faint"'));
    y += TITLE;
    for (const { name, ratios, limits } of others) {
      const ratio = median(ratios);
      const isMissed = limits.ratio !== undefined && verdict(ratios, limits.ratio) === 'missed';
      const kind = isMissed ? 'missed' : name.split(/[ :]/, 1)[0];
      parts.push(
        text(LEFT - 10, y + BAR, name, 'text-anchor="end"'),
        `<rect class="${kind}" x="${LEFT}" y="${y + 3}" width="${(x(ratio) - LEFT).toFixed(1)}" height="${BAR}" rx="2"/>`,
        ...(limits.ratio === undefined ? [] : [mark(x(limits.ratio), y)]),
        text(beside(x(ratio), x(limits.ratio ?? 0)), y + BAR, number(ratio)),
      );
      y += LINE;
    }
  }
  const height = y + BOTTOM;
  const grid = Array.from({ length: end * 2 + 1 }, (_, index) => index / 2).map(at => {
    const kind = at === 1 ? 'class="peer" stroke-dasharray="4 3"' : 'class="grid"';
    const line = `<line ${kind} x1="${x(at)}" x2="${x(at)}" y1="${TOP + TITLE}" y2="${y}"/>`;
    return line + text(x(at), y + 18, String(at), 'class="faint" text-anchor="middle"');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>Time relative to the peer</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${height}"/>`,
    ...grid,
    ...parts,
    text(16, height - 12, `${caption} Shorter is better; | marks the target.`, 'class="faint"'),
    '</svg>\n',
  ].join('\n');
}

/** Where the number starts: after the bar, and after a target mark that it would cover. */
function beside(bar: number, target: number): number {
  const covered = target > bar && target < bar + NUMBER;
  return (covered ? target : bar) + 8;
}

function mark(x: number, y: number): string {
  return `<line class="target" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${y}" y2="${y + BAR + 6}"/>`;
}

function text(x: number, y: number, content: string, attributes = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escaped}</text>`;
}
