/** Every key of `view` in a terminal of two sizes, with the names that clouds give. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EKS } from '../cloud-names.ts';
import { createCloudCluster } from './cloud-cluster.ts';
import { openTerminal, type Terminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const SIZES = [
  [80, 24],
  [200, 50],
] as const;

/** Types keys and waits; remembers which were tried. */
function keyboard(terminal: Terminal) {
  const tried = new Set<string>();
  const press = async (key: string, what: RegExp) => {
    tried.add(key.replaceAll(/[{}]/g, ''));
    terminal.type(key);
    return terminal.shows(what);
  };
  return { tried, press };
}

test('each key of the help works at two sizes', async t => {
  await createCloudCluster(testEnv);
  const [eks = '', second = ''] = EKS;
  for (const [columns, rows] of SIZES) {
    const size = `${columns}x${rows}`;
    const terminal = openTerminal(t, cluster(), ['view'], { columns, rows, env: { NO_COLOR: '1' } });
    const { tried, press } = keyboard(terminal);
    await terminal.shows(/^>backend .*\n[\s\S]*q quit/m);

    // A pool.
    await press('j', /^>frontend /m);
    await press('k', /^>backend /m);
    await press('G', /^>frontend /m);
    await press('g', /^>backend /m);
    await press('{down}', /^>frontend /m);
    await press('{up}', /^>backend /m);
    await press('d', /^Pools > backend > Describe[\s\S]*^Name: +backend$/m);
    await press('q', /^>backend /m);
    await press('y', /^Pools > backend > YAML[\s\S]*^kind: NodePool$/m);
    await press('{esc}', /^>backend /m);
    await press('p', /^Pools > backend > Pods[\s\S]*^No pods$/m);
    await press('{left}', /^>backend /m);
    await press('=', /^Pools > backend > Diff[\s\S]*^reconcile would change nothing in pool backend$/m);
    await press('q', /^>backend /m);
    await press('t', / CPU REQ .*\n>backend .* 0%/m);
    await press('C', / CPU REQ[↑↓]/);
    await press('V', /^V sorts by used resources, which are unknown/m);
    await press('W', /^W sorts by used resources/m);
    await press('t', / ↓?CPU +MEMORY /);
    for (const key of ['M', 'P', 'S', 'A', 'Z', 'R', 'X', 'B', 'F', 'T', 'Y', 'K', 'U', 'N']) {
      tried.add(key);
      terminal.type(key);
    }
    await terminal.shows(/ NAME[↑↓]/);
    await press('e', /^Pools > (backend|frontend) > Events/m);
    await press('L', / LAST SEEN[↑↓]/);
    await press('O', /^Pools > /m);
    await press('q', /^Pools \(2\)/m);
    await press('E', /^Pools > Events/m);
    await press('q', /^Pools \(2\)/m);
    await press('/', /^\/█$/m);
    await press('fron{enter}', /^Pools \(1 of 2\)/m);
    await press('{esc}', /^Pools \(2\)/m);
    await press('w', /^w says why a node is in its pool: select a node first$/m);
    await press(':', /^:█ {2}pools {2}nodes {2}pods {2}events$/m);
    await press('pods{enter}', /^Pools > Pods[\s\S]*web-6d4cf56db6-2xkvp +0\/1 /m);
    await press(':', /^:█/m);
    await press('pools{enter}', /^Pools \(2\)/m);
    await press('g', /^>backend /m);
    await press('r', /^This reconciles pool backend on cluster nodepool-demo\.[\s\S]*reconcile backend$/m);
    await press('{enter}', /Press enter to return/);
    await press('{enter}', /^>backend /m);
    await press('D', /^This drains all nodes of pool backend on cluster nodepool-demo\.[\s\S]*drain backend$/m);
    await press('{esc}', /^>backend /m);
    await press('c', /^This cordons all nodes of pool backend on cluster nodepool-demo\.[\s\S]*cordon backend$/m);
    await press('{esc}', /^>backend /m);
    await press('u', /^This uncordons all nodes of pool backend on cluster nodepool-demo\.[\s\S]*uncordon backend$/m);
    await press('{esc}', /^>backend /m);

    // The nodes of a pool.
    await press('{enter}', /^Pools > backend > Nodes[\s\S]*^>gke-/m);
    assertNames(terminal, 'gke-', size);
    await press('q', /^>backend /m);
    await press('j', /^>frontend /m);
    await press('{right}', /^Pools > frontend > Nodes[\s\S]*^>ip-10-0-1-10/m);
    assertNames(terminal, 'ip-', size);
    for (const key of ['S', 'T', 'I', 'C', 'M', 'P', 'Z', 'Y', 'X', 'A', 'N', 'N', 'N', 'g', ' ', 'g']) {
      tried.add(key === ' ' ? 'space' : key);
      terminal.type(key);
    }
    await terminal.shows(/^ NAME↑[\s\S]*^>ip-10-0-1-10/m);
    const whole = (name: string) => name.replaceAll('.', '\\.');
    await press('c', new RegExp(`^Cordon node ${whole(eks)}\\?`, 'm'));
    await press('y', new RegExp(`^node/${whole(eks)} cordoned$`, 'm'));
    await press('u', new RegExp(`^Uncordon node ${whole(eks)}\\?`, 'm'));
    await press('y', new RegExp(`^node/${whole(eks)} uncordoned$`, 'm'));
    await press('p', /Pods[\s\S]*^default +web-6d4cf56db6-2xkvp +0\/1 /m);
    await press('q', /^>ip-10-0-1-10/m);
    await press('d', new RegExp(`^Name: +${whole(eks)}$`, 'm'));
    await press('q', /^>ip-10-0-1-10/m);
    await press('w', new RegExp(`^node ${whole(eks)} is in pool frontend$`, 'm'));
    await press('q', /^>ip-10-0-1-10/m);
    await press('=', /^Pools > frontend > Diff/m);
    await press('q', /^>ip-10-0-1-10/m);
    await press('r', /^This reconciles pool frontend on cluster nodepool-demo\./m);
    await press('{esc}', /^>ip-10-0-1-10/m);
    await press('j', /^>ip-10-0-1-11/m);
    await press('D', new RegExp(`^This drains node ${whole(second)} of pool frontend on`, 'm'));
    await press('{esc}', /^>ip-10-0-1-11/m);
    await press('{enter}', new RegExp(`^Name: +${whole(second)}$`, 'm'));
    await press('{ctrl-l}', new RegExp(`^Name: +${whole(second)}$`, 'm'));
    await press('q', /^>ip-10-0-1-11/m);

    // The nodes of all pools.
    await press(':', /^:█/m);
    await press('nodes{enter}', /^Pools > Nodes[\s\S]*^ NAME↑ +POOL [\s\S]*^>gke-[^ ]+ +backend /m);
    await press('O', / POOL[↑↓]/);
    await press('q', /^Pools \(2\)/m);
    const help = await press('?', /^Help/m);
    const keys = help
      .split('\n')
      .slice(3, -2)
      .flatMap(line => line.slice(0, 18).trim().split(/ +/))
      .filter(key => key !== '' && !/[█▒░]/.test(key));
    const names: Record<string, string> = { '↑': 'up', '↓': 'down', '→': 'right', '←': 'left' };
    tried.add('ctrl-c');
    assert.deepEqual(
      keys.filter(key => !tried.has(names[key] ?? key)),
      [],
      `${size}: keys of the help that were not tried`,
    );
    await press('q', /^Pools \(2\)/m);
    terminal.type('{ctrl-c}');
    assert.equal((await terminal.exit).exitCode, 0);
  }
});

/** All 18 nodes are on the screen, and no two read alike. */
function assertNames(terminal: Terminal, begin: string, size: string): void {
  const screen = terminal.screen();
  const names = screen
    .split('\n')
    .flatMap(line => (line.slice(1).startsWith(begin) ? [line.slice(1).split(' ')[0]] : []));
  assert.deepEqual([names.length, new Set(names).size], [18, 18], `${size}\n${screen}`);
}
