/**
 * What the API server accepts: the rules of each kind, beyond the shape of its fields, with upstream's paths and texts.
 * Objects of resource.k8s.io are judged in the form of v1, whatever version they were written in.
 */
import type { FieldError } from "../errors.ts";
import type { NameRule } from "../names.ts";
import { dnsSubdomain } from "../names.ts";
import type { KubeObject } from "../object.ts";
import { kindRows } from "../schema/table.ts";
import type { ValidationContext } from "./context.ts";
import * as core from "./core.ts";
import { FieldErrors } from "./field.ts";
import { checkCommonUpdate, checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "./metadata.ts";
import { checkPod, checkPodStatus, checkPodUpdate } from "./pod/pod.ts";
import { checkBinding, checkRole } from "./rbac.ts";
import * as claim from "./resource/claim.ts";
import * as deviceClass from "./resource/class.ts";
import * as poolRequest from "./resource/poolrequest.ts";
import * as rule from "./resource/rule.ts";
import * as slice from "./resource/slice.ts";
import { checkClaimStatus } from "./resource/status.ts";
import * as reviews from "./reviews.ts";
import * as workloads from "./workloads.ts";

export type { CompiledSelector, ValidationContext } from "./context.ts";
export { dropDisabledFields } from "./disabled.ts";
export { isExtendedResourceName } from "./resource/class.ts";
export { stampChangedTaint } from "./resource/rule.ts";
export { dropDeallocatedDevices } from "./resource/status.ts";

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
    ConfigMap: core.configMap,
    Event: core.event,
    Namespace: core.namespace,
    Node: core.node,
    Secret: core.secret,
    Service: core.service,
    ServiceAccount: core.serviceAccount,
    "TokenRequest.authentication.k8s.io": { create: reviews.checkTokenRequest },
    "TokenReview.authentication.k8s.io": { create: reviews.checkTokenReview },
    "LocalSubjectAccessReview.authorization.k8s.io": { create: reviews.checkLocalReview },
    "SelfSubjectAccessReview.authorization.k8s.io": { create: reviews.checkSelfReview },
    "SubjectAccessReview.authorization.k8s.io": { create: reviews.checkSubjectReview },
    "ControllerRevision.apps": workloads.controllerRevision,
    "DaemonSet.apps": workloads.daemonSet,
    "Deployment.apps": workloads.deployment,
    "ReplicaSet.apps": workloads.replicaSet,
    "StatefulSet.apps": workloads.statefulSet,
    "Lease.coordination.k8s.io": core.lease,
    "ClusterRole.rbac.authorization.k8s.io": checkRole(false),
    "ClusterRoleBinding.rbac.authorization.k8s.io": checkBinding(false),
    "Role.rbac.authorization.k8s.io": checkRole(true),
    "RoleBinding.rbac.authorization.k8s.io": checkBinding(true),
    "PriorityClass.scheduling.k8s.io": core.priorityClass,
    "ResourcePoolStatusRequest.resource.k8s.io": {
      create: poolRequest.checkPoolRequest,
      update: poolRequest.checkPoolRequestUpdate,
      status: poolRequest.checkPoolRequestStatus,
    },
    Pod: { create: checkPod, update: checkPodUpdate, status: checkPodStatus },
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
): FieldError[] {
  const errors = new FieldErrors();
  const own = rules.get(key(kind));
  if (own) own.create(errors, object as never, context);
  else checkAny(errors, kind, object);
  return errors.list;
}

/** What is wrong with an object that is to replace the stored one. */
export function validateUpdate(
  kind: GroupKind,
  object: KubeObject,
  old: KubeObject,
  context: ValidationContext,
): FieldError[] {
  const errors = new FieldErrors();
  checkCommonUpdate(errors, object.metadata, old.metadata, isNamespaced(kind, object));
  const own = rules.get(key(kind));
  if (own?.update) own.update(errors, object as never, old as never, context);
  else {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkFinalizerNames(errors, "metadata", object.metadata);
  }
  return errors.list;
}

/** What is wrong with a new status; everything else of the object is that of the stored one already. */
export function validateStatusUpdate(
  kind: GroupKind,
  object: KubeObject,
  old: KubeObject,
  context: ValidationContext,
): FieldError[] {
  const errors = new FieldErrors();
  checkCommonUpdate(errors, object.metadata, old.metadata, isNamespaced(kind, object));
  const own = rules.get(key(kind));
  if (own?.status) own.status(errors, object as never, old as never, context);
  else {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkFinalizerNames(errors, "metadata", object.metadata);
  }
  return errors.list;
}
