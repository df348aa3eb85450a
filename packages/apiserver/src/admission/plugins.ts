import type { AdmissionPlugin } from "./admission.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from "./certificates.ts";
import type { AdmissionContext } from "./context.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-class.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { taintNodesByCondition } from "./node-taint.ts";
import { checkPluginNames } from "./plugin-names.ts";
import { podGroupProtection, podGroupWorkloadExists } from "./pod-groups.ts";
import { podSecurity } from "./pod-security/plugin.ts";
import { mutatingAdmissionPolicy } from "./policy/mutating/plugin.ts";
import { validatingAdmissionPolicy } from "./policy/plugin.ts";
import { priority } from "./priority.ts";
import { rbacEscalation } from "./rbac-escalation.ts";
import { resourceQuota } from "./resource-quota/plugin.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import { defaultTolerationSeconds } from "./tolerations.ts";
import { podTopologyLabels } from "./topology-labels.ts";
import { uniqueDeviceAllocation } from "./unique-device-allocation.ts";
import { persistentVolumeClaimResize, storageObjectInUseProtection } from "./volumes.ts";
import { mutatingAdmissionWebhook } from "./webhook/mutating.ts";
import { validatingAdmissionWebhook } from "./webhook/validating.ts";

/**
 * All plugins in the order of kube-apiserver. UniqueDeviceAllocation, which is off by default, is among them
 * if the context has the reservations that it shares with the strategy of claims. Throws a TypeError for an
 * unknown name.
 */
export function admissionPlugins(
  context: AdmissionContext,
  enabled: readonly string[] = [],
): AdmissionPlugin[] {
  checkPluginNames(enabled);
  return [
    namespaceLifecycle(context),
    limitRanger(context),
    serviceAccount(context),
    nodeRestriction(context),
    taintNodesByCondition(),
    podSecurity(context),
    priority(context),
    defaultTolerationSeconds(),
    defaultStorageClass(context),
    storageObjectInUseProtection(),
    podGroupProtection(context),
    persistentVolumeClaimResize(context),
    runtimeClass(context),
    certificateApproval(context),
    certificateSigning(context),
    clusterTrustBundleAttest(context),
    certificateSubjectRestriction(),
    defaultIngressClass(context),
    podTopologyLabels(context),
    podGroupWorkloadExists(context),
    mutatingAdmissionPolicy(context),
    mutatingAdmissionWebhook(context),
    // Behind the webhooks: what counts is what will be stored.
    rbacEscalation(context),
    validatingAdmissionPolicy(context),
    validatingAdmissionWebhook(context),
    ...(context.deviceReservations ? [uniqueDeviceAllocation(context.deviceReservations)] : []),
    // The last, so that nothing is charged that another plugin refuses.
    resourceQuota(context),
  ];
}
