import type { Features } from "@dray/api";
import { type Client, type Clock, type Log, ProcessMetrics } from "@dray/client";
import { startBootstrapSigner } from "../bootstrap/signer.ts";
import { startTokenCleaner } from "../bootstrap/token-cleaner.ts";
import { startCertificateApprover } from "../certificates/approver.ts";
import { startCertificateRequestCleaner } from "../certificates/cleaner.ts";
import { startTrustBundlePublisher } from "../certificates/clustertrustbundle-publisher.ts";
import { startPodCertificateRequestCleaner } from "../certificates/podcertificaterequest-cleaner.ts";
import { startRootCertificatePublisher } from "../certificates/root-ca-cert-publisher.ts";
import { type ClusterSigning, startCertificateSigner } from "../certificates/signer.ts";
import { startClusterRoleAggregation } from "../clusterroleaggregation/controller.ts";
import { startCronJobController } from "../cronjob/controller.ts";
import { startDaemonSetController } from "../daemon/controller.ts";
import { startDeploymentController } from "../deployment/controller.ts";
import { startDeviceTaintEvictionController } from "../devicetainteviction/controller.ts";
import { startDisruptionController } from "../disruption/controller.ts";
import { startEndpointsController } from "../endpoint/controller.ts";
import { startEndpointSliceController } from "../endpointslice/controller.ts";
import { startEndpointSliceMirroringController } from "../endpointslicemirroring/controller.ts";
import { startGarbageCollector } from "../garbagecollector/controller.ts";
import { startJobController } from "../job/controller.ts";
import { startNamespaceController } from "../namespace/controller.ts";
import { type NodeIpamOptions, startNodeIpam } from "../nodeipam/controller.ts";
import { startNodeLifecycleController } from "../nodelifecycle/controller.ts";
import { startHorizontalPodAutoscalerController } from "../podautoscaler/controller.ts";
import { type PodGarbageOptions, startPodGarbageCollector } from "../podgc/controller.ts";
import { startPodGroupProtectionController } from "../podgroupprotection/controller.ts";
import { startReplicaSetController, startReplicationController } from "../replicaset/controller.ts";
import { startResourceClaimController } from "../resourceclaim/controller.ts";
import { startResourcePoolStatusController } from "../resourcepoolstatusrequest/controller.ts";
import { startResourceQuotaController } from "../resourcequota/controller.ts";
import { startServiceAccountController } from "../serviceaccount/controller.ts";
import { startLegacyTokenCleaner } from "../serviceaccount/legacy-token-cleaner.ts";
import { startTokenSecretController } from "../serviceaccount/token-controller.ts";
import { startServiceCIDRController } from "../servicecidrs/controller.ts";
import { type Controller, type ControllerContext, controllerQueues } from "../shared/context.ts";
import { createInformers } from "../shared/informers.ts";
import { ControllerMetrics } from "../shared/metrics.ts";
import { type ServedResources, servedResources } from "../shared/served-resources.ts";
import { startStatefulSetController } from "../statefulset/controller.ts";
import { startStorageVersionMigrator } from "../storageversionmigrator/controller.ts";
import { startTaintEvictionController } from "../tainteviction/controller.ts";
import { startJobExpiryController } from "../ttlafterfinished/controller.ts";
import { startAttachDetachController } from "../volume/attachdetach/controller.ts";
import { startEphemeralVolumeController } from "../volume/ephemeral/controller.ts";
import { startVolumeExpander } from "../volume/expand/controller.ts";
import { startPersistentVolumeController } from "../volume/persistentvolume/controller.ts";
import {
  startAttributesClassProtection,
  startClaimProtection,
  startVolumeProtection,
} from "../volume/protection/controller.ts";
import { selectControllers } from "./select.ts";

export interface ControllersOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Between 0 and 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** PEM: certificate by which pods verify the API server. */
  readonly rootCA: string;
  readonly features: Features;
  /** Authority that signs certificates; without it none are signed. */
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
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): string;
}

interface ControllerInputs
  extends Pick<ControllersOptions, "nodeIpam" | "podGarbage" | "rootCA" | "serviceAccountKey" | "signing"> {
  readonly served: Promise<ServedResources>;
}

type Start = (context: ControllerContext, given: ControllerInputs) => Promise<Controller>;

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
 * Starts the controllers and resolves when each of them works. Rejects with `ConnectionError` or
 * `StatusError` if the server cannot say what it serves, and with a TypeError for a controller that is not
 * known.
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
  const ofProcess = new ProcessMetrics({ clock, release: features.version });
  return { stopped, metrics: () => `${metrics.text()}${ofProcess.text()}` };
}
