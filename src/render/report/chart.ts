/** Events by time and type: a bar chart, and the same as a table. */
import type { EventCount, EventTrend } from '../../operations/event-trend.ts';
import { type Html, html } from './html.ts';
import { shortTime, table } from './parts.ts';

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [640, 220, 44, 24, 40];
const PLOT = HEIGHT - TOP - BOTTOM;

export function trendSection({ counts, intervalMs, earlier }: EventTrend): Html {
  const total = counts.reduce((sum, { normal, warning }) => sum + normal + warning, 0);
  const minutes = intervalMs / 60_000;
  if (total === 0) return html`<p class="none">No Events in the last hour.${earlierText(earlier)}</p>`;
  const columns = [
    { header: 'From (UTC)', cell: ({ from }: EventCount) => shortTime(from) },
    { header: 'Normal', cell: ({ normal }: EventCount) => normal, kind: 'number' as const },
    { header: 'Warning', cell: ({ warning }: EventCount) => warning, kind: 'number' as const },
  ];
  return html`${chart(counts, minutes)}
<div class="narrow">${table(`Events in each ${minutes} minutes`, columns, { items: counts, total: counts.length }, '')}</div>
<p>A repeated Event counts once, when it was seen last.${earlierText(earlier)}</p>`;
}

function earlierText(earlier: number): string {
  return earlier === 0 ? '' : ` ${earlier} ${earlier === 1 ? 'was' : 'were'} seen before.`;
}

function chart(counts: readonly EventCount[], minutes: number): Html {
  const most = niceTop(Math.max(...counts.map(({ normal, warning }) => normal + warning)));
  const step = (WIDTH - LEFT) / counts.length;
  const y = (value: number) => TOP + PLOT - (value / most) * PLOT;
  const bars = counts.map(({ normal, warning }, at) => {
    const x = (LEFT + at * step + step * 0.15).toFixed(1);
    const width = (step * 0.7).toFixed(1);
    const rect = (kind: string, from: number, to: number) =>
      to === from
        ? ''
        : html`<rect class="${kind}" x="${x}" width="${width}" y="${y(to).toFixed(1)}" height="${(y(from) - y(to)).toFixed(1)}"/>`;
    return [rect('normal', 0, normal), rect('warning', normal, normal + warning)];
  });
  const ticks = [...new Set([0, Math.round(most / 2), most])].map(
    value =>
      html`<line class="grid" x1="${LEFT}" x2="${WIDTH}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}"/><text x="${LEFT - 6}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${value}</text>`,
  );
  const times = counts
    .filter((_, at) => at % 3 === 0)
    .map(
      ({ from }, at) =>
        html`<text x="${(LEFT + at * 3 * step).toFixed(1)}" y="${HEIGHT - 20}">${from.toISOString().slice(11, 16)}</text>`,
    );
  const [normal, warning] = [sum(counts, 'normal'), sum(counts, 'warning')];
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="trend-title trend-text">
<title id="trend-title">Events in each ${minutes} minutes, by type</title>
<desc id="trend-text">Bars from ${shortTime(counts[0]?.from ?? new Date(0))} UTC on: ${normal} Events of the type Normal and ${warning} of the type Warning, at most ${Math.max(...counts.map(each => each.normal + each.warning))} in ${minutes} minutes. The table below has the numbers.</desc>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-back" width="6" height="6"/><line class="hatch-line" x1="0" x2="0" y1="0" y2="6"/></pattern></defs>
<rect class="normal" x="${LEFT}" y="2" width="12" height="12"/><text x="${LEFT + 18}" y="12">Normal</text>
<rect class="warning" x="${LEFT + 90}" y="2" width="12" height="12"/><text x="${LEFT + 108}" y="12">Warning (hatched)</text>
${ticks}${bars}
<line class="axis" x1="${LEFT}" x2="${WIDTH}" y1="${TOP + PLOT}" y2="${TOP + PLOT}"/>
${times}<text x="${WIDTH}" y="${HEIGHT - 4}" text-anchor="end">time (UTC)</text>
</svg>`;
}

function sum(counts: readonly EventCount[], type: 'normal' | 'warning'): number {
  return counts.reduce((total, each) => total + each[type], 0);
}

/** 1, 2 or 5 and zeros, at least the value; even, so that its half is a whole number, where it is above 1. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 4, 6, 10].map(each => each * power).find(each => each >= value) ?? value;
}
