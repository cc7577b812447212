/** Runs commands against a real control plane, by default in a process of their own. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cliHere } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { type RunOptions, type RunResult, run } from '../cluster/run.ts';
import { eventually } from './watching.ts';

/** Collections that commands may change; events are left out. */
const COLLECTIONS = [
  '/api/v1/nodes',
  '/apis/nodes.lailin.xyz/v1/nodepools',
  '/apis/node.k8s.io/v1/runtimeclasses',
  '/apis/apps/v1/namespaces/default/controllerrevisions',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
];

export async function stateOf(cluster: ControlPlane): Promise<Record<string, string[]>> {
  const entries = COLLECTIONS.map(async path => {
    const { body } = await raw(cluster).request('GET', path);
    const { items = [] } = body as { items?: { metadata: { name: string; resourceVersion: string } }[] };
    return [path, items.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).toSorted()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

export interface Commands {
  /** Runs one in this process; it must succeed with an empty stderr. Returns its stdout. */
  ok(args: readonly string[], options?: RunOptions): Promise<string>;
  /** Runs one in this process; it must exit with this code and these lines on stderr, print nothing on stdout and write nothing. */
  refused(args: readonly string[], code: number, stderr: string | RegExp, options?: RunOptions): Promise<void>;
  /** Runs one in this process; it must write nothing, whatever it prints. */
  unchanged(args: readonly string[], options?: RunOptions): Promise<RunResult>;
}

export function commandsOf(cluster: () => ControlPlane): Commands {
  const unchanged: Commands['unchanged'] = async (args, options) => {
    const before = await stateOf(cluster());
    const result = await cliHere(cluster(), args, options);
    assert.deepEqual(await stateOf(cluster()), before, `${args.join(' ')} wrote`);
    return result;
  };
  return {
    unchanged,
    async ok(args, options) {
      const { code, stdout, stderr } = await cliHere(cluster(), args, options);
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, args.join(' '));
      return stdout;
    },
    async refused(args, code, stderr, options) {
      const result = await unchanged(args, options);
      const said = result.stderr.trimEnd();
      if (typeof stderr === 'string') assert.equal(said, stderr, args.join(' '));
      else assert.match(said, stderr, args.join(' '));
      assert.deepEqual({ code: result.code, stdout: result.stdout }, { code, stdout: '' }, args.join(' '));
    },
  };
}

/** A YAML document of a pool. */
export function poolYaml(name: string, spec = '{}'): string {
  return `apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: ${name}\nspec:${spec.startsWith('\n') ? '' : ' '}${spec}\n`;
}

/**
 * An editor for KUBE_EDITOR: the nth time it is opened it keeps a copy of the file as `path.n` and runs the nth of
 * these shell commands, with the file as $f; after the last one it leaves the file alone.
 */
export async function scriptedEditor(cluster: ControlPlane, name: string, ...steps: string[]): Promise<string> {
  const path = join(cluster.dir, `editor-${name}`);
  const cases = steps.map((step, at) => `${at + 1}) ${step} ;;`).join('\n');
  await writeFile(
    path,
    `#!/bin/sh\nf=$1\nn=1\nwhile [ -e "$0.$n" ]; do n=$((n + 1)); done\ncp "$f" "$0.$n"\ncase $n in\n${cases}\nesac\n`,
  );
  await chmod(path, 0o755);
  return path;
}

/** The reason to skip a test where no terminal is available. */
export const NO_TERMINAL: string | undefined =
  process.platform === 'linux' && existsSync('/usr/bin/script') ? undefined : "needs util-linux's script";

/**
 * Runs the product in a pseudo-terminal and types.
 * @param size columns; 0 as on a terminal without a size
 * @returns the exit code and what the terminal showed, both streams
 */
export async function inTerminal(
  cluster: ControlPlane,
  args: readonly string[],
  typed: string,
  size = 80,
): Promise<{ code: number | null; shown: string }> {
  const quoted = [...productCommand(), ...args].map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const env = {
    PATH: process.env.PATH,
    HOME: cluster.dir,
    KUBECONFIG: cluster.kubeconfig,
    TERM: 'xterm',
    NO_COLOR: '1',
  };
  const command = `stty cols ${size}; exec ${quoted}`;
  const { code, stdout } = await run('script', ['-qec', command, '/dev/null'], {
    env,
    stdin: typed,
    timeoutMs: 20_000,
  });
  return { code, shown: stdout.replaceAll('\r\n', '\n') };
}

/** Gives a user these permissions; resolves once the last rule is in force. */
export async function allow(
  cluster: ControlPlane,
  user: string,
  rules: { apiGroups: [string]; resources: [string]; verbs: string[] }[],
): Promise<void> {
  const api = raw(cluster);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const metadata = { name: user };
  await api.expect('POST', `${rbac}/clusterroles`, { metadata, rules });
  await api.expect('POST', `${rbac}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
    subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
  });
  const { apiGroups: [group] = [''], resources: [resource] = [''] } = rules.at(-1) ?? {};
  const review = { spec: { user, resourceAttributes: { group, resource, verb: 'list' } } };
  await eventually(`the role of ${user} counts`, async () => {
    const answer = await api.expect('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    return (answer as { status: { allowed: boolean } }).status.allowed;
  });
}
