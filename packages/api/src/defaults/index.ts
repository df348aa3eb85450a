/**
 * What the API server fills in where a client left a field out. Each function changes the object in place, and only
 * fields that are unset.
 */

import { newestKubernetesVersion } from "../features/features.ts";
import type { TokenRequest } from "../generated/authentication/v1.ts";
import type { PodCertificateRequest } from "../generated/certificates/v1.ts";
import type { KubeObject, Time } from "../objects/object.ts";
import * as admission from "./admissionregistration.ts";
import { defaultAPIService } from "./apiregistration.ts";
import * as apps from "./apps.ts";
import * as autoscaling from "./autoscaling.ts";
import * as batch from "./batch.ts";
import * as core from "./core.ts";
import * as flowcontrol from "./flowcontrol.ts";
import * as networking from "./networking.ts";
import { defaultPod, defaultPodTemplate } from "./pod.ts";
import * as rbac from "./rbac.ts";
import * as resource from "./resource.ts";
import * as scheduling from "./scheduling.ts";
import * as storage from "./storage.ts";

export { podQosClass } from "../pod/qos.ts";

/** A token lasts an hour where nobody says. */
function defaultTokenRequest(request: TokenRequest): void {
  request.spec ??= { audiences: [] };
  request.spec.expirationSeconds ??= 60 * 60;
}

/** By default a pod certificate lasts 24 hours at most. Upstream: certificates/v1, PodCertificateRequestSpec */
function defaultPodCertificateRequest({ spec }: PodCertificateRequest): void {
  spec.maxExpirationSeconds ??= 24 * 60 * 60;
}

type Default = (object: never, now: Time, release: string) => void;

/** By `group/version.Kind`, the core group without a name. A kind that is not here has no defaults. */
const defaults = new Map<string, Default>(
  Object.entries<Default>({
    "/v1.Endpoints": networking.defaultEndpoints,
    "/v1.LimitRange": core.defaultLimitRange,
    "/v1.Namespace": core.defaultNamespace,
    "/v1.Node": core.defaultNode,
    "/v1.PersistentVolume": core.defaultPersistentVolume,
    "/v1.PersistentVolumeClaim": core.defaultPersistentVolumeClaim,
    "/v1.Pod": defaultPod,
    "/v1.PodTemplate": ({ template }: { template?: Parameters<typeof defaultPodTemplate>[0] }) =>
      defaultPodTemplate(template),
    "/v1.ReplicationController": core.defaultReplicationController,
    "/v1.ResourceQuota": core.defaultResourceQuota,
    "/v1.Secret": core.defaultSecret,
    "/v1.Service": core.defaultService,
    "admissionregistration.k8s.io/v1.MutatingAdmissionPolicy": admission.defaultPolicy,
    "admissionregistration.k8s.io/v1.MutatingAdmissionPolicyBinding": admission.defaultPolicyBinding,
    "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration": admission.defaultMutatingWebhooks,
    "admissionregistration.k8s.io/v1beta1.MutatingAdmissionPolicy": admission.defaultPolicy,
    "admissionregistration.k8s.io/v1beta1.MutatingAdmissionPolicyBinding": admission.defaultPolicyBinding,
    "admissionregistration.k8s.io/v1alpha1.MutatingAdmissionPolicy": admission.defaultPolicy,
    "admissionregistration.k8s.io/v1alpha1.MutatingAdmissionPolicyBinding": admission.defaultPolicyBinding,
    "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicy": admission.defaultPolicy,
    "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicyBinding": admission.defaultPolicyBinding,
    "admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration": admission.defaultValidatingWebhooks,
    "apiregistration.k8s.io/v1.APIService": defaultAPIService,
    "apps/v1.DaemonSet": apps.defaultDaemonSet,
    "apps/v1.Deployment": apps.defaultDeployment,
    "apps/v1.ReplicaSet": apps.defaultReplicaSet,
    "apps/v1.StatefulSet": apps.defaultStatefulSet,
    "authentication.k8s.io/v1.TokenRequest": defaultTokenRequest,
    "autoscaling/v1.HorizontalPodAutoscaler": autoscaling.defaultOldAutoscaler,
    "autoscaling/v2.HorizontalPodAutoscaler": autoscaling.defaultAutoscaler,
    "batch/v1.CronJob": batch.defaultCronJob,
    "batch/v1.Job": batch.defaultJob,
    "certificates.k8s.io/v1.PodCertificateRequest": defaultPodCertificateRequest,
    "discovery.k8s.io/v1.EndpointSlice": networking.defaultEndpointSlice,
    "flowcontrol.apiserver.k8s.io/v1.FlowSchema": flowcontrol.defaultFlowSchema,
    "flowcontrol.apiserver.k8s.io/v1.PriorityLevelConfiguration": flowcontrol.defaultPriorityLevel,
    "networking.k8s.io/v1.IngressClass": networking.defaultIngressClass,
    "networking.k8s.io/v1.NetworkPolicy": networking.defaultNetworkPolicy,
    "rbac.authorization.k8s.io/v1.ClusterRoleBinding": rbac.defaultRoleBinding,
    "rbac.authorization.k8s.io/v1.RoleBinding": rbac.defaultRoleBinding,
    "resource.k8s.io/v1.DeviceTaintRule": resource.defaultRule,
    "resource.k8s.io/v1.ResourceClaim": resource.defaultClaim,
    "resource.k8s.io/v1.ResourceClaimTemplate": resource.defaultTemplate,
    "resource.k8s.io/v1.ResourceSlice": resource.defaultSlice,
    "resource.k8s.io/v1alpha3.DeviceTaintRule": resource.defaultRule,
    "resource.k8s.io/v1alpha3.ResourcePoolStatusRequest": resource.defaultPoolRequest,
    "resource.k8s.io/v1beta1.ResourceClaim": resource.defaultOldClaim,
    "resource.k8s.io/v1beta1.ResourceClaimTemplate": resource.defaultOldTemplate,
    "resource.k8s.io/v1beta1.ResourceSlice": resource.defaultOldSlice,
    "resource.k8s.io/v1beta2.DeviceTaintRule": resource.defaultRule,
    "resource.k8s.io/v1beta2.ResourceClaim": resource.defaultClaim,
    "resource.k8s.io/v1beta2.ResourceClaimTemplate": resource.defaultTemplate,
    "resource.k8s.io/v1beta2.ResourceSlice": resource.defaultSlice,
    "scheduling.k8s.io/v1.PriorityClass": scheduling.defaultPriorityClass,
    "storage.k8s.io/v1.CSIDriver": storage.defaultDriver,
    "storage.k8s.io/v1.VolumeAttachment": storage.defaultAttachment,
    "storage.k8s.io/v1.StorageClass": storage.defaultStorageClass,
  }),
);

/**
 * Fills in the defaults of a decoded object of that version, in place. `now` is the server's time, for the fields
 * that default to it (the `timeAdded` of device taints); `release` whose defaults they are, the newest if absent. What strategies and admission set (phase of a pod, priority,
 * default tolerations, cluster addresses) is not here.
 */
export function setDefaults(
  group: string,
  version: string,
  kind: string,
  object: KubeObject,
  now: Time,
  release: string = newestKubernetesVersion,
): void {
  defaults.get(`${group}/${version}.${kind}`)?.(object as never, now, release);
}
