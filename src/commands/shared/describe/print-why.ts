/** The output of `why` and `nodes --why`: whether and why the node is a member of each pool, and the pool's values. */
import {
  type MembershipVerdict,
  type OwnershipRule,
  type PoolReason,
  type SelectorReason,
  type StartupReason,
  strayLabelRemedy,
} from '../../../nodepool/membership/explain.ts';
import { fieldErrorsText } from '../../../nodepool/spec/field-error.ts';
import { formatTaint } from '../../../nodepool/spec/syntax.ts';
import { POOL_LABEL } from '../../../nodepool/types.ts';
import { labelTexts, MESSAGE_WIDTH, shorten } from '../../../print/cells.ts';
import { oneLine } from '../../../print/error.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import { DESCRIBE, renderTable } from '../../../print/table.ts';
import { widthOf, wrapWords } from '../../../print/width.ts';
import { changeLine } from '../changes/print-diff.ts';
import type { NodeExplanation } from './why.ts';

/** @param now for the age of values that others set @param width of the terminal: longer texts get their own line */
export function renderWhy(explanation: NodeExplanation, style: Style, now?: Date, width = Infinity): string {
  const { node, owner, pools, gone, startup = [], draining = [], strayLabel, blocked } = explanation;
  const head = owner === undefined ? `node ${node} is in no pool` : `node ${node} is in pool ${owner}`;
  const sections = [style.bold(sanitizeLine(head))];
  const warn = (text: string) => {
    const lines = wrapWords(sanitizeLine(text), width).map(line => style.yellow(line));
    sections.push(lines.join('\n'));
  };
  if (blocked !== undefined) warn(`! the node is not written: ${blocked.message}; next: ${blocked.next}`);
  if (gone !== undefined) {
    const removal = blocked === undefined ? ': the next reconcile removes what the pool set' : '';
    warn(`! deleted pool ${gone} left its record on this node${removal}`);
  }
  if (strayLabel !== undefined) {
    warn(`! no pool set the label ${POOL_LABEL}=${strayLabel} on this node; next: ${strayLabelRemedy(node)}`);
  }
  const waits = draining.map(taint => `taint ${formatTaint(taint)}: set after its pods are evicted`);
  const theirs = [...waits, ...startup.map(startupText)].map(text => `  ${sanitizeLine(shorten(text, MESSAGE_WIDTH))}`);
  const made = valueLines(explanation, style, now);
  if (gone !== undefined) sections.push(...made);
  return [
    ...sections,
    ...pools.map(pool =>
      [
        poolSection(pool, blocked !== undefined, style, width),
        ...(pool.pool === owner || pool.toBeCleaned ? made : []),
        ...(pool.pool === owner ? theirs : []),
      ].join('\n'),
    ),
  ].join('\n\n');
}

/** What the owner has set on the node, and what it has yet to set. */
function valueLines({ applied, changes = [], next }: NodeExplanation, style: Style, now?: Date): string[] {
  const { labels = {}, taints = [], annotations = {} } = applied ?? {};
  const set = [...labelTexts(labels), ...taints.map(formatTaint), ...Object.keys(annotations)];
  const text = shorten(`  the pool set ${set.join(', ')}`, MESSAGE_WIDTH);
  return [
    ...(set.length === 0 ? [] : [sanitizeLine(text)]),
    ...changes.map(change => changeLine(change, change.setBy === undefined ? [] : [change.setBy], style, now)),
    ...(next === undefined ? [] : [style.yellow(sanitizeLine(`  ${next}`))]),
  ];
}

function poolSection(reason: PoolReason, isBlocked: boolean, style: Style, width: number): string {
  const { pool, selector, verdict, toBeCleaned } = reason;
  const { paint, text } = verdictText(verdict, style);
  const head = sanitizeLine(`pool ${pool}: `);
  const [first = '', ...others] = wrapWords(head + oneLine(text), width);
  const lines = [head + paint(first.slice(head.length)), ...others.map(line => paint(line))];
  if (toBeCleaned) {
    const removal = isBlocked ? '' : ': the next reconcile removes it';
    lines.push(...wrapWords(`  the node still has what the pool set${removal}`, width, '    '));
  }
  if (selector.length === 0) return lines.join('\n');
  const rows = selector.map((reason): [string, string] => [
    shorten(`${reason.isMet ? '=' : '!'} ${reason.requirement}`, MESSAGE_WIDTH),
    liveText(reason),
  ]);
  const table = renderTable(rows, { ...DESCRIBE, indent: '  ' });
  if (table.split('\n').every(line => widthOf(line) <= width)) return [...lines, table].join('\n');
  const wrapped = rows.flatMap(([rule, live]) => [
    ...wrapWords(`  ${sanitizeLine(rule)}`, width, '    '),
    ...wrapWords(`    ${sanitizeLine(live)}`, width, '    '),
  ]);
  return [...lines, ...wrapped].join('\n');
}

function startupText({ taint, isHeld, until, isGivenAgain }: StartupReason): string {
  const what = `startup taint ${formatTaint(taint)}`;
  const again = isGivenAgain ? 'set again when the node boots' : 'not set again';
  if (!isHeld) return `${what}: removed or never set; ${again}`;
  return until === undefined
    ? `${what}: on the node until somebody removes it`
    : `${what}: on the node until the condition ${until} of the node is True`;
}

function liveText({ key, requirement, isMet, live, near }: SelectorReason): string {
  if (near !== undefined) return `the node has ${near.key}=${near.value}; the selector requires ${requirement}`;
  if (live === undefined) return `the node does not have this label`;
  return isMet && requirement === `${key}=${live}` ? 'the node has this label' : `the node has ${key}=${live}`;
}

/** Why this pool owns the node rather than another pool that matches. */
const RULES: Record<OwnershipRule, string> = {
  'holds the node already': 'it had the node first',
  'is older': 'it is the older pool',
  'has the smaller name': 'its name sorts first',
};

function verdictText(verdict: MembershipVerdict, style: Style): { text: string; paint: (text: string) => string } {
  switch (verdict.kind) {
    case 'member': {
      const over = verdict.over.map(({ pool, rule }) => `${RULES[rule]}; ${pool} matches too`);
      return { text: `owns the node${over.length === 0 ? '' : ` (${over.join('; ')})`}`, paint: style.green };
    }
    case 'lost':
      return { text: `matches, but pool ${verdict.to} owns the node (${RULES[verdict.rule]})`, paint: style.red };
    case 'no match':
      return { text: 'does not match', paint: style.dim };
    case 'deleting':
      return { text: 'is being deleted and gets no nodes', paint: style.yellow };
    case 'invalid': {
      const wrong = fieldErrorsText(verdict.errors);
      return { text: `matches, but gets no new nodes while its spec is invalid: ${wrong}`, paint: style.red };
    }
    case 'unknown selector': {
      const but = verdict.keeps ? 'the pool keeps the node that it already owns' : 'the pool gets no nodes';
      return { text: `has an unreadable selector; ${but}`, paint: style.red };
    }
  }
}
