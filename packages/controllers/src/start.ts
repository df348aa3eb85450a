import type { Features } from "@dray/api";
import type { Client, Clock, Log } from "@dray/client";
import { startCertificateApprover } from "./certificates/approver.ts";
import { startCertificateRequestCleaner } from "./certificates/cleaner.ts";
import { startPodCertificateRequestCleaner } from "./certificates/pod-request-cleaner.ts";
import { type ClusterSigning, startCertificateSigner } from "./certificates/signer.ts";
import { startTrustBundlePublisher } from "./certificates/trust-bundle.ts";
import { type Controller, type ControllerContext, controllerQueues } from "./context.ts";
import { startGarbageCollector } from "./deletion/garbage-collector.ts";
import { startNamespaceController } from "./deletion/namespace.ts";
import { type ServedResources, servedResources } from "./deletion/resources.ts";
import { startPodGroupProtectionController } from "./devices/pod-group-protection.ts";
import { startResourcePoolStatusController } from "./devices/pool-status/resource-pool-status.ts";
import { startResourceClaimController } from "./devices/resource-claim.ts";
import { startDeviceTaintEvictionController } from "./devices/taints/device-taint-eviction.ts";
import { startBootstrapSigner } from "./identity/bootstrap-signer.ts";
import { startClusterRoleAggregation } from "./identity/cluster-role-aggregation.ts";
import { startLegacyTokenCleaner } from "./identity/legacy-token-cleaner.ts";
import { startRootCertificatePublisher, startServiceAccountController } from "./identity/service-account.ts";
import { startTokenCleaner } from "./identity/token-cleaner.ts";
import { startTokenSecretController } from "./identity/token-secret.ts";
import { createInformers } from "./informers.ts";
import { ControllerMetrics } from "./metrics.ts";
import { startEndpointSliceController } from "./network/endpoint-slice.ts";
import { startEndpointSliceMirroringController } from "./network/endpoint-slice-mirroring.ts";
import { startEndpointsController } from "./network/endpoints.ts";
import { startServiceCIDRController } from "./network/service-cidr.ts";
import { type NodeIpamOptions, startNodeIpam } from "./nodes/ipam.ts";
import { startNodeLifecycleController } from "./nodes/node-lifecycle.ts";
import { type PodGarbageOptions, startPodGarbageCollector } from "./nodes/pod-gc.ts";
import { startTaintEvictionController } from "./nodes/taint-eviction.ts";
import { startResourceQuotaController } from "./quota/resource-quota.ts";
import { selectControllers } from "./select.ts";
import { startAttachDetachController } from "./storage/attach-detach.ts";
import { startEphemeralVolumeController } from "./storage/ephemeral-volume.ts";
import { startVolumeExpander } from "./storage/expander.ts";
import { startPersistentVolumeController } from "./storage/persistent-volume.ts";
import {
  startAttributesClassProtection,
  startClaimProtection,
  startVolumeProtection,
} from "./storage/volume-protection.ts";
import { startStorageVersionMigrator } from "./storageversionmigrator/storage-version-migrator.ts";
import { startCronJobController } from "./workloads/cron-job.ts";
import { startDaemonSetController } from "./workloads/daemon-set.ts";
import { startDeploymentController } from "./workloads/deployment.ts";
import { startDisruptionController } from "./workloads/disruption.ts";
import { startHorizontalPodAutoscalerController } from "./workloads/horizontal-pod-autoscaler.ts";
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
  /** PEM: signs the tokens in Secrets of service accounts; without it they get none. */
  readonly serviceAccountKey?: string | undefined;
  /** Networks for the pods of each node; without it nodes get none from here. */
  readonly nodeIpam?: NodeIpamOptions | undefined;
  /** How many pods that have ended are kept. */
  readonly podGarbage?: PodGarbageOptions | undefined;
  /** Which controllers run, as `--controllers` has it; `*` if absent. */
  readonly controllers?: readonly string[] | undefined;
}

export interface Controllers extends Controller {
  /** What they count, in the text format of Prometheus. */
  metrics(): string;
}

interface Given
  extends Pick<ControllersOptions, "nodeIpam" | "podGarbage" | "rootCA" | "serviceAccountKey" | "signing"> {
  readonly served: Promise<ServedResources>;
}

type Start = (context: ControllerContext, given: Given) => Promise<Controller>;

/** In place of a controller that lacks what it needs. */
const idle = async (context: ControllerContext): Promise<Controller> => controllerQueues(context).controller;

/** The controllers, by kube-controller-manager's names. Upstream: cmd/kube-controller-manager/names. */
const controllers: Readonly<Record<string, Start>> = {
  "bootstrap-signer-controller": startBootstrapSigner,
  "certificatesigningrequest-approving-controller": startCertificateApprover,
  "certificatesigningrequest-cleaner-controller": startCertificateRequestCleaner,
  "certificatesigningrequest-signing-controller": (context, { signing }) =>
    signing === undefined ? idle(context) : startCertificateSigner(context, signing),
  "clusterrole-aggregation-controller": startClusterRoleAggregation,
  "cronjob-controller": startCronJobController,
  "daemonset-controller": startDaemonSetController,
  "deployment-controller": startDeploymentController,
  "device-taint-eviction-controller": async (context, { served }) =>
    startDeviceTaintEvictionController(context, await served),
  "disruption-controller": startDisruptionController,
  "endpoints-controller": startEndpointsController,
  "endpointslice-controller": startEndpointSliceController,
  "endpointslice-mirroring-controller": startEndpointSliceMirroringController,
  "ephemeral-volume-controller": startEphemeralVolumeController,
  "garbage-collector-controller": async (context, { served }) => startGarbageCollector(context, await served),
  "horizontal-pod-autoscaler-controller": startHorizontalPodAutoscalerController,
  "job-controller": async (context, { served }) => startJobController(context, await served),
  "kube-apiserver-serving-clustertrustbundle-publisher-controller": async (context, { served, rootCA }) =>
    startTrustBundlePublisher(context, await served, rootCA),
  "legacy-serviceaccount-token-cleaner-controller": startLegacyTokenCleaner,
  "namespace-controller": async (context, { served }) => startNamespaceController(context, await served),
  "node-ipam-controller": (context, { nodeIpam }) =>
    nodeIpam === undefined ? idle(context) : startNodeIpam(context, nodeIpam),
  "node-lifecycle-controller": startNodeLifecycleController,
  "persistentvolume-attach-detach-controller": startAttachDetachController,
  "persistentvolume-binder-controller": startPersistentVolumeController,
  "persistentvolume-expander-controller": startVolumeExpander,
  "persistentvolume-protection-controller": startVolumeProtection,
  "persistentvolumeclaim-protection-controller": startClaimProtection,
  "pod-garbage-collector-controller": (context, { podGarbage }) =>
    startPodGarbageCollector(context, podGarbage),
  "podcertificaterequest-cleaner-controller": async (context, { served }) =>
    startPodCertificateRequestCleaner(context, await served),
  "podgroup-protection-controller": async (context, { served }) =>
    startPodGroupProtectionController(context, await served),
  "replicaset-controller": startReplicaSetController,
  "replicationcontroller-controller": startReplicationController,
  "resourceclaim-controller": async (context, { served }) =>
    startResourceClaimController(context, await served),
  "resourcepoolstatusrequest-controller": async (context, { served }) =>
    startResourcePoolStatusController(context, await served),
  "resourcequota-controller": async (context, { served }) =>
    startResourceQuotaController(context, await served),
  "root-ca-certificate-publisher-controller": (context, { rootCA }) =>
    startRootCertificatePublisher(context, rootCA),
  "service-cidr-controller": startServiceCIDRController,
  "serviceaccount-controller": startServiceAccountController,
  "serviceaccount-token-controller": (context, { serviceAccountKey: key, rootCA }) =>
    key === undefined ? idle(context) : startTokenSecretController(context, { key, rootCA }),
  "statefulset-controller": startStatefulSetController,
  "storage-version-migrator-controller": async (context, { served }) =>
    startStorageVersionMigrator(context, await served),
  "taint-eviction-controller": startTaintEvictionController,
  "token-cleaner-controller": startTokenCleaner,
  "ttl-after-finished-controller": startJobExpiryController,
  "volumeattributesclass-protection-controller": startAttributesClassProtection,
};

/** The names that `controllers` may have. */
export const controllerNames: readonly string[] = Object.keys(controllers);

/**
 * Starts the controllers and resolves when each of them works. Rejects with `ConnectionError` or `StatusError` if the
 * server cannot say what it serves, and with a TypeError for a controller that is not known.
 */
export async function startControllers(options: ControllersOptions): Promise<Controllers> {
  const { client, clock, log, random, signal, features, controllers: wanted = ["*"], ...given } = options;
  const names = selectControllers(controllerNames, wanted);
  const informers = createInformers(client);
  const metrics = new ControllerMetrics();
  const context: ControllerContext = { client, clock, log, random, signal, features, informers, metrics };
  const served = servedResources(context);
  const started = await Promise.all(names.map((name) => controllers[name]!(context, { ...given, served })));
  const stopped = Promise.all(started.map((controller) => controller.stopped)).then(() => {});
  return { stopped, metrics: () => metrics.text() };
}
