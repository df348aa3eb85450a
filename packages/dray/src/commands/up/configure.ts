import type { Features } from "@dray/api";
import {
  type ClusterConfig,
  formatStore,
  type KeptFile,
  type Layout,
  namesText,
  nodeNames,
  readConfig,
} from "@dray/cluster";
import type { ChosenDriver } from "../../drivers/drivers.ts";
import { type FleetFile, fleetOf, keptText, readFleetFile } from "../../fleet/file.ts";
import { simulationOf } from "../../fleet/simulated-nodes.ts";
import { parseImageMapping } from "../../images/mapping.ts";
import { hostNetworkOption, registryHostsOption, runtimeOption } from "../../options/runtime.ts";
import { checkSchedulerConfig, readSchedulerConfig } from "../../options/scheduler-config.ts";
import { unsafeSysctlsOption } from "../../options/sysctls.ts";
import type { Target } from "../../options/target.ts";
import {
  advertiseAddressOption,
  bindAddressOption,
  checkNeededApis,
  clusterApis,
  featuresOption,
  runtimeConfigOption,
  storeOption,
  wholeNumber,
} from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";
import type { UpOptions } from "./options.ts";

/** Maximum number of nodes, by names and ports of this machine; the memory allows fewer. */
const maxNodes = 20_000;

/** Returns the configuration of the flags over that of the existing cluster. */
export async function configure({ name, layout }: Target, options: UpOptions): Promise<Configured> {
  const before = readConfig(layout);
  const featureGates = options.featureGates ?? before?.featureGates ?? "";
  const features = featuresOption({
    kubernetesVersion: options.kubernetesVersion ?? before?.kubernetesVersion,
    featureGates,
  });
  const { version: kubernetesVersion } = features;
  const simulated = simulatedNodesOption(options.simulatedNodes, before);
  const chosen = chooseFleet(layout, before, options.fleet, { features, simulated });
  if (simulated.simulatedNodes === "all" && (chosen === undefined || chosen.fleet.nodes.length === 0))
    throw new UsageError(
      "--simulated-nodes all: there are no nodes of a fleet: name a file that has some with --fleet, or give a number",
    );
  const count = options.nodes === undefined ? undefined : wholeNumber("--nodes", options.nodes, 0, maxNodes);
  const nodes = chosen === undefined ? undefined : fleetNodes(chosen, count);
  const defaultCount = simulated.simulatedNodes === undefined && !hasSimulatedNodes(chosen) ? 2 : 0;
  // Node names of a removed fleet are not kept.
  const kept = chosen === undefined && before?.fleet !== undefined ? undefined : before?.nodes;
  const bindAddress =
    options.bindAddress === undefined
      ? (before?.bindAddress ?? "127.0.0.1")
      : bindAddressOption(options.bindAddress);
  const advertiseAddress =
    options.advertiseAddress === undefined
      ? before?.advertiseAddress
      : advertiseAddressOption(options.advertiseAddress);
  const runtimeConfig =
    options.runtimeConfig === undefined ? before?.runtimeConfig : runtimeConfigOption(options.runtimeConfig);
  checkNeededApis(runtimeConfig ?? {}, clusterApis, "a cluster");
  const port = options.port === undefined ? before?.port : wholeNumber("--port", options.port, 0, 65535);
  for (const image of options.image) parseImageMapping(image);
  const schedulerConfig = await chooseSchedulerConfig(before, options.schedulerConfig, features);
  const runtime = runtimeOption(options.runtime ?? before?.runtime ?? "host");
  const config = {
    name,
    kubernetesVersion,
    featureGates,
    runtimeConfig: runtimeConfig ?? {},
    bindAddress,
    advertiseAddress: advertiseAddress ?? "",
    nodes: nodes ?? (count === undefined ? (kept ?? nodeNames(defaultCount)) : nodeNames(count)),
    port: port ?? 0,
    store: formatStore(storeOption(options.store ?? before?.store ?? `sqlite:${layout.database}`)),
    runtime,
    ...chooseRegistryHosts(before, options.registryHosts, runtime),
    ...chooseHostNetwork(before, options.hostNetwork, runtime),
    ...(await chooseUnsafeSysctls(before, options.allowedUnsafeSysctls)),
    images: options.image.length > 0 ? options.image : (before?.images ?? []),
    ...(chosen && { fleet: chosen.path }),
    ...simulated,
    ...(schedulerConfig && { schedulerConfig }),
    ...(await chooseAdmissionPlugins(before, options.enableAdmissionPlugins)),
  };
  return { config, ...(chosen && { fleet: chosen }) };
}

export interface Configured {
  readonly config: ClusterConfig;
  readonly fleet?: FleetFile;
}

/** Returns the fleet of the flag, or that of the cluster; undefined without one. */
function chooseFleet(
  layout: Layout,
  before: ClusterConfig | undefined,
  flag: string | undefined,
  {
    features,
    simulated,
  }: { readonly features: Features; readonly simulated: Pick<ClusterConfig, "simulatedNodes"> },
): FleetFile | undefined {
  if (flag === "none") return undefined;
  if (flag !== undefined) return readFleetFile(flag, { features, ...simulationOf(simulated) });
  if (before?.fleet === undefined) return undefined;
  const fleet = fleetOf(layout, { ...before, ...simulated, kubernetesVersion: features.version });
  return fleet && { path: before.fleet, text: keptText(layout), fleet };
}

/**
 * Returns the configuration of the flag, or that of the cluster; undefined without one. Throws if it is
 * invalid for the release.
 */
async function chooseSchedulerConfig(
  before: ClusterConfig | undefined,
  flag: string | undefined,
  features: Features,
): Promise<KeptFile | undefined> {
  if (flag === "none") return undefined;
  if (flag !== undefined) {
    const { path, text } = await readSchedulerConfig("--scheduler-config", flag, features);
    return { path, text };
  }
  const kept = before?.schedulerConfig;
  if (kept !== undefined) await checkSchedulerConfig(kept.path, kept.text, features);
  return kept;
}

/** Returns the network of the flag, or that of the cluster. */
function chooseHostNetwork(
  before: ClusterConfig | undefined,
  flag: string | undefined,
  runtime: string,
): Pick<ClusterConfig, "hostNetwork"> {
  const network = flag === undefined ? before?.hostNetwork : hostNetworkOption(flag, runtime);
  return network === "machine" ? { hostNetwork: network } : {};
}

/** Returns the folder of the flag, or that of the cluster. */
function chooseRegistryHosts(
  before: ClusterConfig | undefined,
  flag: string | undefined,
  runtime: string,
): Pick<ClusterConfig, "registryHosts"> {
  const folder = flag ?? before?.registryHosts ?? "none";
  return folder === "none" ? {} : { registryHosts: registryHostsOption(folder, runtime) };
}

/** Returns the sysctls of the flag, or those of the cluster. */
async function chooseUnsafeSysctls(
  before: ClusterConfig | undefined,
  flag: string | undefined,
): Promise<Pick<ClusterConfig, "allowedUnsafeSysctls">> {
  const allowedUnsafeSysctls =
    flag === undefined
      ? (before?.allowedUnsafeSysctls ?? [])
      : flag === "none"
        ? []
        : await unsafeSysctlsOption(flag);
  return allowedUnsafeSysctls.length > 0 ? { allowedUnsafeSysctls } : {};
}

/** Returns the plugins of the flag, or those of the cluster. */
async function chooseAdmissionPlugins(
  before: ClusterConfig | undefined,
  flag: string | undefined,
): Promise<Pick<ClusterConfig, "enabledAdmissionPlugins">> {
  let enabledAdmissionPlugins = before?.enabledAdmissionPlugins ?? [];
  if (flag !== undefined) {
    const { admissionPluginOptions } = await import("../../options/admission-plugins.ts");
    ({ enabledAdmissionPlugins } = admissionPluginOptions(flag));
  }
  return enabledAdmissionPlugins.length > 0 ? { enabledAdmissionPlugins } : {};
}

/** Returns the nodes of the fleet that run containers; undefined if it names no nodes. */
function fleetNodes({ path, fleet }: FleetFile, count: number | undefined): readonly string[] | undefined {
  const names = fleet.nodes.filter(({ simulated }) => !simulated).map(({ name }) => name);
  if (names.length === 0) return undefined;
  if (count !== undefined && count !== names.length)
    throw new UsageError(
      `--nodes ${count}: ${path} names ${names.length === 1 ? "1 node" : `${names.length} nodes`} (${namesText(names)}): leave --nodes out, or change the file`,
    );
  return names;
}

/** Two drivers with one name would use the same sockets and slices. Throws a UsageError. */
export function checkDriverNames(drivers: readonly ChosenDriver[], { path, fleet }: FleetFile): void {
  const simulated = new Set(
    [...fleet.nodes.flatMap((node) => node.drivers), ...fleet.network].map(({ name }) => name),
  );
  for (const { name, installation } of drivers)
    if (simulated.has(installation.id))
      throw new UsageError(
        `--driver ${name}: the fleet of the cluster, ${path}, has a driver ${installation.id} already; ` +
          "leave --driver out, or start a cluster without the fleet: another --name, or --fleet none when it is stopped",
      );
}

function hasSimulatedNodes(chosen: FleetFile | undefined): boolean {
  return chosen?.fleet.nodes.some(({ simulated }) => simulated) === true;
}

/** Returns the value of the flag, or that of the cluster. */
function simulatedNodesOption(
  flag: string | undefined,
  before: ClusterConfig | undefined,
): Pick<ClusterConfig, "simulatedNodes"> {
  const found = flag === undefined ? before?.simulatedNodes : flag === "all" ? flag : numberOf(flag);
  return found === undefined || found === 0 ? {} : { simulatedNodes: found };

  function numberOf(text: string): number {
    if (/^\d+$/.test(text) && Number(text) <= maxNodes) return Number(text);
    throw new UsageError(`--simulated-nodes ${text}: must be a whole number from 0 to ${maxNodes}, or all`);
  }
}
