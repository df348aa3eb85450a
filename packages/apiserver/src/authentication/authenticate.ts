import { createHash } from "node:crypto";
import { StatusError } from "@dray/api";
import type { Credential, UserInfo } from "@dray/client";
import type { BootstrapTokens } from "./bootstrap-token.ts";
import type { ServiceAccountTokens } from "./service-account.ts";

/** A line of a static token file. */
export interface TokenEntry {
  readonly token: string;
  readonly user: UserInfo;
}

const anonymous: UserInfo = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const authenticatedGroup = "system:authenticated";

export interface AuthenticatorOptions {
  readonly tokens: readonly TokenEntry[];
  readonly serviceAccounts: ServiceAccountTokens;
  /** Absent: bootstrap tokens are not accepted. */
  readonly bootstrapTokens?: BootstrapTokens;
  readonly audiences: readonly string[];
  /** Requests without credentials are made as system:anonymous; otherwise they are rejected. */
  readonly allowAnonymous: boolean;
}

/** Authenticates users. Throws 401 for an invalid token; a request without a credential is anonymous. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  /** By digest, so that a lookup takes the same time for every token. */
  readonly #tokens: ReadonlyMap<string, TokenEntry>;

  /** Users by client certificate: a connection has the same one for all its requests. */
  readonly #certified = new WeakMap<Credential, UserInfo>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#tokens = new Map(options.tokens.map((entry) => [digest(entry.token), entry]));
  }

  authenticate(credential: Credential): UserInfo {
    switch (credential.type) {
      case "none":
        if (!this.#options.allowAnonymous) throw StatusError.of("Unauthorized", "Unauthorized");
        return anonymous;
      case "user":
        return credential.user;
      case "frontProxy":
        return withAuthenticated(credential.user);
      case "certificate": {
        let user = this.#certified.get(credential);
        if (user === undefined) {
          user = certifiedUser(credential);
          this.#certified.set(credential, user);
        }
        return user;
      }
      case "bearer": {
        const user = this.user(credential.token, this.#options.audiences);
        if ("error" in user) throw StatusError.of("Unauthorized", "Unauthorized");
        return user.user;
      }
    }
  }

  /** Returns the user of a token, as in the status of a TokenReview. */
  user(
    token: string,
    audiences: readonly string[],
  ): { user: UserInfo; audiences: readonly string[] } | { error: string } {
    const entry = this.#tokens.get(digest(token));
    if (entry) {
      return { user: withAuthenticated(entry.user), audiences };
    }
    const bootstrapper = this.#options.bootstrapTokens?.user(token);
    if (bootstrapper) return { user: withAuthenticated(bootstrapper), audiences };
    const answer = this.#options.serviceAccounts.check(token, audiences);
    if ("error" in answer) return answer;
    return { user: withAuthenticated(answer.user), audiences: answer.audiences };
  }
}

const credentialId = "authentication.kubernetes.io/credential-id";

function certifiedUser(credential: Credential & { readonly type: "certificate" }): UserInfo {
  return withAuthenticated({
    name: credential.commonName,
    groups: credential.organizations,
    ...(credential.uid === undefined ? {} : { uid: credential.uid }),
    ...(credential.fingerprint === undefined
      ? {}
      : { extra: { [credentialId]: [`X509SHA256=${credential.fingerprint}`] } }),
  });
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function withAuthenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(authenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}
