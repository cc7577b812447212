import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { checkImports, DOORS } from '../../scripts/check-imports.ts';
import { importCycles } from '../../scripts/import-cycles.ts';
import { importsOf } from '../../scripts/imports-of.ts';
import { projectFiles, ROOT } from '../../scripts/root.ts';

/** A temporary project of these files. */
function project(t: TestContext, files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'nodepool-imports-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

test('the sources import only in the allowed directions', () => {
  assert.deepEqual(checkImports(ROOT), []);
});

describe('reports a forbidden import', () => {
  const cases: [name: string, file: string, text: string, expected: string][] = [
    [
      'from nodepool/ to cli/',
      'src/nodepool/a.ts',
      "import type { Io } from '../cli/io.ts';",
      'src/nodepool/a.ts -> src/cli/io.ts: nodepool/ imports no other folder',
    ],
    [
      'import over several lines',
      'src/reconciler/a.ts',
      "import {\n  a,\n  b,\n} from '../kube/b.ts';",
      'src/reconciler/a.ts -> src/kube/b.ts: reconciler/ may import types of kube/ alone',
    ],
    [
      'a re-export',
      'src/controller/a.ts',
      "export * from '../nodepool/b.ts';",
      'src/controller/a.ts -> src/nodepool/b.ts: controller/ imports no other folder',
    ],
    [
      'the client outside kube/',
      'src/reconciler/a.ts',
      "import { KubeConfig } from '@kubernetes/client-node';",
      'src/reconciler/a.ts -> @kubernetes/client-node: only kube/ may import @kubernetes/client-node',
    ],
    [
      'kube/ from a command, dynamically',
      'src/commands/a.ts',
      "const { connect } = await import('../kube/connect.ts');",
      'src/commands/a.ts -> src/kube/connect.ts: commands/ may import types of kube/ alone',
    ],
    [
      'kube/ from the factory, statically',
      'src/cli/factory.ts',
      "import { connect } from '../kube/connect.ts';",
      'src/cli/factory.ts -> src/kube/connect.ts: cli/ may import types of kube/ alone',
    ],
    [
      'a value of kube/ in the reconciler',
      'src/reconciler/a.ts',
      "import { limit } from '../kube/cluster.ts';",
      'src/reconciler/a.ts -> src/kube/cluster.ts: reconciler/ may import types of kube/ alone',
    ],
    [
      'the reconciler in kube/',
      'src/kube/a.ts',
      "import type { ClusterState } from '../reconciler/state/cluster-state.ts';",
      'src/kube/a.ts -> src/reconciler/state/cluster-state.ts: kube/ imports controller/, scheduling/ and nodepool/ alone',
    ],
    [
      'another command',
      'src/commands/get/run.ts',
      "import { nodes } from '../nodes/run.ts';",
      'src/commands/get/run.ts -> src/commands/nodes/run.ts: a command imports commands/shared/ and no other command',
    ],
    [
      'a command in an engine of print/',
      'src/print/a.ts',
      "import type { A } from '../commands/get/print.ts';",
      'src/print/a.ts -> src/commands/get/print.ts: print/ has engines only: it imports nodepool/ alone',
    ],
    [
      'upwards from a folder of kube/',
      'src/kube/auth/a.ts',
      "import type { Transport } from '../transport/transport.ts';",
      'src/kube/auth/a.ts -> src/kube/transport/transport.ts: the folders of kube/ import in one direction: resources -> api -> transport -> auth -> proxy -> protobuf',
    ],
    [
      'upwards from a folder of reconciler/',
      'src/reconciler/limits/a.ts',
      "import { altered } from '../write/altered.ts';",
      'src/reconciler/limits/a.ts -> src/reconciler/write/altered.ts: the folders of reconciler/ import in one direction: write -> evict -> limits -> plan -> state',
    ],
    [
      'a private file of another folder of kube/',
      'src/kube/resources/a.ts',
      "import { decode } from '../protobuf/schema.ts';",
      'src/kube/resources/a.ts -> src/kube/protobuf/schema.ts: schema.ts is private to kube/protobuf/: see DOORS in scripts/check-imports.ts',
    ],
    [
      'a private file of kube/ in the factory',
      'src/cli/factory.ts',
      "const { Api } = await import('../kube/resources/list-names.ts');",
      'src/cli/factory.ts -> src/kube/resources/list-names.ts: list-names.ts is private to kube/resources/: see DOORS in scripts/check-imports.ts',
    ],
    [
      'a package of one folder of kube/ in another',
      'src/kube/auth/a.ts',
      "import { SocksClient } from 'socks';",
      'src/kube/auth/a.ts -> socks: only kube/proxy/ may import socks',
    ],
    [
      'an unknown package',
      'src/cli/a.ts',
      "import x from 'left-pad';",
      'src/cli/a.ts -> left-pad: a package that is not in the table of scripts/check-imports.ts',
    ],
    [
      'input or output in a pure folder',
      'src/nodepool/a.ts',
      "import { readFileSync } from 'node:fs';",
      'src/nodepool/a.ts -> node:fs: nodepool/ is pure: no node: module',
    ],
    [
      'a template',
      'src/reconciler/a.ts',
      'export const open = () => import(`../kube/b.ts`);',
      'src/reconciler/a.ts -> src/kube/b.ts: reconciler/ may import types of kube/ alone',
    ],
    [
      'the first of two imports on a line',
      'src/reconciler/a.ts',
      "export const open = () => [import('../kube/b.ts'), import('../nodepool/c.ts')];",
      'src/reconciler/a.ts -> src/kube/b.ts: reconciler/ may import types of kube/ alone',
    ],
    [
      'a computed import()',
      'src/reconciler/a.ts',
      'export const open = (name: string) => import(name);',
      'src/reconciler/a.ts: import() of something that is no plain string',
    ],
    [
      'createRequire',
      'src/reconciler/a.ts',
      "import { createRequire } from 'node:module';",
      'src/reconciler/a.ts: modules are loaded by import alone',
    ],
    [
      'a clock in a pure folder',
      'src/nodepool/a.ts',
      'export const now = () => Date.now();',
      'src/nodepool/a.ts: nodepool/ is pure: no process, clock, timer or chance',
    ],
    [
      'an unknown folder',
      'src/utils/a.ts',
      "import { b } from '../nodepool/b.ts';",
      'src/utils/a.ts -> src/nodepool/b.ts: utils/ is not in the table of scripts/check-imports.ts',
    ],
    [
      'src/kube/ in an example',
      'examples/count/main.ts',
      "import { Api } from '../../src/kube/api/api.ts';",
      'examples/count/main.ts -> src/kube/api/api.ts: examples/ import src/controller/, @kubernetes/client-node and node: modules alone',
    ],
    [
      'another package in an example',
      'examples/runtime.ts',
      "import yaml from 'js-yaml';",
      'examples/runtime.ts -> js-yaml: examples/ import src/controller/, @kubernetes/client-node and node: modules alone',
    ],
  ];
  for (const [name, file, text, expected] of cases) {
    test(name, t => assert.deepEqual(checkImports(project(t, { [file]: text })), [expected]));
  }
});

test('accepts allowed imports', t => {
  const root = project(t, {
    'src/main.ts':
      "import pjson from '../package.json' with { type: 'json' };\nimport { commands } from './commands/index.ts';",
    'src/cli/factory.ts': "export const open = () => import('../kube/connect.ts');",
    'src/kube/connect.ts':
      "import { KubeConfig } from '@kubernetes/client-node';\nimport type { Source } from '../controller/source.ts';",
    'src/kube/auth/a.ts': "import { proxyOf } from '../proxy/proxy.ts';\nimport { b } from './b.ts';",
    'src/kube/proxy/socks.ts': "import { SocksClient } from 'socks';",
    'src/commands/index.ts': "export const commands = { get: () => import('./get.ts') };",
    'examples/count/main.ts':
      "import { hostname } from 'node:os';\nimport { KubeConfig } from '@kubernetes/client-node';\nimport { systemClock } from '../../src/controller/clock.ts';\nimport { open } from '../runtime.ts';",
    'src/nodepool/a.ts':
      "// import { x } from '../cli/io.ts';\nimport { b } from './b.ts';\n/** await import('../kube/b.ts') */",
  });
  assert.deepEqual(checkImports(root), []);
});

test('other folders import each public file of a folder of kube/', () => {
  const sources = projectFiles('src/{kube,cli}/**/*.ts').map(file => ({
    folder: dirname(file),
    targets: importsOf(readFileSync(join(ROOT, file), 'utf8')).map(({ specifier }) =>
      posix.join(dirname(file), specifier),
    ),
  }));
  for (const [folder, names] of Object.entries(DOORS)) {
    const others = sources.filter(source => source.folder !== `src/kube/${folder}`);
    const imported = new Set(others.flatMap(({ targets }) => targets));
    assert.deepEqual(
      names.filter(name => !imported.has(`src/kube/${folder}/${name}`)),
      [],
    );
  }
});

test('finds import and re-export statements, but not in strings and comments', () => {
  const source = [
    "import 'a';",
    "import b, { type c } from 'b';",
    "export type { d } from 'd';",
    "const text = `import x from 'no'`;",
    "const e = await import('e');",
    "// import('no')",
  ].join('\n');
  assert.deepEqual(importsOf(source), [
    { specifier: 'b', kind: 'value' },
    { specifier: 'd', kind: 'type' },
    { specifier: 'a', kind: 'value' },
    { specifier: 'e', kind: 'dynamic' },
  ]);
});

test('reports an import cycle once, including type imports but not dynamic ones', t => {
  const root = project(t, {
    'src/a.ts': "import { b } from './sub/b.ts';",
    'src/sub/b.ts': "import type { c } from '../c.ts';",
    'src/c.ts': "export { b } from './sub/b.ts';",
    'src/d.ts': "const later = import('./e.ts');",
    'src/e.ts': "import { d } from './d.ts';",
  });
  const files = ['src/a.ts', 'src/c.ts', 'src/d.ts', 'src/e.ts', 'src/sub/b.ts'];
  assert.deepEqual(importCycles(root, files), ['imports in a cycle: src/sub/b.ts -> src/c.ts -> src/sub/b.ts']);
});
