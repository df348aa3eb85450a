import { DurationError, parseDuration, Quantity, QuantityError } from "@dray/api";
import type { EvictionSettings, ImageGCPolicy, KubeletOptions } from "@dray/kubelet";
import { unsafeSysctlsOption } from "../../options/sysctls.ts";
import { durationOption, wholeNumber } from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";
import { type DnsFlags, dnsSettings } from "./dns-settings.ts";
import { labelsOption, taintsOption } from "./node-registration.ts";

/** Flags of `dray kubelet` for all of its nodes; names, meaning and defaults are upstream's. */
export interface NodeFlags extends DnsFlags {
  readonly shutdownGracePeriod?: string;
  readonly shutdownGracePeriodCriticalPods?: string;
  readonly evictionHard?: string;
  readonly evictionSoft?: string;
  readonly evictionSoftGracePeriod?: string;
  readonly evictionMinimumReclaim?: string;
  readonly evictionPressureTransitionPeriod?: string;
  readonly evictionMaxPodGracePeriod?: string;
  readonly imageGcHighThreshold?: string;
  readonly imageGcLowThreshold?: string;
  readonly minimumImageTtlDuration?: string;
  readonly imageMaximumGcAge?: string;
  readonly podMaxPids?: string;
  readonly allowedUnsafeSysctls?: string;
  readonly nodeLabels?: string;
  readonly registerWithTaints?: string;
  readonly containerLogMaxSize?: string;
  readonly containerLogMaxFiles?: string;
  readonly topologyManagerPolicy?: string;
  readonly draWipeDelay?: string;
}

/** The kubelet options of these flags. */
export type NodeSettings = Pick<
  KubeletOptions,
  | "shutdown"
  | "eviction"
  | "imageGC"
  | "dns"
  | "labels"
  | "taints"
  | "logs"
  | "podMaxPids"
  | "allowedUnsafeSysctls"
  | "topologyPolicy"
  | "wipeDelay"
>;

/** Throws a UsageError that names the flag, its value and what is accepted. */
export async function nodeSettings(flags: NodeFlags): Promise<NodeSettings> {
  const { podMaxPids, nodeLabels, registerWithTaints, topologyManagerPolicy, draWipeDelay } = flags;
  const pids = podMaxPids === undefined ? -1 : podPids(podMaxPids);
  return {
    ...(pids > 0 && { podMaxPids: pids }),
    allowedUnsafeSysctls: await unsafeSysctlsOption(flags.allowedUnsafeSysctls),
    ...(nodeLabels !== undefined && { labels: labelsOption(nodeLabels) }),
    ...(registerWithTaints !== undefined && { taints: taintsOption(registerWithTaints) }),
    ...(topologyManagerPolicy !== undefined && { topologyPolicy: topologyPolicy(topologyManagerPolicy) }),
    ...(draWipeDelay !== undefined && { wipeDelay: durationOption("--dra-wipe-delay", draWipeDelay) }),
    logs: logSettings(flags),
    ...shutdownSettings(flags),
    eviction: await evictionSettings(flags),
    imageGC: imageSettings(flags),
    ...dnsSettings(flags),
  };
}

async function evictionSettings(flags: NodeFlags): Promise<EvictionSettings> {
  const { defaultHardThresholds, parseThresholds, ThresholdError } = await import("@dray/kubelet");
  const { evictionHard, evictionPressureTransitionPeriod = "5m" } = flags;
  const names = {
    hard: "--eviction-hard",
    soft: "--eviction-soft",
    softGracePeriod: "--eviction-soft-grace-period",
    minimumReclaim: "--eviction-minimum-reclaim",
  };
  const texts = {
    hard: evictionHard === undefined ? defaultHardThresholds : pairs(names.hard, evictionHard, "<"),
    soft: pairs(names.soft, flags.evictionSoft, "<"),
    softGracePeriod: pairs(names.softGracePeriod, flags.evictionSoftGracePeriod, "="),
    minimumReclaim: pairs(names.minimumReclaim, flags.evictionMinimumReclaim, "="),
  };
  const flag = "--eviction-pressure-transition-period";
  const pressureTransitionPeriod = period(flag, evictionPressureTransitionPeriod);
  const maxGrace = flags.evictionMaxPodGracePeriod ?? "0";
  const maxPodGracePeriodSeconds = wholeNumber("--eviction-max-pod-grace-period", maxGrace, 0, maxInt32);
  try {
    return { thresholds: parseThresholds(texts), pressureTransitionPeriod, maxPodGracePeriodSeconds };
  } catch (error) {
    if (!(error instanceof ThresholdError)) throw error;
    throw new UsageError(`${names[error.part]}: ${error.message}`);
  }
}

/** Upstream: pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration. */
function imageSettings(flags: NodeFlags): ImageGCPolicy {
  const { imageGcHighThreshold = "85", imageGcLowThreshold = "80" } = flags;
  const { minimumImageTtlDuration = "2m", imageMaximumGcAge = "0s" } = flags;
  const highThresholdPercent = wholeNumber("--image-gc-high-threshold", imageGcHighThreshold, 0, 100);
  const lowThresholdPercent = wholeNumber("--image-gc-low-threshold", imageGcLowThreshold, 0, 100);
  if (lowThresholdPercent >= highThresholdPercent)
    throw new UsageError(
      `--image-gc-low-threshold ${imageGcLowThreshold}: must be less than --image-gc-high-threshold, which is ${imageGcHighThreshold}`,
    );
  const minAge = period("--minimum-image-ttl-duration", minimumImageTtlDuration);
  const maxAge = period("--image-maximum-gc-age", imageMaximumGcAge);
  if (maxAge > 0 && maxAge <= minAge)
    throw new UsageError(
      `--image-maximum-gc-age ${imageMaximumGcAge}: must be 0s, or more than --minimum-image-ttl-duration, which is ${minimumImageTtlDuration}`,
    );
  return { highThresholdPercent, lowThresholdPercent, minAge, maxAge };
}

/** -1 means no limit, as upstream. */
function podPids(text: string): number {
  if (text === "-1") return -1;
  const number = Number(text);
  if (/^\d+$/.test(text) && number > 0 && Number.isSafeInteger(number)) return number;
  throw new UsageError(`--pod-max-pids ${text}: must be a whole number above 0, or -1 for no limit`);
}

function topologyPolicy(text: string): "none" | "best-effort" {
  if (text === "none" || text === "best-effort") return text;
  const known = ["restricted", "single-numa-node"].includes(text);
  throw new UsageError(
    `--topology-manager-policy ${text}: ${known ? "is not supported: " : ""}must be none or best-effort`,
  );
}

/** Upstream: pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration. */
function logSettings({
  containerLogMaxSize,
  containerLogMaxFiles,
}: NodeFlags): NonNullable<KubeletOptions["logs"]> {
  return {
    ...(containerLogMaxSize !== undefined && { maxSize: logSize(containerLogMaxSize) }),
    ...(containerLogMaxFiles !== undefined && {
      maxFiles: wholeNumber("--container-log-max-files", containerLogMaxFiles, 2, maxInt32),
    }),
  };
}

function logSize(text: string): number {
  try {
    const size = Number(Quantity.parse(text).value());
    if (size > 0 && Number.isSafeInteger(size)) return size;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
  }
  throw new UsageError(`--container-log-max-size ${text}: must be an amount of bytes above 0, such as 10Mi`);
}

function period(flag: string, text: string): number {
  const milliseconds = durationFrom(text);
  if (milliseconds !== undefined && milliseconds >= 0) return milliseconds;
  throw new UsageError(`${flag} ${text}: must be a duration of 0s or more, such as 1m30s`);
}

const maxInt32 = 2 ** 31 - 1;

/** Parses `a<1,b<2` as upstream: of equal names the last counts. */
function pairs(flag: string, text: string | undefined, sign: "<" | "="): ReadonlyMap<string, string> {
  const parts = (text ?? "").split(",").filter((part) => part !== "");
  return new Map(
    parts.map((part) => {
      const at = part.indexOf(sign);
      if (at <= 0) throw new UsageError(`${flag} ${part}: must be SIGNAL${sign}VALUE`);
      return [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    }),
  );
}

/** Upstream: pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration. */
function shutdownSettings(flags: NodeFlags): Pick<NodeSettings, "shutdown"> {
  const { shutdownGracePeriod = "0s", shutdownGracePeriodCriticalPods = "0s" } = flags;
  const gracePeriod = shutdownPeriod("--shutdown-grace-period", shutdownGracePeriod);
  const flag = "--shutdown-grace-period-critical-pods";
  const gracePeriodCriticalPods = shutdownPeriod(flag, shutdownGracePeriodCriticalPods);
  if (gracePeriodCriticalPods > gracePeriod)
    throw new UsageError(
      `${flag} ${shutdownGracePeriodCriticalPods}: must be at most --shutdown-grace-period, which is ${shutdownGracePeriod}`,
    );
  return gracePeriod === 0 ? {} : { shutdown: { gracePeriod, gracePeriodCriticalPods } };
}

function shutdownPeriod(flag: string, text: string): number {
  const milliseconds = durationFrom(text);
  if (milliseconds === 0 || (milliseconds !== undefined && milliseconds >= 1000)) return milliseconds;
  throw new UsageError(`${flag} ${text}: must be 0s, or a duration of at least 1s, such as 1m30s`);
}

/** Returns milliseconds; undefined for an invalid duration. */
function durationFrom(text: string): number | undefined {
  try {
    return Number(parseDuration(text)) / 1e6;
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}
