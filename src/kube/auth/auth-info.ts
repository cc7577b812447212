/** Credentials of a user, from any source. */
export interface AuthInfo {
  /** PEM. */
  cert?: string | Buffer | undefined;
  key?: string | Buffer | undefined;
  /** The value of the Authorization header. */
  authorization?: string | undefined;
}

/** An exec plugin or an auth-provider. It caches its credentials until they expire. */
export interface AuthInfoSource {
  /** Throws NodepoolError that names the user. @param refused the server refused the last credentials (401) */
  authInfo(options: { refused: boolean }): Promise<AuthInfo>;
}

/** The environment of a login. */
export interface LoginSurroundings {
  env: Record<string, string | undefined>;
  /** Milliseconds since 1970. */
  now(): number;
  /** For interactive plugins. */
  terminal: Terminal;
  /** Terminates a running plugin. */
  signal: AbortSignal;
  /** Warnings have level 0; higher levels are for `-v`. */
  log: (level: number, text: () => string) => void;
}

export interface Terminal {
  /** File descriptors. */
  stdin: number;
  stderr: number | 'ignore';
  stdinIsTTY: boolean;
  /** Whether stdin was the input of `-f -`. */
  stdinIsSpent(): boolean;
  /** Called with true before a plugin writes to it, and with false when the plugin has exited. */
  onUse?(used: boolean): void;
}

/** For non-interactive logins. */
export const NO_TERMINAL: Terminal = { stdin: 0, stderr: 2, stdinIsTTY: false, stdinIsSpent: () => false };
