import type { Features } from "@dray/api";
import type { Client, Clock, Log } from "@dray/client";
import type { Controller, ControllerContext } from "./context.ts";
import { startDaemonSetController } from "./daemon-set.ts";
import { startDeploymentController } from "./deployment.ts";
import { startEphemeralVolumeController } from "./ephemeral-volume.ts";
import { startGarbageCollector } from "./garbage-collector.ts";
import { createInformers } from "./informers.ts";
import { startNamespaceController } from "./namespace.ts";
import { startNodeLifecycleController } from "./node-lifecycle.ts";
import { startPersistentVolumeController } from "./persistent-volume.ts";
import { startPodGarbageCollector } from "./pod-gc.ts";
import { startReplicaSetController } from "./replica-set.ts";
import { startResourceClaimController } from "./resource-claim.ts";
import { startResourceQuotaController } from "./resource-quota.ts";
import { servedResources } from "./resources.ts";
import { startRootCertificatePublisher, startServiceAccountController } from "./service-account.ts";
import { startTaintEvictionController } from "./taint-eviction.ts";
import { startVolumeProtection } from "./volume-protection.ts";

export interface ControllersOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Between 0 and 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** PEM: what pods verify the API server with. */
  readonly rootCA: string;
  readonly features: Features;
}

export interface Controllers extends Controller {}

/**
 * Starts all controllers and resolves when each of them works. Rejects with `ConnectionError` or `StatusError` if the server cannot say what it serves.
 */
export async function startControllers(options: ControllersOptions): Promise<Controllers> {
  const { client, clock, log, random, signal, features } = options;
  const context: ControllerContext = {
    client,
    clock,
    log,
    random,
    signal,
    features,
    informers: createInformers(client),
  };
  const resources = servedResources(context);
  const started = await Promise.all([
    startResourceClaimController(context),
    startDaemonSetController(context),
    startReplicaSetController(context),
    startDeploymentController(context),
    startServiceAccountController(context),
    startRootCertificatePublisher(context, options.rootCA),
    startNodeLifecycleController(context),
    startTaintEvictionController(context),
    startPodGarbageCollector(context),
    startVolumeProtection(context),
    startPersistentVolumeController(context),
    startEphemeralVolumeController(context),
    resources.then((served) => startGarbageCollector(context, served)),
    resources.then((served) => startResourceQuotaController(context, served)),
    resources.then((served) => startNamespaceController(context, served)),
  ]);
  const stopped = Promise.all(started.map((controller) => controller.stopped)).then(() => {});
  return { stopped };
}
