import { decodeJSON, StatusError, type Wire } from "@dray/api";
import type { APIGroup } from "@dray/api/meta/v1";
import { type Client, type Clock, sleep } from "@dray/client";

export const group = "resource.k8s.io";

/** Versions of resource.k8s.io that have drivers' objects, the best first. */
const versions = ["v1", "v1beta2", "v1beta1"] as const;
export type Version = (typeof versions)[number];

/** The server has no version of the API that a driver can work with. */
class NoResourceApiError extends Error {
  override readonly name = "NoResourceApiError";
}

/** Finds the best version that the server has. Rejects with a NoResourceApiError if it has none of them. */
async function findVersion(client: Client): Promise<Version> {
  let found: string[];
  try {
    const answer = decodeJSON(await client.text("GET", `/apis/${group}`)) as Wire<APIGroup>;
    found = (answer.versions ?? []).flatMap(({ version }) => version ?? []);
  } catch (error) {
    // Without permission to ask, a server that is new enough is assumed.
    if (StatusError.is(error, "Forbidden")) return "v1";
    if (!StatusError.is(error, "NotFound")) throw error;
    found = [];
  }
  const best = versions.find((version) => found.includes(version));
  if (best !== undefined) return best;
  throw new NoResourceApiError(
    `the API server has ${found.length === 0 ? `no ${group}` : `${group}/${found.join(", ")}`}; a driver needs one of ${versions.join(", ")} (Kubernetes 1.32 or newer with DynamicResourceAllocation on)`,
  );
}

/** Milliseconds between two tries to find out what the server has, for an informer. */
const retryDelay = 2000;

/** The version that the server of a client has, read once and again after `forget`. */
export class ServedVersion {
  readonly #client: Client;
  readonly #clock: Clock;
  #version: Promise<Version> | undefined;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  get(): Promise<Version> {
    this.#version ??= findVersion(this.#client).catch((error) => {
      this.#version = undefined;
      throw error;
    });
    return this.#version;
  }

  forget(): void {
    this.#version = undefined;
  }

  /**
   * Retries until the server responds; undefined once the signal aborts. Rejects with a NoResourceApiError.
   */
  async wait(signal: AbortSignal): Promise<Version | undefined> {
    while (!signal.aborted) {
      try {
        return await this.get();
      } catch (error) {
        if (error instanceof NoResourceApiError) throw error;
        await sleep(this.#clock, retryDelay, signal);
      }
    }
    return undefined;
  }
}
