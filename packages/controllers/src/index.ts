export { startCertificateApprover } from "./certificates/approver.ts";
export { startCertificateRequestCleaner } from "./certificates/cleaner.ts";
export { type ClusterSigning, startCertificateSigner } from "./certificates/signer.ts";
export type { Controller, ControllerContext } from "./context.ts";
export { startGarbageCollector } from "./deletion/garbage-collector.ts";
export { startNamespaceController } from "./deletion/namespace.ts";
export { type ServedResource, type ServedResources, servedResources } from "./deletion/resources.ts";
export { startPodGroupProtectionController } from "./devices/pod-group-protection.ts";
export { startResourcePoolStatusController } from "./devices/pool-status/resource-pool-status.ts";
export { startResourceClaimController } from "./devices/resource-claim.ts";
export { startDeviceTaintEvictionController } from "./devices/taints/device-taint-eviction.ts";
export { startBootstrapSigner } from "./identity/bootstrap-signer.ts";
export { startClusterRoleAggregation } from "./identity/cluster-role-aggregation.ts";
export { startLegacyTokenCleaner } from "./identity/legacy-token-cleaner.ts";
export { startRootCertificatePublisher, startServiceAccountController } from "./identity/service-account.ts";
export { startTokenCleaner } from "./identity/token-cleaner.ts";
export { startTokenSecretController } from "./identity/token-secret.ts";
export { createInformers, type Informers } from "./informers.ts";
export { ControllerMetrics } from "./metrics.ts";
export { startEndpointSliceController } from "./network/endpoint-slice.ts";
export { startEndpointSliceMirroringController } from "./network/endpoint-slice-mirroring.ts";
export { startEndpointsController } from "./network/endpoints.ts";
export { startServiceCIDRController } from "./network/service-cidr.ts";
export { type NodeIpamOptions, nodePools, startNodeIpam } from "./nodes/ipam.ts";
export { startNodeLifecycleController } from "./nodes/node-lifecycle.ts";
export { startPodGarbageCollector } from "./nodes/pod-gc.ts";
export { startTaintEvictionController } from "./nodes/taint-eviction.ts";
export { startResourceQuotaController } from "./quota/resource-quota.ts";
export { selectControllers } from "./select.ts";
export { type Controllers, type ControllersOptions, controllerNames, startControllers } from "./start.ts";
export { startAttachDetachController } from "./storage/attach-detach.ts";
export { startEphemeralVolumeController } from "./storage/ephemeral-volume.ts";
export { startVolumeExpander } from "./storage/expander.ts";
export { localPathStorageClass } from "./storage/local-path.ts";
export { startPersistentVolumeController } from "./storage/persistent-volume.ts";
export {
  startAttributesClassProtection,
  startClaimProtection,
  startVolumeProtection,
} from "./storage/volume-protection.ts";
export { startCronJobController } from "./workloads/cron-job.ts";
export { startDaemonSetController } from "./workloads/daemon-set.ts";
export { startDeploymentController } from "./workloads/deployment.ts";
export { startDisruptionController } from "./workloads/disruption.ts";
export { startHorizontalPodAutoscalerController } from "./workloads/horizontal-pod-autoscaler.ts";
export { startJobController } from "./workloads/job.ts";
export { startJobExpiryController } from "./workloads/job-expiry.ts";
export { startReplicaSetController, startReplicationController } from "./workloads/replica-set.ts";
export { startStatefulSetController } from "./workloads/stateful-set.ts";
