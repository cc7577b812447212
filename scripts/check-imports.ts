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

/** The folders of src/; "main" is main.ts. */
const FOLDERS: Record<string, Folder> = {
  nodepool: { mayImport: [], rule: 'nodepool/ imports no other folder' },
  controller: { mayImport: [], rule: 'controller/ imports no other folder' },
  scheduling: { mayImport: ['nodepool'], rule: 'scheduling/ imports nodepool/ alone' },
  reconciler: { mayImport: ['nodepool', 'controller'], rule: 'reconciler/ imports controller/ and nodepool/ alone' },
  operations: {
    mayImport: ['reconciler', 'controller', 'scheduling', 'nodepool'],
    rule: 'operations/ know neither the command line, nor the Kubernetes client, nor what is shown',
  },
  render: {
    mayImport: ['operations', 'reconciler', 'scheduling', 'nodepool'],
    rule: 'render/ shows what nodepool/, scheduling/, reconciler/ and operations/ give',
  },
  kube: {
    mayImport: ['operations', 'reconciler', 'controller', 'scheduling', 'nodepool'],
    rule: 'kube/ imports nodepool/, scheduling/ and the ports alone',
  },
  view: {
    mayImport: ['operations', 'reconciler', 'controller', 'render', 'nodepool'],
    rule: 'view/ draws what operations/ and render/ give; it knows neither the command line nor the Kubernetes client',
  },
  cli: {
    mayImport: ['operations', 'reconciler', 'controller', 'render', 'scheduling', 'nodepool'],
    rule: 'cli/ does not import commands/, and kube/ only by await import() in its factory',
  },
  commands: {
    mayImport: ['cli', 'view', 'operations', 'reconciler', 'controller', 'render', 'scheduling', 'nodepool'],
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
    ...['objects.ts', 'list-reader.ts', 'frames.ts'],
    // Decoders of one client each.
    ...[
      'annotated-node.ts',
      'evicted-pod.ts',
      'examined-node.ts',
      'node-metrics.ts',
      'pod-demand.ts',
      'scheduled-pod.ts',
    ],
    'workloads.ts',
  ],
  proxy: ['proxy.ts', 'proxy-agent.ts'],
  auth: ['kubeconfig.ts', 'credentials.ts', 'login.ts', 'auth-info.ts'],
  transport: [
    ...['transport.ts', 'request.ts', 'answer.ts', 'stream.ts'],
    ...['request-log.ts', 'retry-after.ts', 'user-agent.ts'],
  ],
  // The clients that connect.ts joins, and names.ts for completion.
  resources: [
    ...[
      'api.ts',
      'controller-revisions.ts',
      'crd.ts',
      'doctor.ts',
      'events.ts',
      'evictions.ts',
      'kept-annotations.ts',
      'leases.ts',
      'maintenance.ts',
      'manifests.ts',
    ],
    ...['metrics.ts', 'names.ts', 'node-pools.ts', 'nodes.ts', 'placed-pods.ts', 'pod-demand.ts', 'pods.ts'],
    ...['impact.ts', 'reader-reviews.ts', 'runtime-classes.ts', 'scheduling.ts', 'server-facts.ts', 'workloads.ts'],
  ],
};
const KUBE_FOLDERS = Object.keys(DOORS);

/** Folders of which only types may be imported. */
const TYPES_ONLY: Record<string, string[]> = {
  kube: ['operations', 'reconciler', 'controller'],
  render: ['operations', 'reconciler'],
  view: ['operations', 'controller'],
};

/** Files of the controller runtime from which kube/ may import values too. */
const SHARED = ['clock', 'collect', 'continue-tokens', 'limiter'].map(name => `controller/${name}.ts`);

/** The ports that kube/ implements; also operations/*-port.ts, ports of a few commands each. */
const PORTS = [
  'operations/ports.ts',
  'reconciler/ports.ts',
  'controller/leader-election.ts',
  'controller/metrics-readers.ts',
  'controller/recorder.ts',
  'controller/source.ts',
];

/** Folders without input and output: they import no node: module. */
const PURE = ['nodepool', 'scheduling'];

/** The folders that may import each package. Every folder but those of PURE may import node: modules. */
const PACKAGES: Record<string, string[]> = {
  '@bufbuild/protobuf': ['kube'],
  '@kubernetes/client-node': ['kube'],
  '@oclif/core': ['cli', 'commands', 'main'],
  'cli-table3': ['render'],
  chalk: ['render'],
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
  if (from === to) return from === 'kube' ? kubeRule(file, target) : undefined;
  if (file === 'cli/factory.ts' && to === 'kube' && kind === 'dynamic') return kubeRule(file, target);
  if (!folder.mayImport.includes(to)) return folder.rule;
  if (from === 'kube' && SHARED.includes(target)) return undefined;
  if (from === 'kube' && to !== 'nodepool' && to !== 'scheduling' && !isPort(target)) return folder.rule;
  if (kind !== 'type' && TYPES_ONLY[from]?.includes(to)) return `${from}/ may import types of ${to}/ alone`;
  return undefined;
}

function kubeRule(file: string, target: string): string | undefined {
  const [from, to] = [file, target].map(path => KUBE_FOLDERS.indexOf(path.split('/')[1] ?? '')) as [number, number];
  if (from !== -1 && to > from)
    return `the folders of kube/ import in one direction: ${KUBE_FOLDERS.toReversed().join(' -> ')}`;
  const [, folder = '', name = ''] = target.split('/');
  const isDoor = to === -1 || to === from || DOORS[folder]?.includes(name);
  return isDoor ? undefined : `${name} is private to kube/${folder}/: see DOORS in scripts/check-imports.ts`;
}

function isPort(target: string): boolean {
  return PORTS.includes(target) || /^operations\/[a-z-]+-port\.ts$/.test(target);
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
