import { createHash } from "node:crypto";
import { type Features, labelSelectorOf, StatusError } from "@dray/api";
import { ClusterTrustBundle } from "@dray/api/certificates/v1";
import type { ClusterTrustBundleProjection } from "@dray/api/core/v1";
import { type Client, type Clock, type Informer, sleep } from "@dray/client";
import { certificatesIn } from "./certificate-text.ts";

export interface TrustBundlesOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly features: Features;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Called when a bundle has changed: volumes with bundles may be outdated. */
  changed(): void;
}

interface TrustAnchor {
  /** Position of the anchor among others. */
  readonly rank: string;
  readonly pem: string;
}

/** Timeout of the first list of bundles in milliseconds. Upstream: ensureManagerSet. */
const syncTimeout = 10_000;

/**
 * Trust anchors of ClusterTrustBundles for projected volumes (KEP-3257). Bundles are watched from the first
 * use on.
 *
 * Upstream: pkg/kubelet/clustertrustbundle
 */
export class TrustBundles {
  readonly #options: TrustBundlesOptions;
  /**
   * Programs must not rely on an order of trust anchors: it stays while the agent runs, and differs in the
   * next agent.
   */
  readonly #salt: string;
  readonly #anchors = new WeakMap<ClusterTrustBundle, readonly TrustAnchor[]>();
  #informer: Informer<ClusterTrustBundle> | undefined;

  constructor(options: TrustBundlesOptions) {
    this.#options = options;
    this.#salt = options.newId();
  }

  /**
   * Certificates that the source selects in PEM, without duplicates and headers; empty if it selects none and
   * is optional. Rejects with an error for the pod.
   */
  async read({ name, signerName, labelSelector, optional }: ClusterTrustBundleProjection): Promise<string> {
    if (!this.#options.features.enabled("ClusterTrustBundleProjection"))
      throw new Error(
        "clusterTrustBundle sources need the feature gate ClusterTrustBundleProjection on this node",
      );
    const bundles = await this.#synced();
    if (name !== undefined) {
      const bundle = bundles.get({ name });
      if (bundle === undefined && !optional) throw new Error(`clustertrustbundle "${name}" not found`);
      return this.#text(bundle === undefined ? [] : [bundle]);
    }
    const selector = labelSelectorOf(labelSelector);
    const selected = bundles
      .list()
      .filter(({ metadata, spec }) => spec.signerName === signerName && selector.matches(metadata.labels));
    if (selected.length === 0 && !optional)
      throw new Error(
        `combination of signerName and labelSelector matched zero ClusterTrustBundles: signerName "${signerName}", labelSelector ${labelSelector === undefined ? "not set, which matches nothing" : JSON.stringify(selector.toString())}`,
      );
    return this.#text(selected);
  }

  async #synced(): Promise<Informer<ClusterTrustBundle>> {
    const { client, clock, signal, changed } = this.#options;
    if (this.#informer === undefined) {
      // A watch of a kind that the server does not serve, or not to this node, would be retried for ever.
      try {
        await client.resource(ClusterTrustBundle).list({ limit: 1 });
      } catch (error) {
        const { message } = error as Error;
        const why = StatusError.is(error, "NotFound")
          ? "the API server does not serve certificates.k8s.io/v1 clustertrustbundles"
          : message;
        throw new Error(`cannot read ClusterTrustBundles: ${why}`, { cause: error });
      }
    }
    if (this.#informer === undefined) {
      const informer = client.informer(ClusterTrustBundle);
      this.#informer = informer;
      const bundlesChanged = (): void => {
        if (informer.synced) changed();
      };
      informer.handle({ add: bundlesChanged, update: bundlesChanged, delete: bundlesChanged });
      void informer.start(signal);
    }
    const informer = this.#informer;
    if (!informer.synced) {
      const end = new AbortController();
      await Promise.race([
        informer.until(() => informer.synced),
        sleep(clock, syncTimeout, AbortSignal.any([signal, end.signal])),
      ]);
      end.abort();
      if (!informer.synced) throw new Error("ClusterTrustBundle informer has not yet synced");
    }
    return informer;
  }

  #text(bundles: readonly ClusterTrustBundle[]): string {
    const anchors = new Map(
      bundles.flatMap((bundle) => this.#anchorsOf(bundle)).map(({ rank, pem }) => [rank, pem]),
    );
    return [...anchors]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, pem]) => pem)
      .join("");
  }

  #anchorsOf(bundle: ClusterTrustBundle): readonly TrustAnchor[] {
    const known = this.#anchors.get(bundle);
    if (known !== undefined) return known;
    const anchors = certificatesIn(bundle.spec.trustBundle).map((pem) => ({
      rank: createHash("sha256").update(this.#salt).update(pem).digest("base64"),
      pem,
    }));
    this.#anchors.set(bundle, anchors);
    return anchors;
  }
}
