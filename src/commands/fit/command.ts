import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT, showWarning } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { filenameFlags, noHeadersFlag, outputFlag, repeatedFlag } from '../../cli/flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { firstWarnings } from '../../nodepool/text.ts';
import { quantityOf } from '../../print/quantity.ts';
import { poolSelectorFlag } from '../shared/pools/choose-pools.ts';
import type { FitOptions } from './run.ts';
import type { PodRequests } from './subjects.ts';

export default class Fit extends BaseCommand<typeof Fit> {
  static override summary = 'Show which pools take a pod, how many, and why not.';
  static override description =
    `Applies the rules of the default scheduler and prints its reasons: resources, taints, node affinity and selector, host ports, topology spread, pod affinity and anti-affinity, volumes. Rules that fit does not consider are listed below the table. If you may create pods, the server completes a pod from a file in a dry run. Nothing is written.

Exit codes: 0 the pod fits (with --replicas: all replicas fit), 1 the pod does not fit, 2 error.`;
  static override examples = [
    { description: 'A Pending pod', command: '<%= config.bin %> fit web-5d4f -n shop' },
    { description: 'Ten replicas of a Deployment', command: '<%= config.bin %> fit -f web.yaml --replicas 10' },
    { description: 'A pod of this size', command: '<%= config.bin %> fit --cpu 4 --memory 8Gi --gpu 1' },
    { description: 'The output of another command', command: '<%= config.bin %> fit -f - < web.yaml' },
    { description: 'Only two pools', command: '<%= config.bin %> fit -f web.yaml --pool gpu,worker' },
    { description: 'For a program', command: '<%= config.bin %> fit -f web.yaml -o json' },
  ];
  static override args = {
    // oclif would read a missing argument from stdin, which `-f -` needs.
    pod: Args.string({ description: 'An existing pod: NAME or NAMESPACE/NAME.', ignoreStdin: true }),
  };
  static override flags = {
    ...filenameFlags,
    cpu: Flags.string({ summary: 'CPU request of a pod, instead of a pod name.', helpValue: 'QUANTITY' }),
    memory: Flags.string({ summary: 'Memory request.', helpValue: 'QUANTITY' }),
    gpu: Flags.string({ summary: 'GPU request: nvidia.com/gpu, or the GPU resource of the nodes.', helpValue: 'N' }),
    replicas: Flags.integer({
      summary: 'Replicas that should fit in all pools together. Default: one.',
      helpValue: 'N',
      min: 1,
      max: 1_000_000,
    }),
    pool: repeatedFlag({
      summary: 'Show these pools; repeatable. Default: all pools and unassigned nodes.',
      helpValue: 'POOL',
    }),
    ...poolSelectorFlag,
    output: outputFlag('Print the result as an object.'),
    'no-headers': noHeadersFlag,
  };

  protected async execute(flags: FlagsOf<typeof Fit>, { pod }: ArgsOf<typeof Fit>, deps: Deps): Promise<number> {
    const { filename = [], replicas, pool: pools = [], selector, output, namespace } = flags;
    if (pod !== undefined) checkPodName(pod);
    const requests = requestsIn(flags);
    const given = [
      ...(pod === undefined ? [] : ['a pod']),
      ...(filename.length === 0 ? [] : ['-f']),
      ...(requests === undefined ? [] : ['--cpu, --memory and --gpu']),
    ];
    if (given.length !== 1) {
      const problem = given.length === 0 ? 'no pod is specified' : `${given.join(' and ')} cannot be used together`;
      throw new NodepoolError('usage', problem, 'name a pod, or use -f FILE, or give requests such as --cpu 500m');
    }
    if (pools.length > 0 && selector !== undefined) {
      throw new NodepoolError('usage', '--pool and -l cannot be used together', 'use one of the two');
    }
    const of =
      pod !== undefined
        ? { pod }
        : requests !== undefined
          ? { requests }
          : { documents: await documentsOf(filename, flags.recursive, deps) };
    return show({ of, namespace, pools, selector, replicas }, { output, headers: !flags['no-headers'] }, deps);
  }
}

/** Undefined if none of the flags is set. Throws a usage error that names the flag. */
function requestsIn(flags: Record<'cpu' | 'memory' | 'gpu', string | undefined>): PodRequests | undefined {
  const { cpu, memory, gpu } = flags;
  if (cpu === undefined && memory === undefined && gpu === undefined) return undefined;
  checkQuantity('--cpu', cpu, '2 or 500m');
  checkQuantity('--memory', memory, '8Gi');
  if (gpu !== undefined && /^0+$/.test(gpu)) throw notPositive('--gpu', gpu);
  if (gpu !== undefined && !/^[1-9]\d{0,5}$/.test(gpu)) throw notAmount('--gpu', gpu, '1');
  return { cpu, memory, gpu };
}

function checkQuantity(flag: string, text: string | undefined, example: string): void {
  if (text === undefined) return;
  const quantity = /\d/.test(text) ? quantityOf(text) : undefined;
  if (quantity === undefined) throw notAmount(flag, text, example);
  if (quantity.unscaled <= 0n) throw notPositive(flag, text);
}

function notPositive(flag: string, text: string): NodepoolError {
  return new NodepoolError('usage', `${flag}: "${text}" is not more than 0`, `leave out ${flag}, or request more`);
}

function notAmount(flag: string, text: string, example: string): NodepoolError {
  return new NodepoolError('usage', `${flag}: "${text}" is not a quantity`, `write it like ${flag} ${example}`);
}

function checkPodName(pod: string): void {
  const parts = pod.split('/');
  if (parts.length > 2 || parts.includes('')) {
    throw new NodepoolError('usage', `"${pod}" is not a pod name`, 'write it like NAME or NAMESPACE/NAME');
  }
}

async function documentsOf(sources: string[], recursive: boolean, { io, requestTimeoutMs }: Deps) {
  const { readInput } = await import('../../cli/input.ts');
  return readInput(sources, io, { what: 'a pod or a workload', urlDeadlineMs: requestTimeoutMs, recursive });
}

async function show(
  options: FitOptions,
  { output, headers }: { output: 'json' | 'yaml' | undefined; headers: boolean },
  { io, connect, progress }: Deps,
): Promise<number> {
  const { fit } = await import('./run.ts');
  const connection = await connect();
  const spinner = await progress('Reading nodes and pods');
  const { fits, problems } = await fit(options, connection).finally(() => spinner.stop());
  for (const problem of firstWarnings(problems)) showWarning(io, problem);
  if (output !== undefined) {
    const { printFit } = await import('./print.ts');
    io.out(printFit(fits, output));
  } else {
    const { renderFit } = await import('./print.ts');
    const { makeStyle } = await import('../../print/style.ts');
    const columns = io.stdoutIsTTY ? io.columns : undefined;
    io.out(renderFit(fits, { headers, columns, replicas: options.replicas }, makeStyle(io.color)));
  }
  return fits.every(each => each.fits) ? EXIT.done : EXIT.error;
}
