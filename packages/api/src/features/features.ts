/**
 * Kubernetes releases and feature gates: which gates a release has, and their defaults
 * (pkg/features of kubernetes/kubernetes).
 */
import { otherGateState, otherGates } from "./other-gates.ts";

/** The supported releases, oldest first. */
export const kubernetesVersions = ["1.34", "1.35", "1.36", "1.37"] as const;
export type KubernetesVersion = (typeof kubernetesVersions)[number];
export const newestKubernetesVersion: KubernetesVersion = "1.37";

/** The number of a release: 36 of `1.36`. */
export function minorOf(version: string): number {
  return Number(version.split(".")[1]);
}

/** Whether a release is within `since` and `until`, both included; without either it is in all. */
export function isInRelease(
  version: string,
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
): boolean {
  return (
    (since === undefined || minorOf(since) <= minorOf(version)) &&
    (until === undefined || minorOf(version) <= minorOf(until))
  );
}

/** An unknown version or gate, or a setting that is not allowed. The message says what is accepted. */
export class FeatureError extends Error {
  override readonly name = "FeatureError";
}

/** A gate that the release does not have. */
export class UnknownGateError extends FeatureError {
  readonly gate: string;
  /** All gates of the release. */
  readonly known: readonly string[];

  constructor(gate: string, version: KubernetesVersion, known: readonly string[], accepted: string) {
    super(`unrecognized feature gate: ${gate}; Kubernetes ${version} ${accepted}`);
    this.gate = gate;
    this.known = known;
  }
}

/**
 * Reads `1.36`, `v1.36` or `1.36.3`; nothing is the newest. Throws FeatureError with the list of versions.
 */
export function parseKubernetesVersion(text?: string): KubernetesVersion {
  if (text === undefined || text === "") return newestKubernetesVersion;
  const minor = /^v?([0-9]+\.[0-9]+)(\.[0-9]+)?$/.exec(text)?.[1];
  const version = kubernetesVersions.find((known) => known === minor);
  if (version !== undefined) return version;
  throw new FeatureError(
    `Kubernetes version ${JSON.stringify(text)} is not supported; supported are ${kubernetesVersions.join(", ")}`,
  );
}

/**
 * Stage of a gate in a release: `A` alpha, off; `B` beta, on; `b` beta, off; `G` stable, on; `L` stable and
 * locked on; `-` unknown to that release.
 */
type Stage = "A" | "B" | "b" | "G" | "L" | "-";

/** One letter a release, in the order of `kubernetesVersions`. */
const gates = {
  DynamicResourceAllocation: "GLLL",
  DRAAdminAccess: "BBLL",
  DRAPrioritizedList: "BBGL",
  DRAResourceClaimDeviceStatus: "BBBL",
  DRASchedulerFilterTimeout: "BBBB",
  DRAPartitionableDevices: "AABB",
  DRAConsumableCapacity: "AABB",
  DRADeviceBindingConditions: "AABB",
  DRADeviceTaints: "AABG",
  DRADeviceTaintRules: "-AbG",
  DRAExtendedResource: "AABL",
  DRAResourceClaimGranularStatusAuthorization: "--BB",
  DRAListTypeAttributes: "--AA",
  DRANodeAllocatableResources: "--AA",
  DRAResourcePoolStatus: "--AA",
  DRAWorkloadResourceClaims: "--Ab",
  DRAFractionalCapacityRange: "---B",
  DRADerivedAttributes: "---A",
  DRADeviceCompatibilityGroups: "---A",
  DRAPartitionableDevicesType: "---A",
  DRAOptionalNodeOperations: "---A",
  ResourceHealthStatus: "AABB",
  ResourceHealthStatusMessage: "--BB",
  NodeDeclaredFeatures: "-ABL",
  InPlacePodLevelResourcesVerticalScaling: "-ABB",
  PLEGOnDemandRelist: "--BL",
  TaintTolerationComparisonOperators: "-AAA",
  GenericWorkload: "-AAb",
  GangScheduling: "-AA-",
  WorkloadAwarePreemption: "--A-",
  WorkloadWithJob: "--AA",
  TopologyAwareWorkloadScheduling: "--AA",
  CompositePodGroup: "---A",
  PodGroupPreemptionPolicy: "---A",
  DeploymentReplicaSetTerminatingReplicas: "ABBB",
  HPAScaleToZero: "AAAB",
  ClusterTrustBundle: "bbbG",
  ClusterTrustBundleProjection: "bbbG",
  PodCertificateRequest: "AbbG",
  StorageVersionMigrator: "AbbG",
  MutatingAdmissionPolicy: "bbGG",
  // Only fields depend on the following gates: those of a gate that is off are dropped.
  AtomicWriteVolumeUserFields: "---A",
  CRDObservedGenerationTracking: "-bBB",
  CSIServiceAccountTokenSecrets: "-BLL",
  CSIVolumeHealth: "AAAA",
  ContainerRestartRules: "ABBB",
  ContainerStopSignals: "AAAA",
  CoordinatedLeaderElection: "bbbb",
  CrossNamespaceVolumeDataSource: "AAAA",
  EmptyDirVolumeMode: "---A",
  EnvFiles: "ABBB",
  EvictionRequestAPI: "---A",
  GRPCContainerProbeTLS: "---A",
  H2CContainerProbe: "---A",
  HPAConfigurableTolerance: "ABBL",
  HostnameOverride: "ABBL",
  ImageVolume: "bBLL",
  ImageVolumeWithDigest: "--AA",
  InPlacePodVerticalScaling: "BLLL",
  InPlacePodVerticalScalingSchedulerPreemption: "---A",
  JobManagedBy: "BLLL",
  KubeletInUserNamespace: "AAAB",
  MatchLabelKeysInPodTopologySpread: "BBBB",
  MaxUnavailableStatefulSet: "AbbB",
  MutableCSINodeAllocatableCount: "bBLL",
  PodLevelResources: "BBBB",
  PodObservedGenerationTracking: "BLLL",
  SELinuxChangePolicy: "BBLL",
  SELinuxMountReadWriteOncePod: "BBLL",
  SupplementalGroupsPolicy: "BLLL",
  UserNamespacesSupport: "BBLL",
  VolumeAttributesClass: "GGLL",
  VolumeBindMountOptions: "---A",
  VolumeLimitScaling: "-AAB",
} as const satisfies Readonly<Record<string, string>>;

export type FeatureGate = keyof typeof gates;

/** A gate that does nothing without others. */
const needs: Partial<Record<FeatureGate, readonly FeatureGate[]>> = {
  ClusterTrustBundleProjection: ["ClusterTrustBundle"],
  DRADeviceBindingConditions: ["DRAResourceClaimDeviceStatus"],
  DRAWorkloadResourceClaims: ["GenericWorkload"],
  GangScheduling: ["GenericWorkload"],
  TopologyAwareWorkloadScheduling: ["GenericWorkload"],
  CompositePodGroup: ["GenericWorkload", "TopologyAwareWorkloadScheduling"],
  PodGroupPreemptionPolicy: ["GenericWorkload"],
  ResourceHealthStatusMessage: ["ResourceHealthStatus"],
  WorkloadWithJob: ["GenericWorkload"],
};

/** The feature gates of one cluster. */
export interface Features {
  readonly version: KubernetesVersion;
  /** False for gates that the release does not have. */
  enabled(gate: FeatureGate): boolean;
  /** The state of every gate that both the release and Dray have, for display. */
  readonly states: ReadonlyMap<FeatureGate, boolean>;
  /** The gates that the user set although they change nothing in Dray. */
  readonly withoutEffect: readonly string[];
}

function stageOf(gate: FeatureGate, version: KubernetesVersion): Stage {
  return gates[gate].charAt(kubernetesVersions.indexOf(version)) as Stage;
}

/**
 * The stage of a gate in a release that has it, as metrics and `/flagz` name it: "" is stable.
 * Upstream: component-base/featuregate, prerelease.
 */
export function gateStage(gate: FeatureGate, version: KubernetesVersion): "ALPHA" | "BETA" | "" {
  const stage = stageOf(gate, version);
  if (stage === "A") return "ALPHA";
  return stage === "B" || stage === "b" ? "BETA" : "";
}

/** Whether Dray has the gate, in any release. */
export function isFeatureGate(name: string): name is FeatureGate {
  return Object.hasOwn(gates, name);
}

/** Reads the flag `--feature-gates`: `A=true,B=false`. Throws FeatureError. */
export function parseFeatureGates(text: string): Map<string, boolean> {
  const result = new Map<string, boolean>();
  for (const part of text.split(",").map((piece) => piece.trim())) {
    if (part === "") continue;
    const at = part.indexOf("=");
    if (at < 0) throw new FeatureError(`missing bool value for ${part}`);
    const name = part.slice(0, at).trim();
    const value = part.slice(at + 1).trim();
    if (/^(1|t|T|true|TRUE|True)$/.test(value)) result.set(name, true);
    else if (/^(0|f|F|false|FALSE|False)$/.test(value)) result.set(name, false);
    else throw new FeatureError(`invalid value of ${name}=${value}: must be true or false`);
  }
  return result;
}

function lockedGate(name: string, value: boolean): FeatureError {
  return new FeatureError(`cannot set feature gate ${name} to ${value}, feature is locked to ${!value}`);
}

function unknownGate(name: string, version: KubernetesVersion): UnknownGateError {
  const knows = (release: KubernetesVersion): boolean => {
    if (isFeatureGate(name)) return stageOf(name, release) !== "-";
    return (otherGateState(name, kubernetesVersions.indexOf(release)) ?? "unknown") !== "unknown";
  };
  const ours = Object.keys(gates)
    .filter(isFeatureGate)
    .filter((gate) => stageOf(gate, version) !== "-");
  const elsewhere = kubernetesVersions.filter(knows);
  const accepted =
    elsewhere.length > 0 ? `does not have it, ${elsewhere.join(", ")} do` : `has ${ours.sort().join(", ")}`;
  const known = [...ours, ...otherGates(kubernetesVersions.indexOf(version))];
  return new UnknownGateError(name, version, known, accepted);
}

/** Throws for a gate that Dray has no use for unless the release allows the value. */
function checkOther(name: string, value: boolean, version: KubernetesVersion): void {
  const state = otherGateState(name, kubernetesVersions.indexOf(version));
  if (state === undefined || state === "unknown") throw unknownGate(name, version);
  if (state !== "settable" && value !== (state === "locked on")) throw lockedGate(name, value);
}

/**
 * The gates of a release with what the user set; `AllAlpha` and `AllBeta` set every gate of that stage.
 * Throws FeatureError for a gate that the release does not have, and for a locked gate with another value.
 */
export function featuresOf(
  version: KubernetesVersion = newestKubernetesVersion,
  overrides: ReadonlyMap<string, boolean> = new Map(),
): Features {
  const states = new Map<FeatureGate, boolean>();
  for (const gate of Object.keys(gates).filter(isFeatureGate)) {
    const stage = stageOf(gate, version);
    if (stage === "-") continue;
    const group = stage === "A" ? "AllAlpha" : stage === "B" || stage === "b" ? "AllBeta" : undefined;
    const byGroup = group === undefined ? undefined : overrides.get(group);
    states.set(gate, byGroup ?? "BGL".includes(stage));
  }
  const withoutEffect: string[] = [];
  for (const [name, value] of overrides) {
    if (name === "AllAlpha" || name === "AllBeta") continue;
    if (!isFeatureGate(name)) checkOther(name, value, version);
    else if (!states.has(name)) throw unknownGate(name, version);
    else if (stageOf(name, version) === "L" && !value) throw lockedGate(name, value);
    else states.set(name, value);
    if (!isFeatureGate(name)) withoutEffect.push(name);
  }
  for (const [gate, dependencies] of Object.entries(needs)) {
    const missing = dependencies.filter((dependency) => states.get(dependency) !== true);
    if (isFeatureGate(gate) && states.get(gate) === true && missing.length > 0) {
      // A whole stage leaves out gates that cannot work; a gate that was named is an error.
      if (overrides.get(gate) === true) {
        throw new FeatureError(
          `${gate} is enabled, but depends on features that are disabled: ${missing.join(", ")}`,
        );
      }
      states.set(gate, false);
    }
  }
  return {
    version,
    states,
    withoutEffect,
    enabled(gate) {
      // Before 1.35 the rules of DRADeviceTaints had no gate of their own (KEP-5055).
      if (gate === "DRADeviceTaintRules" && version === "1.34") return states.get("DRADeviceTaints") === true;
      return states.get(gate) === true;
    },
  };
}
