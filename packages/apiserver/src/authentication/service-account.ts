import { type KubeObject, quoted } from "@dray/api";
import type { Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import type { Clock, UserInfo } from "@dray/client";
import { serviceAccountPrefix } from "../authorization/service-account-name.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import { claimsOf, leewaySeconds, timeError } from "./claims.ts";
import { legacyIssuer, legacyToken } from "./legacy-token.ts";
import type { NamedObject, TokenClaims, TokenSigner } from "./token.ts";

const extraPrefix = "authentication.kubernetes.io/";

/** The user and the audiences of a valid token, or why it is not valid. */
export type TokenResult =
  | { readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly error: string };

/** Milliseconds for which the result for a valid token is cached, as upstream. */
const tokenCacheTtl = 10_000;

export interface BoundTo {
  readonly pod?: Pod;
  readonly secret?: Secret;
  readonly node?: { readonly name: string; readonly uid: string };
}

/** Dependencies of ServiceAccountTokens. */
interface ServiceAccountTokensParts {
  readonly signer: TokenSigner;
  readonly issuer: string;
  readonly storage: Storage;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
}

/** Issues and checks the tokens of service accounts. */
export class ServiceAccountTokens {
  readonly signer: TokenSigner;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly issuer: string;
  /** Called for each use of a token of a Secret. */
  legacyUsed?: (secret: Secret) => void;
  readonly #cached = new Map<string, { readonly claims: TokenClaims; readonly until: number }>();

  constructor({ signer, issuer, storage, clock, newId }: ServiceAccountTokensParts) {
    this.signer = signer;
    this.issuer = issuer;
    this.#storage = storage;
    this.#clock = clock;
    this.#newId = newId;
  }

  issue(account: ServiceAccount, audiences: readonly string[], seconds: number, bound: BoundTo): string {
    const now = Math.floor(this.#clock.now() / 1000);
    const { namespace, name } = account.metadata;
    return this.signer.sign({
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: this.issuer,
      jti: this.#newId(),
      "kubernetes.io": {
        namespace: namespace,
        ...(bound.node ? { node: bound.node } : {}),
        ...(bound.pod ? { pod: named(bound.pod) } : {}),
        ...(bound.secret ? { secret: named(bound.secret) } : {}),
        serviceaccount: named(account),
      },
      nbf: now,
      sub: `${serviceAccountPrefix}${namespace}:${name}`,
    });
  }

  /** Returns the user of this token, if one of `audiences` is among its own. */
  check(token: string, audiences: readonly string[]): TokenResult {
    const now = this.#clock.now();
    const cached = this.#cached.get(token);
    let claims = cached && cached.until > now ? cached.claims : undefined;
    if (claims === undefined) {
      const verified = this.signer.verify(token, [this.issuer, legacyIssuer]);
      if ("error" in verified) return refused(verified.error);
      if (verified.claims["iss"] === legacyIssuer) {
        return this.#checkLegacy(token, verified.claims, audiences);
      }
      const read = claimsOf(verified.claims, this.issuer);
      if ("error" in read) return refused(read.error);
      claims = read;
    }
    const { aud } = claims;
    const shared = audiences.filter((audience) => aud.includes(audience));
    if (shared.length === 0) return wrongAudience(aud, audiences);
    const wrong = timeError(claims, now / 1000);
    if (wrong !== undefined) return refused(wrong);
    if (claims !== cached?.claims) {
      const invalidReason = this.#invalidated(claims);
      if (invalidReason !== undefined) return refused(invalidReason);
      this.#believe(token, claims, now);
    }
    return { user: userOf(claims), audiences: shared };
  }

  /** Tokens of Secrets name no audience: they are made for this server. */
  #checkLegacy(
    token: string,
    claims: Readonly<Record<string, unknown>>,
    audiences: readonly string[],
  ): TokenResult {
    const shared = audiences.filter((audience) => audience === this.issuer);
    if (shared.length === 0) return wrongAudience([this.issuer], audiences);
    const found = legacyToken(token, claims, this.#storage);
    if ("error" in found) return refused(found.error);
    this.legacyUsed?.(found.secret);
    const { name, namespace = "", uid } = found.account.metadata;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
    return { user: { name: `${serviceAccountPrefix}${namespace}:${name}`, uid, groups }, audiences: shared };
  }

  #believe(token: string, claims: TokenClaims, now: number): void {
    for (const [key, entry] of this.#cached) {
      if (entry.until > now) break;
      this.#cached.delete(key);
    }
    this.#cached.delete(token);
    this.#cached.set(token, { claims, until: now + tokenCacheTtl });
  }

  /**
   * The account and the object that the token is bound to must still be the same objects, and not be
   * terminating.
   */
  #invalidated(claims: TokenClaims): string | undefined {
    const { namespace, serviceaccount, pod, secret, node } = claims["kubernetes.io"];
    const { name, uid: claimed } = serviceaccount;
    if (name === "") return "resource name may not be empty";
    const account = this.#get("serviceaccounts", namespace, name);
    if (account === undefined) return `serviceaccounts ${quoted(name)} not found`;
    const { uid } = account.metadata;
    if (uid !== claimed) return `service account UID (${uid}) does not match claim (${claimed})`;
    if (this.#isTerminating(account)) return `service account ${namespace}/${name} has been deleted`;
    return (
      this.#unbound("Secret", namespace, secret) ??
      this.#unbound("Pod", namespace, pod) ??
      // The node of a pod does not change.
      (pod ? undefined : this.#unbound("Node", "", node))
    );
  }

  #unbound(kind: string, namespace: string, bound: NamedObject | undefined): string | undefined {
    if (bound === undefined) return undefined;
    const word = kind.toLowerCase();
    const object = this.#get(`${word}s`, namespace, bound.name);
    if (object === undefined) return "service account token has been invalidated";
    const { uid } = object.metadata;
    if (uid !== bound.uid)
      return `${word} UID (${uid}) does not match service account ${word} ref claim (${bound.uid})`;
    return this.#isTerminating(object) ? "service account token has been invalidated" : undefined;
  }

  /** An object may wait for its finalizers long after its deletion; its tokens expire a minute after it. */
  #isTerminating({ metadata }: KubeObject): boolean {
    const { deletionTimestamp } = metadata;
    if (deletionTimestamp === undefined) return false;
    return Date.parse(deletionTimestamp) < this.#clock.now() - leewaySeconds * 1000;
  }

  #get(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.#storage.cache(resource).get(objectKey(resource, namespace, name))?.object;
  }
}

/** Returns a 401 with upstream's message: the general error, then that of one token authenticator. */
function refused(error: string): TokenResult {
  return { error: error === "" ? "invalid bearer token" : `[invalid bearer token, ${error}]` };
}

function wrongAudience(own: readonly string[], requested: readonly string[]): TokenResult {
  return refused(`token audiences ${goList(own)} is invalid for the target audiences ${goList(requested)}`);
}

/** Returns the user that the claims of a token describe. */
function userOf(claims: TokenClaims): UserInfo {
  const { namespace, serviceaccount, pod, node } = claims["kubernetes.io"];
  const extra: Record<string, readonly string[]> = { [`${extraPrefix}credential-id`]: [`JTI=${claims.jti}`] };
  const add = (name: string, object: NamedObject | undefined): void => {
    if (!object) return;
    extra[`${extraPrefix}${name}-name`] = [object.name];
    if (object.uid) extra[`${extraPrefix}${name}-uid`] = [object.uid];
  };
  add("node", node);
  add("pod", pod);
  return {
    name: `${serviceAccountPrefix}${namespace}:${serviceaccount.name}`,
    uid: serviceaccount.uid,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
    extra,
  };
}

function named(object: { metadata: { name: string; uid: string } }): NamedObject {
  return { name: object.metadata.name, uid: object.metadata.uid };
}

function goList(items: readonly string[]): string {
  return `[${items.map((item) => quoted(item)).join(" ")}]`;
}
