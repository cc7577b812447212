/**
 * Whether mutating webhooks or admission policies may change a node while it is updated. Where none does, the answer to a
 * patch tells nothing new of spec and status, and can lack them: a whole node is 11 kB, and costs the server a fifth of the
 * time of the patch (docs/decisions/0048-metadata-answers.md).
 */
import type { Api } from '../api/api.ts';
import type { Resource } from '../api/resource.ts';

/** Patches of a connection after which asking takes less time than whole nodes. */
const MANY_PATCHES = 50;

const GROUP = 'admissionregistration.k8s.io';
const WEBHOOKS: Resource = {
  group: GROUP,
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
};
/** The newest first; Kubernetes 1.36 serves v1. */
const POLICY_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  operations?: string[];
}

interface Alterer {
  /** Of a webhook configuration. */
  webhooks?: { rules?: Rule[] }[];
  /** Of a policy. Whether it is bound is not asked: it can be meanwhile. */
  spec?: { matchConstraints?: { resourceRules?: Rule[] } };
}

export class NodeAlterers {
  readonly #api: Pick<Api, 'list' | 'isServed'>;
  #patches = 0;
  #areNone = false;
  #isAltered = false;

  constructor(api: Pick<Api, 'list' | 'isServed'>) {
    this.#api = api;
  }

  /**
   * Call before each patch of a node. True once it is known that nothing alters nodes; the question goes beside the patches
   * of a run that has many. False where the user may not read the answer.
   */
  areNone(): boolean {
    if (this.#patches++ === MANY_PATCHES) {
      this.#ask().then(
        areNone => {
          this.#areNone = areNone;
        },
        () => {},
      );
    }
    return this.#areNone && !this.#isAltered;
  }

  /** A node was not written as it was sent: a server can have webhooks and policies that its API does not show. */
  altered(): void {
    this.#isAltered = true;
  }

  async #ask(): Promise<boolean> {
    const [webhooks, policies] = await Promise.all([
      this.#api.list<Alterer, Alterer>(WEBHOOKS, asSent),
      this.#policies(),
    ]);
    const rules = [
      ...webhooks.flatMap(({ webhooks: each = [] }) => each.flatMap(({ rules = [] }) => rules)),
      ...policies.flatMap(({ spec }) => spec?.matchConstraints?.resourceRules ?? []),
    ];
    return !rules.some(matchesNodeUpdates);
  }

  async #policies(): Promise<Alterer[]> {
    for (const version of POLICY_VERSIONS) {
      const policies = { ...WEBHOOKS, version, plural: 'mutatingadmissionpolicies', kind: 'MutatingAdmissionPolicy' };
      if (await this.#api.isServed(policies)) return this.#api.list<Alterer, Alterer>(policies, asSent);
    }
    return [];
  }
}

function asSent(item: Alterer): Alterer {
  return item;
}

/** Versions, names and selectors are not looked at: they narrow a rule. */
function matchesNodeUpdates({ apiGroups = [], resources = [], operations = [] }: Rule): boolean {
  const names = (list: readonly string[], ...any: string[]) => any.some(each => list.includes(each));
  return (
    names(apiGroups, '', '*') && names(resources, 'nodes', 'nodes/*', '*', '*/*') && names(operations, 'UPDATE', '*')
  );
}
