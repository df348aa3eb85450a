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
import { uniqueDeviceAllocation } from "./unique-device-allocation/plugin.ts";
import { persistentVolumeClaimResize, storageObjectInUseProtection } from "./volumes.ts";
import { mutatingAdmissionWebhook } from "./webhook/mutating.ts";
import { validatingAdmissionWebhook } from "./webhook/validating.ts";

/** An admission plugin: whether it is on, and how it is created. */
interface PluginEntry {
  readonly name: string;
  /** `always`: a check that upstream does outside of admission, and that flags cannot name. */
  readonly default: "on" | "off" | "always";
  /** Effect of a plugin that is off, for the help of `--enable-admission-plugins`. */
  readonly help?: string;
  /** Absent: a plugin of upstream that this server lacks. */
  readonly create?: (context: AdmissionContext) => AdmissionPlugin;
}

/**
 * All admission plugins, in the order in which they run.
 *
 * Upstream: pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins and DefaultOffAdmissionPlugins
 */
const entries: readonly PluginEntry[] = [
  { name: "AlwaysAdmit", default: "off" },
  { name: "NamespaceAutoProvision", default: "off" },
  { name: "NamespaceLifecycle", default: "on", create: namespaceLifecycle },
  { name: "NamespaceExists", default: "off" },
  { name: "LimitPodHardAntiAffinityTopology", default: "off" },
  { name: "LimitRanger", default: "on", create: limitRanger },
  { name: "ServiceAccount", default: "on", create: serviceAccount },
  { name: "NodeRestriction", default: "on", create: nodeRestriction },
  { name: "TaintNodesByCondition", default: "on", create: taintNodesByCondition },
  { name: "AlwaysPullImages", default: "off" },
  { name: "ImagePolicyWebhook", default: "off" },
  { name: "PodSecurity", default: "on", create: podSecurity },
  { name: "PodNodeSelector", default: "off" },
  { name: "Priority", default: "on", create: priority },
  { name: "DefaultTolerationSeconds", default: "on", create: defaultTolerationSeconds },
  { name: "PodTolerationRestriction", default: "off" },
  { name: "EventRateLimit", default: "off" },
  { name: "ExtendedResourceToleration", default: "off" },
  { name: "DefaultStorageClass", default: "on", create: defaultStorageClass },
  { name: "StorageObjectInUseProtection", default: "on", create: storageObjectInUseProtection },
  { name: "PodGroupProtection", default: "on", create: podGroupProtection },
  { name: "OwnerReferencesPermissionEnforcement", default: "off" },
  { name: "PersistentVolumeClaimResize", default: "on", create: persistentVolumeClaimResize },
  { name: "RuntimeClass", default: "on", create: runtimeClass },
  { name: "CertificateApproval", default: "on", create: certificateApproval },
  { name: "CertificateSigning", default: "on", create: certificateSigning },
  { name: "ClusterTrustBundleAttest", default: "on", create: clusterTrustBundleAttest },
  { name: "CertificateSubjectRestriction", default: "on", create: certificateSubjectRestriction },
  { name: "DefaultIngressClass", default: "on", create: defaultIngressClass },
  { name: "DenyServiceExternalIPs", default: "off" },
  { name: "PodTopologyLabels", default: "on", create: podTopologyLabels },
  { name: "PodGroupWorkloadExists", default: "on", create: podGroupWorkloadExists },
  { name: "NodeDeclaredFeatureValidator", default: "on" },
  { name: "JobValidation", default: "on" },
  { name: "PodResizeValidator", default: "on" },
  { name: "MutatingAdmissionPolicy", default: "on", create: mutatingAdmissionPolicy },
  { name: "MutatingAdmissionWebhook", default: "on", create: mutatingAdmissionWebhook },
  // After the webhooks: it checks the object that will be stored.
  { name: "RBACEscalation", default: "always", create: rbacEscalation },
  { name: "ValidatingAdmissionPolicy", default: "on", create: validatingAdmissionPolicy },
  { name: "ValidatingAdmissionWebhook", default: "on", create: validatingAdmissionWebhook },
  {
    name: "UniqueDeviceAllocation",
    default: "off",
    help: "refuses to give a device twice",
    create: uniqueDeviceAllocation,
  },
  // After all plugins that reject: a rejected object is not charged.
  { name: "ResourceQuota", default: "on", create: resourceQuota },
  { name: "AlwaysDeny", default: "off" },
];

/** A plugin that the flags `--enable-admission-plugins` and `--disable-admission-plugins` can name. */
export interface AdmissionPluginName {
  readonly name: string;
  readonly default: "on" | "off";
  /** Effect of a plugin that is off. */
  readonly help?: string;
  /** The plugin is upstream's, and this server lacks it. */
  readonly isMissing: boolean;
}

/** The names of all plugins of upstream and of this server. */
export const admissionPluginNames: readonly AdmissionPluginName[] = entries.flatMap(
  ({ create, default: usual, ...entry }) =>
    usual === "always" ? [] : [{ ...entry, default: usual, isMissing: create === undefined }],
);

/** Changes to the set of plugins that are on by default. */
export interface AdmissionPluginSelection {
  readonly enabled?: readonly string[] | undefined;
  readonly disabled?: readonly string[] | undefined;
}

/** Creates the plugins that are on, in their order. Throws a TypeError for an unknown name. */
export function createAdmissionPlugins(
  context: AdmissionContext,
  { enabled = [], disabled = [] }: AdmissionPluginSelection,
): AdmissionPlugin[] {
  checkNames(enabled);
  checkNames(disabled);
  return entries
    .filter((entry) => entry.default !== "off" || enabled.includes(entry.name))
    .filter(({ name }) => !disabled.includes(name))
    .flatMap(({ create }) => create?.(context) ?? []);
}

function checkNames(names: readonly string[]): void {
  const known = admissionPluginNames.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`unknown admission plugin ${JSON.stringify(unknown)}: known are ${known.join(", ")}`);
}
