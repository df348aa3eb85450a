export { startBootstrapSigner } from "./bootstrap/signer.ts";
export { startTokenCleaner } from "./bootstrap/token-cleaner.ts";
export { startCertificateApprover } from "./certificates/approver.ts";
export { startCertificateRequestCleaner } from "./certificates/cleaner.ts";
export { startTrustBundlePublisher } from "./certificates/clustertrustbundle-publisher.ts";
export { startPodCertificateRequestCleaner } from "./certificates/podcertificaterequest-cleaner.ts";
export { startRootCertificatePublisher } from "./certificates/root-ca-cert-publisher.ts";
export { type ClusterSigning, startCertificateSigner } from "./certificates/signer.ts";
export { startClusterRoleAggregation } from "./clusterroleaggregation/controller.ts";
export { selectControllers } from "./controller-manager/select.ts";
export {
  type Controllers,
  type ControllersOptions,
  controllerNames,
  startControllers,
} from "./controller-manager/start.ts";
export { startCronJobController } from "./cronjob/controller.ts";
export { startDaemonSetController } from "./daemon/controller.ts";
export { startDeploymentController } from "./deployment/controller.ts";
export { startDeviceTaintEvictionController } from "./devicetainteviction/controller.ts";
export { startDisruptionController } from "./disruption/controller.ts";
export { startEndpointsController } from "./endpoint/controller.ts";
export { startEndpointSliceController } from "./endpointslice/controller.ts";
export { startEndpointSliceMirroringController } from "./endpointslicemirroring/controller.ts";
export { startGarbageCollector } from "./garbagecollector/controller.ts";
export { startJobController } from "./job/controller.ts";
export { startNamespaceController } from "./namespace/controller.ts";
export { type NodeIpamOptions, nodePools, startNodeIpam } from "./nodeipam/controller.ts";
export { startNodeLifecycleController } from "./nodelifecycle/controller.ts";
export { startHorizontalPodAutoscalerController } from "./podautoscaler/controller.ts";
export { startPodGarbageCollector } from "./podgc/controller.ts";
export { startPodGroupProtectionController } from "./podgroupprotection/controller.ts";
export { startReplicaSetController, startReplicationController } from "./replicaset/controller.ts";
export { startResourceClaimController } from "./resourceclaim/controller.ts";
export { startResourcePoolStatusController } from "./resourcepoolstatusrequest/controller.ts";
export { startResourceQuotaController } from "./resourcequota/controller.ts";
export { startServiceAccountController } from "./serviceaccount/controller.ts";
export { startLegacyTokenCleaner } from "./serviceaccount/legacy-token-cleaner.ts";
export { startTokenSecretController } from "./serviceaccount/token-controller.ts";
export { startServiceCIDRController } from "./servicecidrs/controller.ts";
export type { Controller, ControllerContext } from "./shared/context.ts";
export { createInformers, type Informers } from "./shared/informers.ts";
export { ControllerMetrics } from "./shared/metrics.ts";
export { type ServedResource, type ServedResources, servedResources } from "./shared/served-resources.ts";
export { startStatefulSetController } from "./statefulset/controller.ts";
export { startStorageVersionMigrator } from "./storageversionmigrator/controller.ts";
export { startTaintEvictionController } from "./tainteviction/controller.ts";
export { startJobExpiryController } from "./ttlafterfinished/controller.ts";
export { startAttachDetachController } from "./volume/attachdetach/controller.ts";
export { startEphemeralVolumeController } from "./volume/ephemeral/controller.ts";
export { startVolumeExpander } from "./volume/expand/controller.ts";
export { startPersistentVolumeController } from "./volume/persistentvolume/controller.ts";
export { localPathStorageClass } from "./volume/persistentvolume/local-path.ts";
export {
  startAttributesClassProtection,
  startClaimProtection,
  startVolumeProtection,
} from "./volume/protection/controller.ts";
