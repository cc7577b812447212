/** Limits the number of a process's writes, so that it can be killed between two writes. */
import { type Asked, isReconcileWrite, isWrite } from './asked.ts';
import type { FaultProxy } from './proxy.ts';
import { hang } from './treatments.ts';

/** Forwards that many of these writes. `reached` becomes true with the last response; all further writes are dropped. */
export function limitWrites(proxy: FaultProxy, most: number, isCounted: (asked: Asked) => boolean = isReconcileWrite) {
  let [sent, answered] = [0, 0];
  const undo = proxy.onRequest(asked => {
    if (sent >= most && isWrite(asked)) return hang;
    if (isCounted(asked)) sent += 1;
    return undefined;
  });
  proxy.onAnswered(asked => {
    if (isCounted(asked)) answered += 1;
  });
  return { undo, reached: () => answered >= most };
}
