import { createHash, timingSafeEqual } from "node:crypto";
import type { Secret } from "@dray/api/core/v1";
import type { Clock, UserInfo } from "@dray/client";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const defaultGroup = "system:bootstrappers";

/**
 * Tokens with which new nodes join: Secrets of type bootstrap.kubernetes.io/token in kube-system.
 *
 * Upstream: plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go.
 */
export class BootstrapTokens {
  readonly #storage: Storage;
  readonly #clock: Clock;

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** Returns the user of a token; undefined if it is not a valid bootstrap token. */
  user(token: string): UserInfo | undefined {
    const [, id = "", key = ""] = tokenForm.exec(token) ?? [];
    if (id === "") return undefined;
    const path = objectKey("secrets", "kube-system", `bootstrap-token-${id}`);
    const secret = this.#storage.cache("secrets").get(path)?.object as Secret | undefined;
    if (secret === undefined || !this.#counts(secret, id, key)) return undefined;
    const extra = textOf(secret, "auth-extra-groups");
    const groups = extra === "" ? [] : extra.split(",");
    if (!groups.every((group) => groupForm.test(group))) return undefined;
    return {
      name: `system:bootstrap:${id}`,
      groups: [...new Set([defaultGroup, ...groups])].sort(),
    };
  }

  #counts(secret: Secret, id: string, key: string): boolean {
    return (
      secret.metadata.deletionTimestamp === undefined &&
      secret.type === "bootstrap.kubernetes.io/token" &&
      isEqual(textOf(secret, "token-secret"), key) &&
      textOf(secret, "token-id") === id &&
      !this.#hasExpired(textOf(secret, "expiration")) &&
      textOf(secret, "usage-bootstrap-authentication") === "true"
    );
  }

  /** An unreadable expiration counts as expired. */
  #hasExpired(expiration: string): boolean {
    if (expiration === "") return false;
    return !(/^\d{4}-\d\d-\d\dT/.test(expiration) && Date.parse(expiration) > this.#clock.now());
  }
}

function textOf({ data }: Secret, name: string): string {
  return Buffer.from(data?.[name] ?? "", "base64").toString();
}

/** Compares in constant time. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
