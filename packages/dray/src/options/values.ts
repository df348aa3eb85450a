import { networkInterfaces } from "node:os";
import {
  DurationError,
  type Features,
  featuresOf,
  parseDuration,
  parseFeatureGates,
  parseKubernetesVersion,
  parseLabelSelector,
  SelectorError,
  UnknownGateError,
} from "@dray/api";
import { kindRows } from "@dray/api/schema";
import { type ClusterStore, parseStore, plainAddress } from "@dray/cluster";
import { UsageError } from "../terminal/failure.ts";
import { remark } from "../terminal/verbosity.ts";
import { didYouMean } from "../text/similar.ts";

export function wholeNumber(flag: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new UsageError(`${flag} ${value}: must be a whole number from ${min} to ${max}`);
  }
  return number;
}

/** Validates an address in its canonical form, which all programs read in the same way. */
function addressOption(flag: string, value: string): string {
  try {
    return plainAddress(value);
  } catch {
    throw new UsageError(`${flag} ${value}: must be an IP address`);
  }
}

/** Validates an address that the machine can listen on. */
export function bindAddressOption(value: string, flag = "--bind-address"): string {
  const address = addressOption(flag, value);
  const machine = machineAddresses();
  if (["0.0.0.0", "::", ...machine].includes(address) || address.startsWith("127.")) return address;
  throw new UsageError(
    `${flag} ${value}: must be an address of this machine, or 0.0.0.0 or :: for all of them; it has ${machine.join(", ")}`,
  );
}

/** Validates the address of a node: one of this machine, since the endpoints listen there. */
export function nodeIpOption(value: string): string {
  const address = addressOption("--node-ip", value);
  const machine = machineAddresses();
  if (machine.includes(address) || address.startsWith("127.")) return address;
  throw new UsageError(
    `--node-ip ${value}: must be an address of this machine; it has ${machine.join(", ")}`,
  );
}

function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((one) => one.address));
}

/**
 * An unspecified address counts as absent.
 * Upstream: DefaultAdvertiseAddress
 */
export function advertiseAddressOption(value: string | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  const address = addressOption("--advertise-address", value);
  return address === "0.0.0.0" || address === "::" ? undefined : address;
}

export function storeOption(value: string): ClusterStore {
  try {
    return parseStore(value);
  } catch (error) {
    throw new UsageError(`--store ${value}: ${(error as Error).message}`);
  }
}

/** Returns the rules of the release and gates of the flags. Warns of gates without an effect. */
/** Returns the test of a label selector, as kubectl's `-l`. Throws UsageError. */
export function labelSelector(
  flag: string,
  text: string,
  orElse = "",
): (labels: Readonly<Record<string, string>> | undefined) => boolean {
  try {
    const selection = parseLabelSelector(text);
    return (labels) => selection.matches(labels);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new UsageError(
      `${flag} ${text}: ${error.message}: must be labels, as in zone=a,tier!=test${orElse}`,
    );
  }
}

export function featuresOption(flags: {
  readonly kubernetesVersion?: string | undefined;
  readonly featureGates?: string | undefined;
}): Features {
  const version = named("--kubernetes-version", () => parseKubernetesVersion(flags.kubernetesVersion));
  const features = named("--feature-gates", () => {
    try {
      return featuresOf(version, parseFeatureGates(flags.featureGates ?? ""));
    } catch (error) {
      const meant = error instanceof UnknownGateError ? didYouMean(error.gate, error.known) : undefined;
      if (meant === undefined) throw error;
      throw new Error(`unrecognized feature gate: ${(error as UnknownGateError).gate}: ${meant}`);
    }
  });
  warnOfGates(features.withoutEffect);
  return features;
}

const warned = new Set<string>();

/** Warns of gates without an effect, once for each. */
function warnOfGates(names: readonly string[]): void {
  const idle = names.filter((name) => !warned.has(name));
  for (const name of idle) warned.add(name);
  if (idle.length === 0) return;
  const verb = idle.length === 1 ? "changes" : "change";
  remark(`warning: --feature-gates: ${idle.join(", ")} ${verb} nothing in Dray\n`);
}

function named<T>(flag: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}`);
  }
}

/**
 * Parses `api/all=true,resource.k8s.io/v1beta1=false`, the API versions to serve, as kube-apiserver does; a
 * name alone is true.
 */
export function runtimeConfigOption(text: string): Record<string, boolean> {
  return Object.fromEntries(
    text
      .split(",")
      .filter((part) => part !== "")
      .map((part) => {
        const [name = "", value = "true"] = part.split(/=(.*)/s);
        checkApiName(name);
        return [name, truth(`--runtime-config ${name}`, value)];
      }),
  );
}

/** API versions that the API server itself uses. */
export const serverApis = ["v1", "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1"];
/** API versions that scheduler, controllers and node agents use, without which they would wait for ever. */
export const clusterApis = [
  ...serverApis,
  "apps/v1",
  "coordination.k8s.io/v1",
  "policy/v1",
  "resource.k8s.io/v1",
  "storage.k8s.io/v1",
];

/** Throws a UsageError if the configuration turns off one of these versions or a resource of it. */
export function checkNeededApis(
  config: Readonly<Record<string, boolean>>,
  needed: readonly string[],
  who: string,
): void {
  const refuse = (name: string, version: string): never => {
    throw new UsageError(`--runtime-config ${name}=false: ${who} needs ${version}`);
  };
  for (const version of needed) {
    // The narrower name wins, as in kube-apiserver.
    const name = [version, "api/ga", "api/all"].find((one) => config[one] !== undefined);
    if (name !== undefined && config[name] === false) refuse(name, version);
    const resource = Object.keys(config).find((one) => one.startsWith(`${version}/`) && !config[one]);
    if (resource !== undefined) refuse(resource, resource);
  }
}

const stages = ["api/all", "api/ga", "api/beta", "api/alpha"];

/** Validates a stage, `group/version` or `group/version/resource`, `v1` for the core group. */
function checkApiName(name: string): void {
  if (stages.includes(name)) return;
  const [group = "", version] = name === "v1" ? ["", "v1"] : name.split("/");
  const flag = `--runtime-config ${name}`;
  const groups = new Set(
    kindRows.map((row) => row.group).filter((known) => known !== "" && known !== "meta"),
  );
  if (version === undefined || (name !== "v1" && !groups.has(group))) {
    const accepted = [...stages, "v1", "GROUP/VERSION", "GROUP/VERSION/RESOURCE"].join(", ");
    throw new UsageError(
      `${flag}: must be one of ${accepted}, where GROUP is one of ${[...groups].join(", ")}`,
    );
  }
  const versions = new Set(kindRows.filter((row) => row.group === group).map((row) => row.version));
  if (!versions.has(version))
    throw new UsageError(`${flag}: ${group} has no version ${version}: it has ${[...versions].join(", ")}`);
}

/** Parses a boolean in the form of Go's flags. */
export function truth(flag: string, value: string): boolean {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(value)) return true;
  if (["0", "f", "F", "false", "FALSE", "False"].includes(value)) return false;
  throw new UsageError(`${flag} ${value}: must be true or false`);
}

/** Returns true for a flag without a value, and false for an absent one. */
export function isOn(flag: string, value: string | true | undefined): boolean {
  return value === true || (value !== undefined && truth(flag, value));
}

/** Returns the milliseconds of a duration in Go's notation (`1m30s`). */
export function durationOption(flag: string, text: string): number {
  try {
    const milliseconds = Number(parseDuration(text)) / 1e6;
    if (milliseconds > 0) return milliseconds;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw new UsageError(`${flag} ${text}: must be a duration above 0, such as 1m30s`);
}
