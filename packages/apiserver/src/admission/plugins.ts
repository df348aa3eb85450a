import type { Features } from "@dray/api";
import type { Clock } from "@dray/client";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Rbac } from "../authorization/rbac.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { Storage } from "../storage/storage.ts";
import type { WebhookClient } from "../webhook/client.ts";
import type { Registry } from "../write/registry.ts";
import type { AdmissionPlugin } from "./admission.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from "./certificates.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-class.ts";
import type { DeviceUsage } from "./device-usage.ts";
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

/** What plugins may ask. */
export interface AdmissionContext {
  readonly storage: Storage;
  readonly features: Features;
  readonly rbac: Rbac;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly now: () => number;
  readonly after: Clock["after"];
  readonly newId: () => string;
  readonly resources: readonly ServedResource[];
  readonly deviceUsage?: DeviceUsage | undefined;
  /** How webhooks are asked. */
  readonly webhooks: WebhookClient;
  /** For what a plugin writes itself. Plugins are made before the registry, which asks them. */
  readonly registry: () => Registry;
}

/** All plugins in the order of kube-apiserver; of those that are off by default the enabled ones. */
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
    ...(enabled.includes("UniqueDeviceAllocation") ? [uniqueDeviceAllocation(context)] : []),
    // The last, so that nothing is charged that another plugin refuses.
    resourceQuota(context),
  ];
}
