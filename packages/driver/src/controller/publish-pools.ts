import type { Client, Clock, Log } from "@dray/client";
import { aborted } from "../shared/aborted.ts";
import { checkDriverName } from "../shared/names.ts";
import { deciding, followDiscovery } from "../slices/discovery.ts";
import { createPublisher, type SliceStatistics } from "../slices/publisher.ts";
import type { SliceOwner } from "../slices/slices.ts";
import type { Driver } from "../types/driver.ts";
import { withResourceVersions } from "../versions/client.ts";
import { type Election, whileLeading } from "./election.ts";

export interface PublishPoolsOptions extends Pick<Driver, "name" | "discover" | "onError"> {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the publishing; the slices stay. */
  readonly signal: AbortSignal;
  /**
   * Owner of the slices: an object without a namespace, such as a ClusterRole or a custom resource of the
   * driver. Without one they stay until they are deleted.
   */
  readonly owner?: SliceOwner;
  /**
   * Needed where more than one instance runs: only the leader publishes, or they would undo each other's
   * slices.
   */
  readonly election?: Election;
  /** Called whenever all pools are published as `discover` yielded them last. */
  readonly onPublished?: (statistics: SliceStatistics) => void;
}

/**
 * Publishes devices that are not part of one node: the controller half of a driver of network-attached
 * devices. All ResourceSlices of the driver that have no nodeName are its own: others are updated or deleted.
 * Each pool needs a name and says which nodes reach it (see `Pool`). Resolves when the signal aborts; rejects
 * when `discover` fails and `onError` does not ask for another try.
 */
export async function publishPools(options: PublishPoolsOptions): Promise<void> {
  checkDriverName(options.name);
  return whileLeading(options, (signal) => publishUntil(options, signal));
}

async function publishUntil(options: PublishPoolsOptions, until: AbortSignal): Promise<void> {
  const { name, owner, clock, log, onPublished } = options;
  const client = withResourceVersions(options.client, clock);
  const decide = deciding(options);
  const publisher = createPublisher({
    client,
    driver: name,
    scope: owner === undefined ? {} : { owner },
    clock,
    log,
    decide,
    onPublished,
  });
  const failed = new AbortController();
  const signal = AbortSignal.any([until, failed.signal]);
  const fail = (error: unknown): void => {
    if (!signal.aborted) failed.abort(error);
  };
  await Promise.all([
    publisher.run(signal).catch(fail),
    followDiscovery({ source: options, publisher, decide, clock, log, signal }).catch(fail),
    aborted(signal),
  ]);
  if (failed.signal.aborted) throw failed.signal.reason;
}
