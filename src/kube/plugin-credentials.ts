/**
 * Credentials from exec plugins and auth-providers (oidc, azure, gcp), by client-node's KubeConfig.
 *
 * A file of its own with a static import: a bundler then takes KubeConfig alone, and a small verb loads none of it.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { NodepoolError } from '../nodepool/errors.ts';
import type { UserEntry } from './kubeconfig-file.ts';

/** What proves who we are, wherever it was read. */
export interface Proof {
  cert?: string | Buffer | undefined;
  key?: string | Buffer | undefined;
  authorization?: string | undefined;
}

/** One user's exec plugin or auth-provider. What a plugin gave is kept until its expirationTimestamp, by KubeConfig. */
export class Plugin {
  readonly #user: UserEntry;
  #config: KubeConfig;

  constructor(user: UserEntry) {
    this.#user = user;
    this.#config = configOf(user);
  }

  /**
   * What the plugin gives, and what stands beside it in the kubeconfig for what it does not give.
   * @param own the latter
   * @param refused runs the plugin again, since the server refused what it gave
   */
  async proof(own: Proof, { refused }: { refused: boolean }): Promise<Proof> {
    const user = this.#user;
    if (refused) this.#config = configOf(user);
    const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {};
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      const command = typeof user.exec?.command === 'string' ? `the plugin ${user.exec.command}` : 'the auth-provider';
      throw new NodepoolError(
        'cluster',
        `${command} gave no credentials for user "${user.name}": ${(error as Error).message.trim()}`,
        'log in again with that tool',
        { cause: error },
      );
    }
    const headers = new Headers(options.headers as Record<string, string>);
    return {
      cert: textOrBuffer(options.cert) ?? own.cert,
      key: textOrBuffer(options.key) ?? own.key,
      authorization: headers.get('Authorization') ?? own.authorization,
    };
  }
}

function configOf(user: UserEntry): KubeConfig {
  const config = new KubeConfig();
  // The cluster given here is never spoken to: only the user's part of the answer is taken.
  config.loadFromOptions({
    clusters: [{ name: 'cluster', server: 'https://cluster.invalid', skipTLSVerify: false }],
    users: [user],
    contexts: [{ name: 'context', cluster: 'cluster', user: user.name }],
    currentContext: 'context',
  });
  return config;
}

function textOrBuffer(value: unknown): string | Buffer | undefined {
  return typeof value === 'string' || Buffer.isBuffer(value) ? value : undefined;
}
