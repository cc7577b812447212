/** The texts of the dashboard that are read from the server: describe and YAML of a pool or a node. */
import type { Connection } from '../../cli/factory.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { ReadPlace } from '../../view/run.ts';

/** As the commands print them, without colour. Throws NodepoolError. */
export async function readText(
  { kind, pool = '', subject }: ReadPlace,
  connection: Connection,
  now: () => Date,
): Promise<string> {
  if (kind === 'describe')
    return subject === undefined ? describePool(pool, connection, now) : explainNode(subject, connection);
  const object = subject === undefined ? connection.cluster.pools.get(pool) : connection.nodeObject(subject);
  const found = await object;
  const name = subject === undefined ? `nodepool "${pool}"` : `node "${subject}"`;
  if (found === undefined) throw new NodepoolError('input', `${name} not found`);
  const { printObjects } = await import('../../print/printers.ts');
  return printObjects([found], 'yaml', false).trimEnd();
}

async function describePool(pool: string, connection: Connection, now: () => Date): Promise<string> {
  const { describe } = await import('../shared/describe/describe.ts');
  const { renderDescription } = await import('../shared/describe/print-describe.ts');
  const { makeStyle } = await import('../../print/style.ts');
  const { descriptions, missing } = await describe([pool], connection);
  if (missing[0] !== undefined) throw missing[0];
  return descriptions.map(description => renderDescription(description, now(), makeStyle(false))).join('\n');
}

/** As `nodes --why`: what kubectl describe prints of a node takes requests for its pods, lease and events. */
async function explainNode(node: string, connection: Connection): Promise<string> {
  const { whyNode } = await import('../shared/describe/print-why.ts');
  const { renderWhy } = await import('../shared/describe/print-why.ts');
  const { makeStyle } = await import('../../print/style.ts');
  return renderWhy(await whyNode(node, connection), makeStyle(false));
}
