import type { Node, Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import type { Clock, UserInfo } from "@dray/client";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import type { NamedObject, TokenClaims, TokenSigner } from "./token.ts";

export const serviceAccountPrefix = "system:serviceaccount:";
const extraPrefix = "authentication.kubernetes.io/";

/** A token is valid (for whom and which audiences), or why it is not. */
export type TokenAnswer =
  | { readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly error: string };

/** A token that was found valid is believed for so long without another look, as upstream does. */
const believedMilliseconds = 10_000;

export interface BoundTo {
  readonly pod?: Pod;
  readonly secret?: Secret;
  readonly node?: { readonly name: string; readonly uid: string };
}

/** Makes and checks the tokens of service accounts. */
export class ServiceAccountTokens {
  readonly #signer: TokenSigner;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly issuer: string;
  readonly #believed = new Map<string, { readonly claims: TokenClaims; readonly until: number }>();

  constructor(signer: TokenSigner, issuer: string, storage: Storage, clock: Clock, newId: () => string) {
    this.#signer = signer;
    this.issuer = issuer;
    this.#storage = storage;
    this.#clock = clock;
    this.#newId = newId;
  }

  issue(account: ServiceAccount, audiences: readonly string[], seconds: number, bound: BoundTo): string {
    const now = Math.floor(this.#clock.now() / 1000);
    const { namespace, name } = account.metadata;
    return this.#signer.sign({
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: this.issuer,
      jti: this.#newId(),
      "kubernetes.io": {
        namespace: namespace!,
        ...(bound.node ? { node: bound.node } : {}),
        ...(bound.pod ? { pod: named(bound.pod) } : {}),
        ...(bound.secret ? { secret: named(bound.secret) } : {}),
        serviceaccount: named(account),
      },
      nbf: now,
      sub: `${serviceAccountPrefix}${namespace}:${name}`,
    });
  }

  /** Who has this token, if one of `audiences` is among those it was made for. */
  check(token: string, audiences: readonly string[]): TokenAnswer {
    const now = this.#clock.now();
    const believed = this.#believed.get(token);
    const claims = believed && believed.until > now ? believed.claims : this.#signer.verify(token);
    if (claims === undefined || typeof claims["kubernetes.io"] !== "object")
      return { error: "invalid bearer token" };
    const shared = audiences.filter((audience) => claims.aud.includes(audience));
    if (shared.length === 0) {
      return {
        error: `[invalid bearer token, token audiences ${goList(claims.aud)} is invalid for the target audiences ${goList(audiences)}]`,
      };
    }
    const seconds = now / 1000;
    if (claims.iss !== this.issuer || seconds >= claims.exp || seconds < claims.nbf - 60) {
      return { error: `[invalid bearer token, service account token has expired]` };
    }
    if (claims !== believed?.claims) {
      const wrong = this.#invalidated(claims);
      if (wrong !== undefined) return { error: `[invalid bearer token, ${wrong}]` };
      this.#believe(token, claims, now);
    }
    return { user: userOf(claims), audiences: shared };
  }

  #believe(token: string, claims: TokenClaims, now: number): void {
    for (const [key, entry] of this.#believed) {
      if (entry.until > now) break;
      this.#believed.delete(key);
    }
    this.#believed.delete(token);
    this.#believed.set(token, { claims, until: now + believedMilliseconds });
  }

  /** The account and what the token is bound to must still be the same objects. */
  #invalidated(claims: TokenClaims): string | undefined {
    const { namespace, serviceaccount, pod, secret, node } = claims["kubernetes.io"];
    const account = this.#get<ServiceAccount>("serviceaccounts", namespace, serviceaccount.name);
    if (account?.metadata.uid !== serviceaccount.uid) return "service account token has been invalidated";
    if (pod && this.#get<Pod>("pods", namespace, pod.name)?.metadata.uid !== pod.uid) {
      return "service account token has been invalidated";
    }
    if (secret && this.#get<Secret>("secrets", namespace, secret.name)?.metadata.uid !== secret.uid) {
      return "service account token has been invalidated";
    }
    if (node && !pod && this.#get<Node>("nodes", "", node.name)?.metadata.uid !== node.uid) {
      return "service account token has been invalidated";
    }
    return undefined;
  }

  #get<T>(resource: string, namespace: string, name: string): T | undefined {
    return this.#storage.cache(resource).get(objectKey(resource, namespace, name))?.object as T | undefined;
  }
}

/** The user that the claims of a token describe. */
export function userOf(claims: TokenClaims): UserInfo {
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
  return `[${items.map((item) => JSON.stringify(item)).join(" ")}]`;
}
