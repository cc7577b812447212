/** Checks the directions of imports between folders (docs/architecture.md), and that no imports form a cycle. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importCycles } from './import-cycles.ts';
import { type Import, importsOf } from './imports-of.ts';
import { projectFiles } from './root.ts';

interface Folder {
  /** The folders that it may import. */
  mayImport: string[];
  /** The error message of a wrong import. */
  rule: string;
}

/** The folders of src/; "main" is main.ts. A folder imports those above it alone. */
const FOLDERS: Record<string, Folder> = {
  nodepool: { mayImport: [], rule: 'nodepool/ imports no other folder' },
  controller: { mayImport: [], rule: 'controller/ imports no other folder' },
  scheduling: { mayImport: ['nodepool'], rule: 'scheduling/ imports nodepool/ alone' },
  kube: {
    mayImport: ['controller', 'scheduling', 'nodepool'],
    rule: 'kube/ imports controller/, scheduling/ and nodepool/ alone',
  },
  reconciler: {
    mayImport: ['kube', 'controller', 'nodepool'],
    rule: 'reconciler/ imports types of kube/, controller/ and nodepool/ alone',
  },
  print: { mayImport: ['nodepool'], rule: 'print/ has engines only: it imports nodepool/ alone' },
  cli: {
    mayImport: ['print', 'kube', 'controller', 'nodepool'],
    rule: 'cli/ does not import commands/, and kube/ only by await import() in its factory',
  },
  view: {
    mayImport: ['print', 'kube', 'reconciler', 'controller', 'nodepool'],
    rule: 'view/ draws what commands/shared/ gives; it knows neither the command line nor the Kubernetes client',
  },
  commands: {
    mayImport: ['cli', 'view', 'print', 'kube', 'reconciler', 'controller', 'scheduling', 'nodepool'],
    rule: 'commands/ reach kube/ through deps.connect() alone',
  },
  main: { mayImport: ['cli', 'commands', 'nodepool'], rule: 'main.ts joins cli/ and commands/' },
};

/**
 * The folders of kube/ with the files that others may import; the headers of these files say what they promise. Each
 * folder may import those before it; the files directly in kube/ may import all.
 */
export const DOORS: Record<string, string[]> = {
  protobuf: [
    ...['objects.ts', 'list-reader.ts'],
    // Decoders of one client each.
    ...['nodes.ts', 'evicted-pod.ts', 'pod-demand.ts', 'scheduled-pod.ts'],
    'workloads.ts',
  ],
  proxy: ['proxy.ts', 'proxy-agent.ts'],
  auth: ['kubeconfig.ts', 'credentials.ts', 'auth-info.ts', 'tls-material.ts'],
  transport: ['transport.ts', 'request.ts', 'response.ts', 'stream.ts', 'request-log.ts'],
  // One request: how it is sent, what its answer means.
  api: ['access-reviews.ts', 'api.ts', 'discovery.ts', 'page.ts', 'resource.ts', 'status.ts', 'watch.ts'],
  // The clients that connect.ts joins, and names.ts for completion.
  resources: [
    ...['controller-revisions.ts', 'crd.ts', 'doctor.ts', 'events.ts', 'evictions.ts', 'impact.ts'],
    ...['kept-annotations.ts', 'leases.ts', 'maintenance.ts', 'manifests.ts', 'metrics.ts', 'names.ts'],
    ...['node-pools.ts', 'nodes.ts', 'pod-demand.ts', 'pods.ts', 'runtime-classes.ts', 'scheduling.ts', 'workloads.ts'],
  ],
};
const KUBE_FOLDERS = Object.keys(DOORS);

/** The folders of reconciler/. Each may import those before it, and the files directly in reconciler/. */
const RECONCILER_FOLDERS = ['state', 'plan', 'limits', 'evict', 'write'];

/** Files of the controller runtime from which kube/ may import values; of others, types alone. */
const SHARED = ['clock', 'collect', 'continue-tokens', 'limiter'].map(name => `controller/${name}.ts`);

/** Folders without input and output: they import no node: module. */
const PURE = ['nodepool', 'scheduling'];

/** The folders that may import each package. Every folder but those of PURE may import node: modules. */
export const PACKAGES: Record<string, string[]> = {
  '@bufbuild/protobuf': ['kube'],
  '@kubernetes/client-node': ['kube'],
  '@oclif/core': ['cli', 'commands', 'main'],
  'cli-table3': ['print'],
  chalk: ['print'],
  ink: ['view'],
  'js-yaml': ['cli', 'kube'],
  ora: ['cli'],
  react: ['view'],
  socks: ['kube/proxy'],
};

/** The examples show that the runtime works without the rest of the product, with the official client. */
const EXAMPLES_RULE = 'examples/ import src/controller/, @kubernetes/client-node and node: modules alone';

/** Side effects that nodepool/ must not have. */
const IMPURE = /\b(?:process\.|performance\.|Date\.now\(|new Date\(\)|Math\.random\(|set(?:Timeout|Interval)\()/;
const CREATE_REQUIRE = /\bcreateRequire\b/;

/** One line for each wrong import below a directory that has src/ or examples/. */
export function checkImports(root: string): string[] {
  return [...checkSources(join(root, 'src')), ...checkExamples(join(root, 'examples'))];
}

function checkSources(src: string): string[] {
  return sourceFiles(src).flatMap(file => {
    const source = readFileSync(join(src, file), 'utf8');
    const lines = codeOf(source);
    const isImpure = folderOf(file) === 'nodepool' && lines.some(line => IMPURE.test(line));
    const wrong = [
      ...(isImpure ? [`src/${file}: nodepool/ is pure: no process, clock, timer or chance`] : []),
      ...(lines.some(line => CREATE_REQUIRE.test(line)) ? [`src/${file}: modules are loaded by import alone`] : []),
    ];
    const wrongImports = importsOf(source).flatMap(({ specifier, kind }) => {
      if (specifier === '') return [`src/${file}: import() of something that is no plain string`];
      const target = specifier.startsWith('.')
        ? join('src', dirname(file), specifier).replaceAll('\\', '/')
        : specifier;
      const inside = target.startsWith('src/');
      // package.json and the oclif manifest, which main.ts imports.
      if (specifier.startsWith('.') && !inside) return [];
      const rule = inside ? importRule(file, target.slice('src/'.length), kind) : packageRule(file, specifier);
      return rule === undefined ? [] : [`src/${file} -> ${target}: ${rule}`];
    });
    return [...wrong, ...wrongImports];
  });
}

function checkExamples(examples: string): string[] {
  return sourceFiles(examples).flatMap(file =>
    importsOf(readFileSync(join(examples, file), 'utf8')).flatMap(({ specifier }) => {
      const target = specifier.startsWith('.')
        ? join('examples', dirname(file), specifier).replaceAll('\\', '/')
        : specifier;
      const isAllowed = /^(?:examples\/|src\/controller\/|node:|@kubernetes\/client-node$)/.test(target);
      return isAllowed ? [] : [`examples/${file} -> ${target}: ${EXAMPLES_RULE}`];
    }),
  );
}

/** The lines without comments. */
function codeOf(source: string): string[] {
  return source.split('\n').filter(line => !/^\s*(?:\*|\/\/|\/\*)/.test(line));
}

/** The TypeScript files of a folder, with forward slashes, sorted; empty when the folder does not exist. */
function sourceFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true }).map(file => String(file).replaceAll('\\', '/'));
  return files.filter(file => file.endsWith('.ts')).sort();
}

function folderOf(file: string): string {
  return file === 'main.ts' ? 'main' : (file.split('/', 1)[0] ?? '');
}

function importRule(file: string, target: string, kind: Import['kind']): string | undefined {
  const [from, to] = [folderOf(file), folderOf(target)];
  const folder = FOLDERS[from];
  if (folder === undefined) return `${from}/ is not in the table of scripts/check-imports.ts`;
  if (from === to && from === 'kube') return kubeRule(file, target);
  if (from === to && from === 'reconciler') return reconcilerRule(file, target);
  if (from === to) return from === 'commands' ? commandRule(file, target, kind) : undefined;
  if (to === 'kube' && kind === 'dynamic' && file === 'cli/factory.ts') return kubeRule(file, target);
  if (from === 'cli' && to === 'commands' && kind === 'dynamic' && file === 'cli/base-command.ts') return undefined;
  if (from === 'view' && target.startsWith('commands/shared/')) return undefined;
  if (!folder.mayImport.includes(to)) return folder.rule;
  if (from === 'kube' && to === 'controller' && kind !== 'type' && !SHARED.includes(target)) return folder.rule;
  if (to === 'kube' && kind !== 'type') return `${from}/ may import types of kube/ alone`;
  return undefined;
}

/** Commands that the dashboard runs on the terminal. */
const RUN_BY_VIEW: readonly unknown[] = ['drain', 'reconcile', 'cordon', 'uncordon'];

/** Helpers of a command are in its folder, those of several in commands/shared/. */
function commandRule(file: string, target: string, kind: Import['kind']): string | undefined {
  const [from, to] = [file, target].map(path => path.split('/')[1]);
  if (from === 'view' && RUN_BY_VIEW.includes(to) && kind === 'dynamic') return undefined;
  if (from === to || to === 'shared' || file === 'commands/index.ts') return undefined;
  return 'a command imports commands/shared/ and no other command';
}

function reconcilerRule(file: string, target: string): string | undefined {
  const [from, to] = [file, target].map(path => RECONCILER_FOLDERS.indexOf(path.split('/')[1] ?? '')) as [
    number,
    number,
  ];
  if (from === -1 || to <= from) return undefined;
  return `the folders of reconciler/ import in one direction: ${RECONCILER_FOLDERS.toReversed().join(' -> ')}`;
}

function kubeRule(file: string, target: string): string | undefined {
  const [from, to] = [file, target].map(path => KUBE_FOLDERS.indexOf(path.split('/')[1] ?? '')) as [number, number];
  if (from !== -1 && to > from)
    return `the folders of kube/ import in one direction: ${KUBE_FOLDERS.toReversed().join(' -> ')}`;
  const [, folder = '', name = ''] = target.split('/');
  const isDoor = to === -1 || to === from || DOORS[folder]?.includes(name);
  return isDoor ? undefined : `${name} is private to kube/${folder}/: see DOORS in scripts/check-imports.ts`;
}

function packageRule(file: string, specifier: string): string | undefined {
  const folder = folderOf(file);
  if (specifier.startsWith('node:')) {
    return PURE.includes(folder) ? `${folder}/ is pure: no node: module` : undefined;
  }
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const allowed = PACKAGES[name];
  if (allowed === undefined) return 'a package that is not in the table of scripts/check-imports.ts';
  const isAllowed = allowed.some(place => place === folder || file.startsWith(`${place}/`));
  return isAllowed ? undefined : `only ${allowed.map(each => `${each}/`).join(', ')} may import ${name}`;
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const wrong = [...checkImports(root), ...importCycles(root, projectFiles('{src,bin,test,scripts,examples}/**/*.ts'))];
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) process.exitCode = 1;
}
