import { createHash } from "node:crypto";
import { StatusError } from "@dray/api";
import type { Credential, UserInfo } from "@dray/client";
import type { BootstrapTokens } from "./bootstrap-token.ts";
import type { ServiceAccountTokens } from "./service-account.ts";

/** A line of a static token file: who has this token. */
export interface TokenEntry {
  readonly token: string;
  readonly user: UserInfo;
}

const anonymous: UserInfo = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const authenticatedGroup = "system:authenticated";

export interface AuthenticatorOptions {
  readonly tokens: readonly TokenEntry[];
  readonly serviceAccounts: ServiceAccountTokens;
  /** Absent: bootstrap tokens are not believed. */
  readonly bootstrapTokens?: BootstrapTokens;
  readonly audiences: readonly string[];
  /** Requests without credentials are made as system:anonymous; else they are refused. */
  readonly allowAnonymous: boolean;
}

/** Finds out who a user is. Throws 401 for a token that is not valid; no credential at all is anonymous. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  /** By digest, so that looking a token up takes the same time whichever it is. */
  readonly #tokens: ReadonlyMap<string, TokenEntry>;

  /** Who shows a certificate: a connection has one, whatever it asks. */
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

  /** Who a token belongs to: what TokenReview answers. */
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
