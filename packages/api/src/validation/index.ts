/**
 * What the API server accepts: the rules of each kind, beyond the shape of its fields, with upstream's paths and texts.
 * Objects of resource.k8s.io are judged in the form of v1, whatever version they were written in.
 */
import type { FieldError } from "../errors/field-error.ts";
import type { KubeObject } from "../objects/object.ts";
import { kindRows } from "../schema/table.ts";
import type { NameRule } from "../values/names.ts";
import { dnsSubdomain, pathSegment } from "../values/names.ts";
import { mutatingBinding, mutatingPolicy } from "./admissionregistration/mutating-policies.ts";
import { validatingBinding, validatingPolicy } from "./admissionregistration/validating-policies.ts";
import { webhookConfiguration } from "./admissionregistration/webhooks.ts";
import { customResourceDefinition } from "./apiextensions/definition.ts";
import { apiService } from "./apiregistration.ts";
import { horizontalPodAutoscaler } from "./autoscaling.ts";
import type { ValidationContext } from "./context.ts";
import * as core from "./core.ts";
import { event } from "./event.ts";
import { FieldErrors } from "./field.ts";
import { flowSchema, priorityLevelConfiguration } from "./flowcontrol.ts";
import * as groups from "./groups.ts";
import { leaseCandidate } from "./lease-candidate.ts";
import { checkCommonUpdate, checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "./metadata.ts";
import { ipAddress, serviceCIDR } from "./networking/addresses.ts";
import { endpointSlice, endpoints } from "./networking/endpoints.ts";
import { ingress, ingressClass } from "./networking/ingress.ts";
import { networkPolicy } from "./networking/policy.ts";
import { service } from "./networking/service.ts";
import { checkEphemeralContainers } from "./pod/ephemeral.ts";
import { checkPodCreate, checkPodUpdate } from "./pod/pod.ts";
import { checkPodResize } from "./pod/resize.ts";
import { checkPodStatus } from "./pod/status.ts";
import { podDisruptionBudget, runtimeClass } from "./policy.ts";
import { limitRange, resourceQuota } from "./quota.ts";
import { checkBinding, checkRole } from "./rbac.ts";
import * as claim from "./resource/claim.ts";
import * as deviceClass from "./resource/class.ts";
import * as poolRequest from "./resource/poolrequest.ts";
import * as rule from "./resource/rule.ts";
import * as slice from "./resource/slice.ts";
import { checkClaimStatus } from "./resource/status.ts";
import * as reviews from "./reviews.ts";
import * as secret from "./secret.ts";
import { persistentVolumeClaim } from "./storage/claim.ts";
import * as storage from "./storage/classes.ts";
import { persistentVolume } from "./storage/volume.ts";
import { storageVersionMigration } from "./storage-migration.ts";
import { clusterTrustBundle } from "./trust-bundle.ts";
import * as apps from "./workloads/apps.ts";
import { podTemplate, replicationController } from "./workloads/controller.ts";
import { cronJob } from "./workloads/cronjob.ts";
import { job } from "./workloads/job.ts";
import { checkJobStatus } from "./workloads/job-status.ts";
import { statefulSet } from "./workloads/statefulset.ts";

export { isExtendedResourceName } from "../values/names.ts";
export {
  checkService as checkWebhookService,
  checkUrl as checkWebhookUrl,
} from "./admissionregistration/webhooks.ts";
export { checkConditions } from "./conditions.ts";
export type { AdmissionExpressions, CompiledSelector, ValidationContext } from "./context.ts";
export { type DisabledField, disabledFields, dropDisabledFields } from "./disabled.ts";
export { checkImmutable, FieldErrors, sameValue } from "./field.ts";
export { mandatoryFlowControl } from "./flowcontrol.ts";
export {
  checkAnnotations,
  checkCommonUpdate,
  checkLabels,
  checkMetadata,
  checkMetadataUpdate,
} from "./metadata.ts";
export { serviceAddressErrors } from "./networking/service.ts";
export { checkNodeSelector, checkNodeSelectorTerm } from "./nodeselector.ts";
export { stampChangedTaint } from "./resource/rule.ts";
export { dropDeallocatedDevices } from "./resource/status.ts";
export { warningsFor } from "./warnings/index.ts";

/** A kind as rules are looked up by: its version does not matter. */
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

type Check = (errors: FieldErrors, object: never, context: ValidationContext) => void;
type CheckUpdate = (errors: FieldErrors, object: never, old: never, context: ValidationContext) => void;

interface Rules {
  readonly create: Check;
  /** None for kinds that are never stored. */
  readonly update?: CheckUpdate;
  readonly status?: CheckUpdate;
}

/** By `Kind.group`, as messages name a kind. */
const rules = new Map<string, Rules>(
  Object.entries<Rules>({
    ConfigMap: secret.configMap,
    Event: event,
    LimitRange: limitRange,
    Namespace: core.namespace,
    Node: core.node,
    ResourceQuota: resourceQuota,
    Secret: secret.secret,
    Service: service,
    ServiceAccount: core.serviceAccount,
    "TokenRequest.authentication.k8s.io": { create: reviews.checkTokenRequest },
    "TokenReview.authentication.k8s.io": { create: reviews.checkTokenReview },
    "LocalSubjectAccessReview.authorization.k8s.io": { create: reviews.checkLocalReview },
    "SelfSubjectAccessReview.authorization.k8s.io": { create: reviews.checkSelfReview },
    "SubjectAccessReview.authorization.k8s.io": { create: reviews.checkSubjectReview },
    "MutatingAdmissionPolicy.admissionregistration.k8s.io": mutatingPolicy,
    "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io": mutatingBinding,
    "MutatingWebhookConfiguration.admissionregistration.k8s.io": webhookConfiguration,
    "ValidatingAdmissionPolicy.admissionregistration.k8s.io": validatingPolicy,
    "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": validatingBinding,
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io": webhookConfiguration,
    "CustomResourceDefinition.apiextensions.k8s.io": customResourceDefinition,
    "APIService.apiregistration.k8s.io": apiService,
    "ControllerRevision.apps": apps.controllerRevision,
    "DaemonSet.apps": apps.daemonSet,
    "Deployment.apps": apps.deployment,
    "ReplicaSet.apps": apps.replicaSet,
    "StatefulSet.apps": statefulSet,
    "HorizontalPodAutoscaler.autoscaling": horizontalPodAutoscaler,
    "CSIDriver.storage.k8s.io": storage.csiDriver,
    "CSINode.storage.k8s.io": storage.csiNode,
    "CSIStorageCapacity.storage.k8s.io": storage.csiStorageCapacity,
    "StorageClass.storage.k8s.io": storage.storageClass,
    "StorageVersionMigration.storagemigration.k8s.io": storageVersionMigration,
    "VolumeAttachment.storage.k8s.io": storage.volumeAttachment,
    "VolumeAttributesClass.storage.k8s.io": storage.volumeAttributesClass,
    Endpoints: endpoints,
    "EndpointSlice.discovery.k8s.io": endpointSlice,
    "FlowSchema.flowcontrol.apiserver.k8s.io": flowSchema,
    "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io": priorityLevelConfiguration,
    "IPAddress.networking.k8s.io": ipAddress,
    "Ingress.networking.k8s.io": ingress,
    "IngressClass.networking.k8s.io": ingressClass,
    "NetworkPolicy.networking.k8s.io": networkPolicy,
    "ServiceCIDR.networking.k8s.io": serviceCIDR,
    "PodDisruptionBudget.policy": podDisruptionBudget,
    "RuntimeClass.node.k8s.io": runtimeClass,
    "CronJob.batch": cronJob,
    "Job.batch": { ...job, status: checkJobStatus },
    PersistentVolume: persistentVolume,
    PersistentVolumeClaim: persistentVolumeClaim,
    PodTemplate: podTemplate,
    ReplicationController: replicationController,
    "ClusterTrustBundle.certificates.k8s.io": clusterTrustBundle,
    "Lease.coordination.k8s.io": core.lease,
    "LeaseCandidate.coordination.k8s.io": leaseCandidate,
    "ClusterRole.rbac.authorization.k8s.io": checkRole(false),
    "ClusterRoleBinding.rbac.authorization.k8s.io": checkBinding(false),
    "Role.rbac.authorization.k8s.io": checkRole(true),
    "RoleBinding.rbac.authorization.k8s.io": checkBinding(true),
    "CompositePodGroup.scheduling.k8s.io": groups.compositePodGroup,
    "PodGroup.scheduling.k8s.io": groups.podGroup,
    "PriorityClass.scheduling.k8s.io": core.priorityClass,
    "Workload.scheduling.k8s.io": groups.workload,
    "ResourcePoolStatusRequest.resource.k8s.io": {
      create: poolRequest.checkPoolRequest,
      update: poolRequest.checkPoolRequestUpdate,
      status: poolRequest.checkPoolRequestStatus,
    },
    Pod: { create: checkPodCreate, update: checkPodUpdate, status: checkPodStatus },
    "DeviceClass.resource.k8s.io": { create: deviceClass.checkClass, update: deviceClass.checkClassUpdate },
    "DeviceTaintRule.resource.k8s.io": {
      create: rule.checkRule,
      update: rule.checkRuleUpdate,
      status: rule.checkRuleStatus,
    },
    "ResourceClaim.resource.k8s.io": {
      create: claim.checkClaim,
      update: claim.checkClaimUpdate,
      status: checkClaimStatus,
    },
    "ResourceClaimTemplate.resource.k8s.io": {
      create: claim.checkTemplate,
      update: claim.checkTemplateUpdate,
    },
    "ResourceSlice.resource.k8s.io": { create: slice.checkSlice, update: slice.checkSliceUpdate },
  }),
);

const key = ({ group, kind }: GroupKind): string => (group === "" ? kind : `${kind}.${group}`);

let namespacedKinds: ReadonlyMap<string, boolean> | undefined;
/** Whether objects of the kind live in a namespace; a kind that the schema does not know: where this object says so. */
function isNamespaced(kind: GroupKind, object: KubeObject): boolean {
  namespacedKinds ??= new Map(kindRows.map((row) => [key(row), row.namespaced]));
  return namespacedKinds.get(key(kind)) ?? Boolean(object.metadata.namespace);
}

/** Kinds without rules of their own are held to those of metadata, with names that are DNS subdomains. */
function checkAny(
  errors: FieldErrors,
  kind: GroupKind,
  object: KubeObject,
  name: NameRule = dnsSubdomain,
): void {
  checkMetadata(errors, "metadata", object.metadata, name, isNamespaced(kind, object));
  checkFinalizerNames(errors, "metadata", object.metadata);
}

/** What is wrong with a new object; an empty list means that it is valid. Defaults must have been set. */
export function validateCreate(
  kind: GroupKind,
  object: KubeObject,
  context: ValidationContext,
): readonly FieldError[] {
  const errors = new FieldErrors(context.features.version);
  const own = rules.get(key(kind));
  if (own) own.create(errors, object as never, context);
  else checkAny(errors, kind, object);
  // Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, BeforeCreate
  const stored = own === undefined || own.update !== undefined;
  if (stored && errors.list.length === 0)
    checkMetadata(errors, "metadata", object.metadata, pathSegment, isNamespaced(kind, object));
  return errors.reported;
}

/** What is wrong with an object that is to replace the stored one. */
export function validateUpdate(
  kind: GroupKind,
  object: KubeObject,
  old: KubeObject,
  context: ValidationContext,
): readonly FieldError[] {
  const errors = new FieldErrors(context.features.version);
  checkCommonUpdate(errors, object.metadata, old.metadata, isNamespaced(kind, object));
  const own = rules.get(key(kind));
  if (own?.update) own.update(errors, object as never, old as never, context);
  else {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkFinalizerNames(errors, "metadata", object.metadata);
  }
  return errors.reported;
}

/** Subresources, besides `status`, that have rules of their own. */
const views: Readonly<Record<string, CheckUpdate>> = {
  resize: checkPodResize,
  ephemeralcontainers: checkEphemeralContainers,
  finalize: core.checkNamespaceFinalize,
};

/** What is wrong with an object that is written by a subresource; undefined where that has no rules of its own. */
export function validateView(
  object: KubeObject,
  old: KubeObject,
  subresource: string,
  context: ValidationContext,
): readonly FieldError[] | undefined {
  const check = Object.hasOwn(views, subresource) ? views[subresource] : undefined;
  if (check === undefined) return undefined;
  const errors = new FieldErrors(context.features.version);
  check(errors, object as never, old as never, context);
  return errors.reported;
}

/** What is wrong with a new status; everything else of the object is that of the stored one already. */
export function validateStatusUpdate(
  kind: GroupKind,
  object: KubeObject,
  old: KubeObject,
  context: ValidationContext,
): readonly FieldError[] {
  const errors = new FieldErrors(context.features.version);
  checkCommonUpdate(errors, object.metadata, old.metadata, isNamespaced(kind, object));
  const own = rules.get(key(kind));
  if (own?.status) own.status(errors, object as never, old as never, context);
  else {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkFinalizerNames(errors, "metadata", object.metadata);
  }
  return errors.reported;
}
