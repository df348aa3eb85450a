import type { Node } from "@dray/api/core/v1";
import type { Client, Clock } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import type { PodCertificates } from "./pod-certificates.ts";
import type { TrustBundles } from "./trust-bundles.ts";

export interface VolumesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly paths: NodePaths;
  readonly nodeAddress: string;
  readonly trustBundles: Pick<TrustBundles, "read">;
  readonly certificates: Pick<PodCertificates, "track" | "credentials" | "forget">;
  node(): Node;
  /** As whom containers run whose pod names no user; undefined: as their image says. */
  userOfPod(podUid: string): number | undefined;
}
