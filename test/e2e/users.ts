/** Users with few permissions. */
import type { ControlPlane } from '../cluster/control-plane.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from './watching.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** The kubeconfig of a user with a ClusterRole of these rules, once they count. @param name of the user, once a file */
export async function userWith(cluster: ControlPlane, name: string, rules: [Rule, ...Rule[]]): Promise<string> {
  const api = raw(cluster);
  await api.expect('POST', `${RBAC}/clusterroles`, { metadata: { name }, rules });
  await api.expect('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
  });
  const [{ apiGroups, resources, verbs }] = rules;
  const resourceAttributes = { group: apiGroups[0], resource: resources[0], verb: verbs[0] };
  await eventually(`the role of ${name} counts`, async () => {
    const review = { spec: { user: name, resourceAttributes } };
    const answer = await api.expect('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    return (answer as { status: { allowed: boolean } }).status.allowed;
  });
  return kubeconfigFor(cluster, name);
}
