import type { CredentialSource } from "./credentials.ts";

/** An API server and the identity of a user. Certificates and keys are PEM. */
export interface ConnectionOptions {
  /** `https://127.0.0.1:6443`. A path is prepended to that of every request; `http://` is without TLS. */
  readonly server: string;
  /** The authority of the server's certificate; those of the system if absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
  /** A file that is read again when it changes. */
  readonly tokenFile?: string;
  /** Replaces `token` and `tokenFile`. */
  readonly credentials?: CredentialSource;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
  /** Does not accept compressed responses (`disable-compression` of a kubeconfig). */
  readonly disableCompression?: boolean;
}
