/** Warnings about a valid pod or pod template. */

import { addressWarnings } from "../../../checks/address.ts";
import { labelDeprecation, termWarnings } from "../../../checks/warnings/node-labels.ts";
import type {
  AppArmorProfile,
  Container,
  ContainerPort,
  PodAffinityTerm,
  PodSpec,
  PodTemplateSpec,
  WeightedPodAffinityTerm,
} from "../../../generated/core/v1.ts";
import type { ObjectMeta } from "../../../generated/meta/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { Quantity } from "../../../values/quantity.ts";

const oldAnnotations: Readonly<Record<string, string>> = {
  "scheduler.alpha.kubernetes.io/critical-pod":
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
  "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
};

const oldVolumes = {
  photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
  gitRepo: "deprecated in v1.11, and disabled by default in v1.33+",
  scaleIO: "deprecated in v1.16, non-functional in v1.22+",
  flocker: "deprecated in v1.22, non-functional in v1.25+",
  storageos: "deprecated in v1.22, non-functional in v1.25+",
  quobyte: "deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "deprecated in v1.25, non-functional in v1.26+",
  cephfs: "deprecated in v1.28, non-functional in v1.31+",
  rbd: "deprecated in v1.28, non-functional in v1.31+",
} as const;

const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompContainer = "container.seccomp.security.alpha.kubernetes.io/";
const appArmor = "container.apparmor.security.beta.kubernetes.io/";
const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const nullSelector = "a null labelSelector results in matching no pod";

interface Placed {
  readonly container: Container;
  readonly path: string;
}

function containersOf(spec: PodSpec, path: string): Placed[] {
  return (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((name) =>
    ((spec[name] ?? []) as readonly Container[]).map((container, index) => ({
      container,
      path: `${path}.${name}[${index}]`,
    })),
  );
}

function placementWarnings(path: string, spec: PodSpec): string[] {
  const node = spec.affinity?.nodeAffinity;
  const at = `${path}.affinity.nodeAffinity`;
  return [
    ...Object.keys(spec.nodeSelector ?? {}).flatMap((key) => {
      const why = labelDeprecation(key);
      return why === undefined ? [] : [`${path}.nodeSelector[${key}]: ${why}`];
    }),
    ...(node?.[required]?.nodeSelectorTerms ?? []).flatMap((term, index) =>
      termWarnings(`${at}.${required}.nodeSelectorTerms[${index}]`, term, false),
    ),
    ...(node?.[preferred] ?? []).flatMap((term, index) =>
      termWarnings(`${at}.${preferred}[${index}].preference`, term.preference, true),
    ),
    ...(spec.topologySpreadConstraints ?? []).flatMap((constraint, index) => {
      const place = `${path}.topologySpreadConstraints[${index}]`;
      const why = labelDeprecation(constraint.topologyKey);
      return [
        ...(why === undefined ? [] : [`${place}.topologyKey: ${constraint.topologyKey} is ${why}`]),
        ...(constraint.labelSelector ? [] : [`${place}.labelSelector: ${nullSelector}`]),
      ];
    }),
  ];
}

function affinityWarnings(path: string, spec: PodSpec): string[] {
  return (["podAffinity", "podAntiAffinity"] as const).flatMap((name) => {
    const at = `${path}.affinity.${name}`;
    const affinity = spec.affinity?.[name];
    return [
      ...(affinity?.[required] ?? []).flatMap((term: PodAffinityTerm, index) =>
        term.labelSelector ? [] : [`${at}.${required}[${index}].labelSelector: ${nullSelector}`],
      ),
      ...(affinity?.[preferred] ?? []).flatMap((term: WeightedPodAffinityTerm, index) =>
        term.podAffinityTerm?.labelSelector
          ? []
          : [`${at}.${preferred}[${index}].podAffinityTerm.labelSelector: ${nullSelector}`],
      ),
    ];
  });
}

function repeated<T>(items: readonly T[] | undefined, key: (item: T) => string): [number, string][] {
  const seen = new Set<string>();
  const found: [number, string][] = [];
  (items ?? []).forEach((item, index) => {
    const name = key(item);
    if (seen.has(name)) found.push([index, name]);
    seen.add(name);
  });
  return found;
}

/** Bytes cannot be divided. */
export function fractionWarnings(path: string, list: Readonly<Record<string, string>> | undefined): string[] {
  return ["memory", "ephemeral-storage", "storage"].flatMap((name) => {
    const text = list?.[name];
    if (text === undefined || Quantity.parse(text).isInteger()) return [];
    return [`${path}[${name}]: fractional byte value ${quoted(text)} is invalid, must be an integer`];
  });
}

function environmentWarnings({ container, path }: Placed): string[] {
  const names = new Set<string>();
  return (container.env ?? []).flatMap((variable, index) => {
    if (!names.has(variable.name)) {
      names.add(variable.name);
      return [];
    }
    const reference = `$(${variable.name})`;
    const value = variable.value ?? "";
    // A variable may be made of the one before it.
    if (!variable.valueFrom && value !== reference && value.includes(reference)) return [];
    return [
      `${path}.env[${index}]: hides previous definition of ${quoted(variable.name)}, which may be dropped when using apply`,
    ];
  });
}

function portText(port: ContainerPort): string {
  return `{Name:${port.name ?? ""} HostPort:${port.hostPort ?? 0} ContainerPort:${port.containerPort} Protocol:${port.protocol ?? ""} HostIP:${port.hostIP ?? ""}}`;
}

/** Maximum number of one sort; the headers of a response have 4096 characters for all of them. */
const maxWarnings = 1000;

function portWarnings(containers: readonly Placed[]): string[] {
  const warnings: string[] = [];
  const ports = containers.flatMap(({ container, path }) =>
    (container.ports ?? []).map((port, index) => ({ port, path: `${path}.ports[${index}]` })),
  );
  const before = new Map<string, typeof ports>();
  for (const placed of ports) {
    // A response has room for a few warnings only, and each of many equal ports overlaps all before it.
    if (warnings.length > maxWarnings) break;
    const { port, path } = placed;
    const key = `${port.containerPort}/${port.protocol}`;
    const others = before.get(key) ?? [];
    const { hostIP = "", hostPort = 0 } = port;
    if (hostIP !== "" && hostPort === 0)
      warnings.push(`${path}: hostIP set without hostPort: ${portText(port)}`);
    for (const { port: other, path: otherPath } of others) {
      const [ip, number] = [other.hostIP ?? "", other.hostPort ?? 0];
      if (hostIP === ip && hostPort === number)
        warnings.push(`${path}: duplicate port definition with ${otherPath}`);
      else if (hostPort === 0 || number === 0)
        warnings.push(`${path}: overlapping port definition with ${otherPath}`);
      else if (hostPort === number && (hostIP === "") !== (ip === ""))
        warnings.push(`${path}: dangerously ambiguous port definition with ${otherPath}`);
    }
    if (others.length === 0) before.set(key, others);
    others.push(placed);
  }
  const names = new Map<string, string>();
  for (const { port, path } of ports) {
    if (!port.name) continue;
    const first = names.get(port.name);
    if (first === undefined) names.set(port.name, path);
    else {
      warnings.push(
        `${path}: duplicate port name ${quoted(port.name)} with ${first}, services and probes that select ports by name will use ${first}`,
      );
    }
  }
  return warnings;
}

/** Whether an AppArmor annotation says what the profile of the pod says already. */
function meansProfile(annotation: string, profile: AppArmorProfile | undefined): boolean {
  if (profile?.type === "Localhost") return annotation === `localhost/${profile.localhostProfile}`;
  if (profile?.type === "Unconfined") return annotation === "unconfined";
  return profile?.type === "RuntimeDefault" && annotation === "runtime/default";
}

function containerWarnings(root: string, placed: Placed, spec: PodSpec, metadata: ObjectMeta): string[] {
  const { container, path } = placed;
  const annotations = metadata.annotations ?? {};
  const note = `${root}metadata.annotations`;
  const seccomp = `${seccompContainer}${container.name}`;
  const armor = `${appArmor}${container.name}`;
  return [
    ...(Object.hasOwn(annotations, seccomp) && !container.securityContext?.seccompProfile
      ? [`${note}[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`]
      : []),
    // For a pod itself its annotation becomes a field, which is when it is warned of.
    ...(root !== "" &&
    Object.hasOwn(annotations, armor) &&
    !container.securityContext?.appArmorProfile &&
    !meansProfile(annotations[armor]!, spec.securityContext?.appArmorProfile)
      ? [`${note}[${armor}]: deprecated since v1.30; use the "appArmorProfile" field instead`]
      : []),
    ...fractionWarnings(`${path}.resources.limits`, container.resources?.limits),
    ...fractionWarnings(`${path}.resources.requests`, container.resources?.requests),
    ...environmentWarnings(placed),
  ];
}

/** `root` is "" for a pod, and `spec.template.` or the like for a template. */
export function podWarnings(root: string, pod: PodTemplateSpec | undefined): string[] {
  const spec: PodSpec = pod?.spec ?? { containers: [] };
  const metadata = pod?.metadata ?? {};
  const path = `${root}spec`;
  const annotations = metadata.annotations ?? {};
  const placed = containersOf(spec, path);
  const grace = spec.terminationGracePeriodSeconds;
  return [
    ...placementWarnings(path, spec),
    ...Object.entries(oldAnnotations)
      .filter(([key]) => Object.hasOwn(annotations, key))
      .map(([key, text]) => `${root}metadata.annotations[${key}]: ${text}`),
    ...(spec.volumes ?? []).flatMap((volume, index) =>
      Object.entries(oldVolumes)
        .filter(([name]) => volume[name as keyof typeof oldVolumes])
        .map(
          ([name, text]) => `${path}.volumes[${index}].${name === "storageos" ? "storageOS" : name}: ${text}`,
        ),
    ),
    ...repeated(spec.hostAliases, ({ ip }) => ip ?? "").map(
      ([index, ip]) => `${path}.hostAliases[${index}].ip: duplicate ip ${quoted(ip)}`,
    ),
    ...repeated(spec.imagePullSecrets, ({ name }) => name ?? "").map(
      ([index, name]) => `${path}.imagePullSecrets[${index}].name: duplicate name ${quoted(name)}`,
    ),
    ...(spec.imagePullSecrets ?? []).flatMap(({ name }, index) =>
      name ? [] : [`${path}.imagePullSecrets[${index}].name: invalid empty name ""`],
    ),
    ...fractionWarnings(`${path}.overhead`, spec.overhead),
    ...(Object.hasOwn(annotations, seccompPod) && !spec.securityContext?.seccompProfile
      ? [
          `${root}metadata.annotations[${seccompPod}]: non-functional in v1.27+; use the "seccompProfile" field instead`,
        ]
      : []),
    ...placed.flatMap((each) => containerWarnings(root, each, spec, metadata)),
    ...portWarnings(placed),
    ...(grace !== undefined && grace !== null && grace < 0
      ? [
          `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
        ]
      : []),
    ...affinityWarnings(path, spec),
    ...podAddressWarnings(path, spec),
  ];
}

/** Upstream: pkg/api/pod/warnings.go. */
function podAddressWarnings(path: string, { dnsConfig, hostAliases }: PodSpec): string[] {
  return [
    ...(dnsConfig?.nameservers ?? []).flatMap((server, index) =>
      addressWarnings(`${path}.dnsConfig.nameservers[${index}]`, server),
    ),
    ...(hostAliases ?? []).flatMap(({ ip = "" }, index) =>
      addressWarnings(`${path}.hostAliases[${index}].ip`, ip),
    ),
  ];
}
