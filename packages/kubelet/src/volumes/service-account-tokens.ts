import type { TokenRequest } from "@dray/api/authentication/v1";
import { type Pod, ServiceAccount, type ServiceAccountTokenProjection } from "@dray/api/core/v1";
import type { Client, Clock } from "@dray/client";

interface Token {
  readonly token: string;
  /** Milliseconds since the epoch: after 80% of its life, or a day. */
  readonly refreshAt: number;
}

/** Tokens of service accounts in volumes. Upstream: pkg/kubelet/token/token_manager.go. */
export class ServiceAccountTokens {
  readonly #client: Client;
  readonly #clock: Clock;
  /** By UID of the pod, volume and path. */
  readonly #tokens = new Map<string, Token>();

  constructor({ client, clock }: { readonly client: Client; readonly clock: Clock }) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Resolves with the token of a source, which is a new one if that is due. */
  async get(pod: Pod, volume: string, source: ServiceAccountTokenProjection): Promise<string> {
    const { path, audience, expirationSeconds = 3600 } = source;
    const key = keyOf(pod, volume, path);
    const known = this.#tokens.get(key);
    if (known !== undefined && known.refreshAt > this.#clock.now()) return known.token;
    const { namespace, name, uid } = pod.metadata;
    const seconds = Number(expirationSeconds);
    try {
      const answer = await this.#client
        .resource(ServiceAccount)
        .post<TokenRequest>({ namespace, name: pod.spec.serviceAccountName || "default" }, "token", {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: {
            audiences: audience ? [audience] : [],
            expirationSeconds: seconds,
            boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
          },
        });
      const { token = "", expirationTimestamp } = answer.status ?? {};
      const now = this.#clock.now();
      const life = expirationTimestamp === undefined ? seconds * 1000 : Date.parse(expirationTimestamp) - now;
      this.#tokens.set(key, { token, refreshAt: now + Math.min(life * 0.8, 24 * 3600_000) });
      return token;
    } catch (error) {
      // An unexpired token is kept, as in upstream's token manager.
      if (known !== undefined) return known.token;
      throw new Error(`failed to fetch token: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Returns when a token is due for a refresh, in milliseconds since the epoch. */
  refreshAt(pod: Pod, volume: string, path: string): number | undefined {
    return this.#tokens.get(keyOf(pod, volume, path))?.refreshAt;
  }

  forget(podUid: string): void {
    for (const key of this.#tokens.keys()) if (key.startsWith(`${podUid}\0`)) this.#tokens.delete(key);
  }
}

function keyOf({ metadata: { uid } }: Pod, volume: string, path: string): string {
  return [uid, volume, path].join("\0");
}
