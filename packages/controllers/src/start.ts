import type { Features } from "@dray/api";
import type { Client, Clock, Log } from "@dray/client";
import { startCertificateApprover } from "./certificates/approver.ts";
import { startCertificateRequestCleaner } from "./certificates/cleaner.ts";
import { type ClusterSigning, startCertificateSigner } from "./certificates/signer.ts";
import { type Controller, type ControllerContext, controllerQueues } from "./context.ts";
import { startGarbageCollector } from "./deletion/garbage-collector.ts";
import { startNamespaceController } from "./deletion/namespace.ts";
import { type ServedResources, servedResources } from "./deletion/resources.ts";
import { startPodGroupProtectionController } from "./devices/pod-group-protection.ts";
import { startResourceClaimController } from "./devices/resource-claim.ts";
import { startDeviceTaintEvictionController } from "./devices/taints/device-taint-eviction.ts";
import { startRootCertificatePublisher, startServiceAccountController } from "./identity/service-account.ts";
import { createInformers } from "./informers.ts";
import { ControllerMetrics } from "./metrics.ts";
import { startEndpointSliceController } from "./network/endpoint-slice.ts";
import { startEndpointSliceMirroringController } from "./network/endpoint-slice-mirroring.ts";
import { startEndpointsController } from "./network/endpoints.ts";
import { startNodeLifecycleController } from "./nodes/node-lifecycle.ts";
import { startPodGarbageCollector } from "./nodes/pod-gc.ts";
import { startTaintEvictionController } from "./nodes/taint-eviction.ts";
import { startResourceQuotaController } from "./quota/resource-quota.ts";
import { startEphemeralVolumeController } from "./storage/ephemeral-volume.ts";
import { startPersistentVolumeController } from "./storage/persistent-volume.ts";
import { startVolumeProtection } from "./storage/volume-protection.ts";
import { startCronJobController } from "./workloads/cron-job.ts";
import { startDaemonSetController } from "./workloads/daemon-set.ts";
import { startDeploymentController } from "./workloads/deployment.ts";
import { startJobController } from "./workloads/job.ts";
import { startJobExpiryController } from "./workloads/job-expiry.ts";
import { startReplicaSetController, startReplicationController } from "./workloads/replica-set.ts";
import { startStatefulSetController } from "./workloads/stateful-set.ts";

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
  /** What certificates of the cluster are signed with; without it none are. */
  readonly signing?: ClusterSigning | undefined;
}

export interface Controllers extends Controller {
  /** What they count, in the text format of Prometheus. */
  metrics(): string;
}

interface Given extends Pick<ControllersOptions, "rootCA" | "signing"> {
  readonly served: Promise<ServedResources>;
}

type Start = (context: ControllerContext, given: Given) => Promise<Controller>;

/** In place of a controller that lacks what it needs. */
const idle = async (context: ControllerContext): Promise<Controller> => controllerQueues(context).controller;

/** Every controller, by the name that kube-controller-manager has for it (cmd/kube-controller-manager/names). */
const controllers: Readonly<Record<string, Start>> = {
  "certificatesigningrequest-approving-controller": startCertificateApprover,
  "certificatesigningrequest-cleaner-controller": startCertificateRequestCleaner,
  "certificatesigningrequest-signing-controller": (context, { signing }) =>
    signing === undefined ? idle(context) : startCertificateSigner(context, signing),
  "cronjob-controller": startCronJobController,
  "daemonset-controller": startDaemonSetController,
  "deployment-controller": startDeploymentController,
  "endpoints-controller": startEndpointsController,
  "endpointslice-controller": startEndpointSliceController,
  "endpointslice-mirroring-controller": startEndpointSliceMirroringController,
  "device-taint-eviction-controller": async (context, { served }) =>
    startDeviceTaintEvictionController(context, await served),
  "ephemeral-volume-controller": startEphemeralVolumeController,
  "garbage-collector-controller": async (context, { served }) => startGarbageCollector(context, await served),
  "job-controller": startJobController,
  "namespace-controller": async (context, { served }) => startNamespaceController(context, await served),
  "node-lifecycle-controller": startNodeLifecycleController,
  "persistentvolume-binder-controller": startPersistentVolumeController,
  "pod-garbage-collector-controller": startPodGarbageCollector,
  "podgroup-protection-controller": async (context, { served }) =>
    startPodGroupProtectionController(context, await served),
  "replicaset-controller": startReplicaSetController,
  "replicationcontroller-controller": startReplicationController,
  "resourceclaim-controller": async (context, { served }) =>
    startResourceClaimController(context, await served),
  "resourcequota-controller": async (context, { served }) =>
    startResourceQuotaController(context, await served),
  "root-ca-certificate-publisher-controller": (context, { rootCA }) =>
    startRootCertificatePublisher(context, rootCA),
  "serviceaccount-controller": startServiceAccountController,
  "statefulset-controller": startStatefulSetController,
  "taint-eviction-controller": startTaintEvictionController,
  "ttl-after-finished-controller": startJobExpiryController,
  "volume-protection-controller": startVolumeProtection,
};

/**
 * Starts all controllers and resolves when each of them works. Rejects with `ConnectionError` or `StatusError` if the server cannot say what it serves.
 */
export async function startControllers(options: ControllersOptions): Promise<Controllers> {
  const { rootCA, signing, ...given } = options;
  const metrics = new ControllerMetrics();
  const context: ControllerContext = { ...given, metrics, informers: createInformers(options.client) };
  const served = servedResources(context);
  const started = await Promise.all(
    Object.values(controllers).map((start) => start(context, { rootCA, signing, served })),
  );
  const stopped = Promise.all(started.map((controller) => controller.stopped)).then(() => {});
  return { stopped, metrics: () => metrics.text() };
}
