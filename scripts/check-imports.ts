/** Fails on an import against the direction of the rooms (docs/architecture.md). Cycles are Biome's noImportCycles. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Room {
  /** The rooms it may import. */
  rooms: string[];
  /** What is said of a wrong arrow out of it. */
  rule: string;
}

/** A room is a folder of src/; main.ts, which joins all, is the room "main". */
const ROOMS: Record<string, Room> = {
  nodepool: { rooms: [], rule: 'nodepool/ imports nothing of ours' },
  controller: { rooms: [], rule: 'controller/ imports nothing of ours' },
  reconciler: { rooms: ['nodepool', 'controller'], rule: 'reconciler/ imports controller/ and nodepool/ alone' },
  operations: {
    rooms: ['reconciler', 'controller', 'nodepool'],
    rule: 'operations/ know neither the command line, nor the Kubernetes client, nor what is shown',
  },
  render: {
    rooms: ['operations', 'reconciler', 'nodepool'],
    rule: 'render/ shows what nodepool/, reconciler/ and operations/ give',
  },
  kube: {
    rooms: ['operations', 'reconciler', 'controller', 'nodepool'],
    rule: 'kube/ imports nodepool/ and the ports alone',
  },
  view: {
    rooms: ['operations', 'reconciler', 'controller', 'render', 'nodepool'],
    rule: 'view/ draws what operations/ and render/ give; it knows neither the command line nor the Kubernetes client',
  },
  cli: {
    rooms: ['operations', 'reconciler', 'controller', 'render', 'nodepool'],
    rule: 'cli/ does not import commands/, and kube/ only by await import() in its factory',
  },
  commands: {
    rooms: ['cli', 'view', 'operations', 'reconciler', 'controller', 'render', 'nodepool'],
    rule: 'commands/ reach kube/ through deps.connect() alone',
  },
  main: { rooms: ['cli', 'commands', 'nodepool'], rule: 'main.ts joins cli/ and commands/' },
};

/** The folders of kube/, each of which imports those before it alone; its own files, which join them, import all. */
const KUBE_FOLDERS = ['protobuf', 'proxy', 'auth', 'transport', 'resources'];

/** Arrows that may carry types alone. */
const TYPES_ONLY: Record<string, string[]> = {
  kube: ['operations', 'reconciler', 'controller'],
  render: ['operations', 'reconciler'],
  view: ['operations', 'controller'],
};

/** What is the same for all: kube/ takes time and the limit of what runs at once from the runtime, values too. */
const SHARED = ['controller/clock.ts', 'controller/limiter.ts', 'controller/collect.ts'];

/** The files of another room that kube/ may know; and operations/*-port.ts, a port of a few verbs each. */
const PORTS = [
  'operations/ports.ts',
  'reconciler/ports.ts',
  'controller/leader-election.ts',
  'controller/recorder.ts',
  'controller/source.ts',
];

/** Packages, and who may import them. node: modules are free, but the pure rooms have none that touch the world. */
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

/** They show that the runtime works without the rest of the product, with the client that everybody has. */
const EXAMPLES_RULE = 'examples/ import src/controller/, @kubernetes/client-node and node: modules alone';

const FROM = /^(?:import|export)\b(\s+type\b)?[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]/gm;
const BARE = /^import\s*['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*(?:['"`]([^'"`$]+)['"`]\s*\))?/g;
/** What the pure room would have to ask the world for, and loading by the back door. */
const IMPURE = /\b(?:process\.|performance\.|Date\.now\(|new Date\(\)|Math\.random\(|set(?:Timeout|Interval)\()/;
const BACK_DOOR = /\bcreateRequire\b/;

interface Import {
  specifier: string;
  kind: 'value' | 'type' | 'dynamic';
}

/** The wrong arrows below a directory that has src/ or examples/, a line each. */
export function checkImports(root: string): string[] {
  return [...checkSources(join(root, 'src')), ...checkExamples(join(root, 'examples'))];
}

function checkSources(src: string): string[] {
  return sourceFiles(src).flatMap(file => {
    const source = readFileSync(join(src, file), 'utf8');
    const lines = codeOf(source);
    const isImpure = roomOf(file) === 'nodepool' && lines.some(line => IMPURE.test(line));
    const wrong = [
      ...(isImpure ? [`src/${file}: nodepool/ is pure: no process, clock, timer or chance`] : []),
      ...(lines.some(line => BACK_DOOR.test(line)) ? [`src/${file}: modules are loaded by import alone`] : []),
    ];
    const arrows = importsOf(source).flatMap(({ specifier, kind }) => {
      if (specifier === '') return [`src/${file}: import() of something that is no plain string`];
      const target = specifier.startsWith('.')
        ? join('src', dirname(file), specifier).replaceAll('\\', '/')
        : specifier;
      const inside = target.startsWith('src/');
      // Outside src/ are package.json and the manifest, which main.ts joins.
      if (specifier.startsWith('.') && !inside) return [];
      const rule = inside ? arrowRule(file, target.slice('src/'.length), kind) : packageRule(file, specifier);
      return rule === undefined ? [] : [`src/${file} -> ${target}: ${rule}`];
    });
    return [...wrong, ...arrows];
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

/** The lines that are no comment. */
function codeOf(source: string): string[] {
  return source.split('\n').filter(line => !/^\s*(?:\*|\/\/|\/\*)/.test(line));
}

/** The files of a folder, with forward slashes, sorted; none of one that is not there. */
function sourceFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true }).map(file => String(file).replaceAll('\\', '/'));
  return files.filter(file => file.endsWith('.ts')).sort();
}

function roomOf(file: string): string {
  return file === 'main.ts' ? 'main' : (file.split('/', 1)[0] ?? '');
}

function arrowRule(file: string, target: string, kind: Import['kind']): string | undefined {
  const [from, to] = [roomOf(file), roomOf(target)];
  const room = ROOMS[from];
  if (room === undefined) return `${from}/ is not in the table of scripts/check-imports.ts`;
  if (from === to) return from === 'kube' ? kubeRule(file, target) : undefined;
  if (file === 'cli/factory.ts' && to === 'kube' && kind === 'dynamic') return undefined;
  if (!room.rooms.includes(to)) return room.rule;
  if (from === 'kube' && SHARED.includes(target)) return undefined;
  if (from === 'kube' && to !== 'nodepool' && !isPort(target)) return room.rule;
  if (kind !== 'type' && TYPES_ONLY[from]?.includes(to)) return `${from}/ may import types of ${to}/ alone`;
  return undefined;
}

function kubeRule(file: string, target: string): string | undefined {
  const [from, to] = [file, target].map(path => KUBE_FOLDERS.indexOf(path.split('/')[1] ?? '')) as [number, number];
  if (from === -1 || to <= from) return undefined;
  return `the folders of kube/ import in one direction: ${KUBE_FOLDERS.toReversed().join(' -> ')}`;
}

function isPort(target: string): boolean {
  return PORTS.includes(target) || /^operations\/[a-z-]+-port\.ts$/.test(target);
}

function packageRule(file: string, specifier: string): string | undefined {
  const room = roomOf(file);
  if (specifier.startsWith('node:')) {
    return room === 'nodepool' ? 'nodepool/ is pure: no node: module' : undefined;
  }
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const allowed = PACKAGES[name];
  if (allowed === undefined) return 'a package that is not in the table of scripts/check-imports.ts';
  const isAllowed = allowed.some(place => place === room || file.startsWith(`${place}/`));
  return isAllowed ? undefined : `only ${allowed.map(each => `${each}/`).join(', ')} may import ${name}`;
}

/** Every import and re-export of a module. Statements begin a line; a line of a comment never does so. */
export function importsOf(source: string): Import[] {
  const found: Import[] = [];
  for (const [, typed, specifier = ''] of source.matchAll(FROM))
    found.push({ specifier, kind: typed ? 'type' : 'value' });
  for (const [, specifier = ''] of source.matchAll(BARE)) found.push({ specifier, kind: 'value' });
  for (const { 1: specifier = '', index } of source.matchAll(DYNAMIC)) {
    const before = source.slice(source.lastIndexOf('\n', index) + 1, index);
    if (!/^\s*\*|\/\/|\/\*/.test(before)) found.push({ specifier, kind: 'dynamic' });
  }
  return found;
}

if (import.meta.main) {
  const wrong = checkImports(fileURLToPath(new URL('..', import.meta.url)));
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) process.exitCode = 1;
}
