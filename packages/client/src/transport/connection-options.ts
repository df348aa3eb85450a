import type { CredentialSource } from "./credentials.ts";

/** How to reach one API server as one user. PEM texts throughout. */
export interface ConnectionOptions {
  /** `https://127.0.0.1:6443`; a path is put in front of every request, `http://` speaks without TLS. */
  readonly server: string;
  /** The authority that must have signed the server's certificate; the system's if absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
  /** Read again when it changes. */
  readonly tokenFile?: string;
  /** Takes the place of `token` and `tokenFile`. */
  readonly credentials?: CredentialSource;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
  /** True: answers are not asked for in compressed form (`disable-compression` of a kubeconfig). */
  readonly disableCompression?: boolean;
}
