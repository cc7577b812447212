/** `report -o html`: one page, without scripts and without anything from elsewhere. */
import type { Report } from '../../operations/report.ts';
import { trendSection } from './chart.ts';
import { type Html, html } from './html.ts';
import { time } from './parts.ts';
import {
  capacitySection,
  conditionsSection,
  conflictsSection,
  driftSection,
  eventsSection,
  maintenanceSection,
  poolsSection,
} from './sections.ts';
import { STYLE } from './style.ts';

interface Section {
  id: string;
  title: string;
  body: (report: Report) => Html;
}

const SECTIONS: readonly Section[] = [
  { id: 'pools', title: 'Pools', body: poolsSection },
  { id: 'conditions', title: 'Conditions', body: conditionsSection },
  { id: 'maintenance', title: 'Maintenance', body: maintenanceSection },
  { id: 'drift', title: 'Drift', body: driftSection },
  { id: 'conflicts', title: 'Conflicts', body: conflictsSection },
  { id: 'capacity', title: 'Capacity', body: capacitySection },
  { id: 'trend', title: 'Events of the last hour', body: ({ trend }) => trendSection(trend) },
  { id: 'events', title: 'Latest Events', body: eventsSection },
];

/** No script runs, whatever the page has; nothing is loaded. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** @param version of this program. Without the last newline */
export function renderPage(report: Report, version: string): string {
  const { context, clusterName } = report;
  const title = `Node pools of ${context ?? clusterName}`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="generator" content="kubectl-nodepool ${version}">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${title}</h1>
${factsList(report)}
<nav aria-label="Sections"><ul>${SECTIONS.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>
</header>
<main>
${numbersList(report)}
${warningsList(report)}
${SECTIONS.map(
  ({ id, title, body }) => html`<section aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${body(report)}
</section>
`,
)}</main>
<footer><p>Made by kubectl-nodepool ${version}. Events expire, after one hour by default. Names, reasons and messages are what the cluster has, with what cannot be seen as escapes.</p></footer>
</body>
</html>`.text;
}

function factsList({ context, clusterName, serverVersion, time: at }: Report): Html {
  const fact = (name: string, value: string | Html) => html`<dt>${name}</dt><dd>${value}</dd>\n`;
  return html`<dl>
${fact('Time of the server', time(at.toISOString()))}${context === undefined ? '' : fact('Context', context)}${fact('Cluster', clusterName)}${fact('Kubernetes', serverVersion ?? 'unknown')}</dl>`;
}

function numbersList({ pools, capacity, drift, conflicts, maintenance }: Report): Html {
  const overdue = maintenance.items.filter(({ isOverdue }) => isOverdue).length;
  const numbers: [number, string][] = [
    [pools.total, 'pools'],
    [capacity.total.nodes, 'nodes'],
    [capacity.total.schedulable, 'nodes for new pods'],
    [drift.total, 'nodes in drift'],
    [conflicts.total, 'conflicts'],
    [maintenance.total, 'cordoned'],
    [overdue, 'overdue'],
  ];
  return html`<ul class="numbers" aria-label="In short">${numbers.map(([count, what]) => html`<li><b>${count}</b> ${what}</li>`)}</ul>`;
}

function warningsList({ warnings }: Report): Html {
  if (warnings.length === 0) return html``;
  return html`<p class="warn">Not complete:</p>
<ul>${warnings.map(warning => html`<li>${warning.slice(0, 2_000)}</li>`)}</ul>`;
}
