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
  /** Called when a volume was set up or could not be: the name of its plugin, and how long it took. */
  mounted?(plugin: string, failed: boolean, milliseconds: number): void;
  /** User of containers whose pod names none; undefined for that of the image. */
  userOfPod(podUid: string): number | undefined;
}
