/**
 * A kubeconfig for that server, as JSON.
 * @param user its credentials, as in a kubeconfig
 * @param ca PEM of who signed the server's certificate
 */
export function kubeconfigOf(server: string, user: object, ca?: string): string {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proxy',
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'user' } }],
    clusters: [{ name: 'proxy', cluster: { server, ...authority } }],
    users: [{ name: 'user', user }],
  });
}
