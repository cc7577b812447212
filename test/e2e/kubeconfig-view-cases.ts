/** Kubeconfigs that the product must read or refuse as kubectl does. */

const CA = Buffer.from('a certificate').toString('base64');

/** The content of each file. */
export const FILES: Record<string, string> = {
  one: `
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}, {name: b, context: {cluster: b, user: b, namespace: x}}]
clusters: [{name: a, cluster: {server: https://one-a}}, {name: b, cluster: {server: https://one-b}}]
users: [{name: a, user: {token: one-a}}, {name: b, user: {token: one-b}}]
`,
  two: `
current-context: c
contexts: [{name: c, context: {cluster: c, user: c}}, {name: a, context: {cluster: c, user: c}}]
clusters: [{name: c, cluster: {server: https://two-c}}, {name: b, cluster: {server: https://two-b, tls-server-name: two}}]
users: [{name: c, user: {username: u, password: p}}, {name: b, user: {token: two-b, as: two}}]
`,
  noCurrent: `
contexts: [{name: d, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: https://none-a}}]
users: [{name: a, user: {token: none-a}}]
`,
  'deep/all': `
current-context: all
contexts:
- {name: all, context: {cluster: all, user: all}}
- {name: exec, context: {cluster: all, user: exec}}
- {name: found, context: {cluster: all, user: found}}
- {name: absolute, context: {cluster: all, user: absolute}}
- {name: provider, context: {cluster: all, user: provider}}
clusters:
- name: all
  cluster:
    server: https://all:6443
    certificate-authority: pki/../ca.crt
    tls-server-name: other
    proxy-url: socks5://proxy:1
    disable-compression: true
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]
users:
- name: all
  user:
    client-certificate: ./c.crt
    client-key: ../c.key
    tokenFile: t
    as: someone
    as-uid: "7"
    as-groups: [g, h]
    as-user-extra: {k: [v, w]}
- name: exec
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: [x], interactiveMode: Never, provideClusterInfo: false}
- name: found
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: login}}
- name: absolute
  user: {tokenFile: /abs/t, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: /abs/login}}
- name: provider
  user: {auth-provider: {name: oidc, config: {idp-issuer-url: https://i, client-id: c}}}
`,
  data: `
current-context: data
contexts: [{name: data, context: {cluster: data, user: data}}]
clusters: [{name: data, cluster: {server: https://data, certificate-authority-data: ${CA}}}]
users: [{name: data, user: {client-certificate-data: ${CA}, client-key-data: ${CA}}}]
`,
  empties: `
current-context: ""
contexts: [{name: e, context: {cluster: e, user: ""}}, {name: f, context: {cluster: e, user: e}}]
clusters: [{name: e, cluster: {server: https://e, certificate-authority: "", tls-server-name: null, proxy-url: "", insecure-skip-tls-verify: true}}]
users: [{name: e, user: {token: "", as: "", exec: null, as-groups: [], username: null}}]
preferences: {}
`,
  json: '{"apiVersion":"v1","kind":"Config","current-context":"j","contexts":[{"name":"j","context":{"cluster":"j","user":"j"}}],"clusters":[{"name":"j","cluster":{"server":"http://j:8080"}}],"users":[{"name":"j","user":{"token":"j"}}]}',
  slash: `
current-context: s
contexts: [{name: s, context: {cluster: s, user: s}}]
clusters: [{name: s, cluster: {server: https://s/path/}}]
users: [{name: s, user: {}}]
`,
  anchors: `\uFEFFcurrent-context: a
contexts: [{name: a, context: {cluster: a, user: b}}]
clusters: [{name: a, cluster: &a {server: https://anchors, tls-server-name: other}}]
users: [{name: a, user: &u {token: t, as: x}}, {name: b, user: {<<: *u, as: z}}]
---
current-context: second
`,
  nothing: '',
  comment: '# nothing\n',
  badYaml: 'clusters: [{name: a\n',
  list: '- a\n',
  twice: '{clusters: [{name: a, cluster: {server: https://1}}, {name: a, cluster: {server: https://2}}]}',
  number: '{users: [{name: a, user: {token: 12}}]}',
  flag: '{clusters: [{name: a, cluster: {insecure-skip-tls-verify: "true"}}]}',
  groups: '{users: [{name: a, user: {as: x, as-groups: g}}]}',
  deployment: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}',
  version: '{apiVersion: v2, kind: Config}',
  dangling: '{current-context: gone, clusters: [{name: a, cluster: {server: https://a}}]}',
};

export type Case = [name: string, files: string[], flags?: { context: string }];

export const TABLE: Case[] = [
  ['a file', ['one']],
  ['two: the first wins', ['one', 'two']],
  ['a current context of a later file', ['noCurrent', 'two']],
  ['a context of a later file', ['one', 'two'], { context: 'c' }],
  ['a context, its cluster from the first file', ['one', 'two'], { context: 'b' }],
  ['its entries are not mixed', ['two', 'one'], { context: 'b' }],
  ['missing files', ['missing', 'one', 'missing2']],
  ['empty names', ['', 'one', '']],
  ['an empty file before', ['nothing', 'comment', 'one']],
  ['every field, relative paths', ['deep/all']],
  ['a relative command', ['deep/all'], { context: 'exec' }],
  ['a command to be found', ['deep/all'], { context: 'found' }],
  ['absolute paths', ['deep/all'], { context: 'absolute' }],
  ['an auth-provider', ['deep/all'], { context: 'provider' }],
  ['data', ['data']],
  ['empty values', ['empties'], { context: 'e' }],
  ['JSON', ['json']],
  ['a path', ['slash']],
  ['anchors, merge keys, a byte order mark, a second document', ['anchors']],
];

/** Files that kubectl refuses as well. */
export const REFUSED: Case[] = [
  ['YAML', ['badYaml']],
  ['a list', ['list']],
  ['a cluster twice in a file', ['twice', 'one']],
  ['a number for a token', ['one', 'number']],
  ['a text for a flag', ['one', 'flag']],
  ['a text for a list', ['one', 'groups']],
  ['another kind of object', ['one', 'deployment']],
  ['another version', ['version']],
  ['a current context that is not there', ['dangling']],
  ['a context that is not there', ['one'], { context: 'gone' }],
];

const PLUGIN = 'apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never';
/** Users and clusters that kubectl refuses to use, all but the first; test/unit/kube/auth/credentials-refused.test.ts has further ones. */
export const USES: [name: string, user: string, cluster?: string][] = [
  ['nothing is wrong', '{token: t, as: x}'],
  ['a certificate that is not there', '{client-certificate: nowhere, client-key: TEXT}'],
  ['a plugin without a command', `{exec: {${PLUGIN.replace('command: x, ', '')}}}`],
  ['a plugin of no version', `{exec: {${PLUGIN.replace(/^.*?, /, '')}}}`],
  ['a plugin of an old version', `{exec: {${PLUGIN.replace('v1', 'v1alpha1')}}}`],
  ['a plugin without interactiveMode', `{exec: {${PLUGIN.replace(', interactiveMode: Never', '')}}}`],
  ['a plugin of an unknown interactiveMode', `{exec: {${PLUGIN.replace('Never', 'Often')}}}`],
  ['a variable without a name', `{exec: {${PLUGIN}, env: [{value: x}]}}`],
  ['an auth-provider that was taken out', '{auth-provider: {name: gcp}}'],
  ['an auth-provider that is unknown', '{auth-provider: {name: x}}'],
  ['oidc without an issuer', '{auth-provider: {name: oidc, config: {client-id: c}}}'],
  ['groups without a user', '{token: t, as-groups: [g]}'],
  ['a UID without a user', '{token: t, as-uid: u}'],
  ['two authorities', '{token: t}', `{server: SERVER, certificate-authority: TEXT, certificate-authority-data: ${CA}}`],
  [
    'an authority, and no check',
    '{token: t}',
    `{server: SERVER, certificate-authority-data: ${CA}, insecure-skip-tls-verify: true}`,
  ],
  ['an authority that is not there', '{token: t}', '{server: SERVER, certificate-authority: nowhere}'],
  ['a proxy of another kind', '{token: t}', '{server: SERVER, proxy-url: "ftp://p"}'],
];
