/** Before taints with the effect NoExecute go out: shows which pods they evict, and asks. */

import { NodepoolError } from '../nodepool/errors.ts';
import type { Approve, EvictionPreview, TaintPlan } from '../operations/evictions.ts';
import type { NodeAccess } from '../operations/node-access-port.ts';
import { confirmOrRefuse } from './confirm.ts';
import { warningLine } from './error-line.ts';
import type { Io } from './io.ts';

export interface Approval {
  /** --yes: it is shown, and nobody is asked. */
  yes: boolean;
  /** Nothing will be written: it is shown alone. */
  dryRun: boolean;
}

/**
 * Says nothing when no pod would go. What it returns throws NodepoolError when the user says no, when a script does not
 * say --yes, and when nodes or pods cannot be read.
 */
export function approveEvictions({ yes, dryRun }: Approval, io: Io, access: NodeAccess): Approve {
  const asks = !yes && !dryRun;
  return async read => {
    const preview = await look(read, access).catch((error: unknown) => {
      if (!(error instanceof NodepoolError)) throw error;
      if (asks) throw notKnown(error);
      io.err(warningLine(notKnown(error).message));
      return undefined;
    });
    if (preview === undefined) return;
    const { evictionsSentence, renderEvictions } = await import('../render/evictions.ts');
    io.err(renderEvictions(preview, io.columns));
    if (!asks) return;
    if (await confirmOrRefuse(io, 'Go on?', () => needsYes(evictionsSentence(preview)))) return;
    throw new NodepoolError('input', 'nothing was changed');
  };
}

async function look(
  read: () => Promise<readonly TaintPlan[]>,
  access: NodeAccess,
): Promise<EvictionPreview | undefined> {
  const { previewEvictions } = await import('../operations/evictions.ts');
  return previewEvictions(await read(), access);
}

function notKnown(cause: NodepoolError): NodepoolError {
  const message = `cannot tell which pods taints with the effect NoExecute would evict: ${cause.oneLine}`;
  const next = [...(cause.next === undefined ? [] : [cause.next]), 'go on without knowing with --yes'].join(', or ');
  return new NodepoolError(cause.kind, message, next, { cause });
}

function needsYes(sentence: string): NodepoolError {
  return new NodepoolError(
    'input',
    `${sentence}; nothing was changed`,
    'if that is meant, run the command again with --yes',
  );
}
