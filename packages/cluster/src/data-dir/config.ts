import { existsSync, readFileSync } from "node:fs";
import { writeFileAtomicallySync } from "@dray/files";
import { defaultName, type Layout } from "./layout.ts";

/** Configuration of a cluster, kept from one start to the next. */
export interface ClusterConfig {
  readonly name: string;
  readonly kubernetesVersion: string;
  /** As `--feature-gates` has them: `A=true,B=false`. */
  readonly featureGates: string;
  /** As `--runtime-config` has them. */
  readonly runtimeConfig: Readonly<Record<string, boolean>>;
  readonly nodes: readonly string[];
  /** The address that the API server listens on. */
  readonly bindAddress: string;
  /** Under which others reach it; "" if that is an address of this machine. */
  readonly advertiseAddress: string;
  /** Port of the API server; 0 until it has first listened. */
  readonly port: number;
  /** `sqlite:PATH`, `etcd:URL` or `memory`. */
  readonly store: string;
  /** Runtime of the nodes: `host`, `oci` or `cri:SOCKET`. */
  readonly runtime: string;
  /** CIDR of the addresses of Services on the runtime host; others have the API server's default. */
  readonly serviceRange?: string;
  /**
   * Absolute path of the folder that says which hosts images of a registry are fetched from, if there is one.
   */
  readonly registryHosts?: string;
  /**
   * Pods with `hostNetwork` have the machine's network; without it, one of their node where there are such.
   */
  readonly hostNetwork?: "machine";
  /** Patterns of sysctls that pods may set on the nodes beside the safe ones, if there are any. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** `PATTERN=COMMAND` each. */
  readonly images: readonly string[];
  /** The file that describes the nodes and their devices, if one does. */
  readonly fleet?: string;
  /** Number of simulated nodes beside those of the fleet, or `all`: all nodes of the fleet are simulated. */
  readonly simulatedNodes?: number | "all";
  /** The KubeSchedulerConfiguration, if a file gave one. */
  readonly schedulerConfig?: KeptFile;
  /** Names of admission plugins that are off by default. */
  readonly enabledAdmissionPlugins?: readonly string[];
}

/** A file as it was when a flag named it: the cluster goes on with that. */
export interface KeptFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
}

/** Counts up when an older Dray would misunderstand a data directory. */
const format = 1;

/** Defaults of fields that older configurations lack. */
const defaults = {
  name: defaultName,
  runtimeConfig: {},
  bindAddress: "127.0.0.1",
  advertiseAddress: "",
  runtime: "host",
};

/** The configuration of a cluster is malformed or cannot be read. */
export class DamagedConfigError extends Error {
  override readonly name = "DamagedConfigError";
}

/** The configuration of the cluster in `layout`, or undefined if it does not exist yet. */
export function readConfig(layout: Layout): ClusterConfig | undefined {
  if (!existsSync(layout.configFile)) return undefined;
  const file = layout.configFile;
  let config: unknown;
  try {
    config = JSON.parse(readFileSync(file, "utf8"));
    const mistake = isObject(config) && isOfNewer(config) ? undefined : mistakeIn(config);
    if (mistake !== undefined) throw new Error(mistake);
  } catch (error) {
    throw new DamagedConfigError(
      `${file} cannot be read: ${(error as Error).message}; delete it to start with defaults`,
    );
  }
  const { format: found, ...rest } = config as ClusterConfig & { format?: number };
  if (isOfNewer(config))
    throw new Error(
      `the cluster in ${layout.dataDir} is one of a newer Dray (format ${found}; this one knows ${format}): use that Dray, or another cluster (--name or --data-dir)`,
    );
  return { ...defaults, ...rest };
}

/** As `readConfig`, but undefined also for a damaged configuration: a cluster can be deleted without it. */
export function readSoundConfig(layout: Layout): ClusterConfig | undefined {
  try {
    return readConfig(layout);
  } catch (error) {
    if (error instanceof DamagedConfigError) return undefined;
    throw error;
  }
}

function isOfNewer(config: unknown): boolean {
  return Number((config as { format?: unknown }).format ?? 1) > format;
}

const isText = (value: unknown): boolean => typeof value === "string";
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isKeptFile(value: unknown): boolean {
  return (
    isObject(value) && ["path", "text"].every((name) => isText((value as Record<string, unknown>)[name]))
  );
}

/** Checks of the fields that are present. */
const fields: Readonly<Record<keyof ClusterConfig, [is: (value: unknown) => boolean, must: string]>> = {
  name: [isText, "a text"],
  kubernetesVersion: [isText, "a text"],
  featureGates: [isText, "a text"],
  runtimeConfig: [isObject, "an object"],
  nodes: [areTexts, "a list of texts"],
  bindAddress: [isText, "a text"],
  advertiseAddress: [isText, "a text"],
  port: [Number.isSafeInteger, "a whole number"],
  store: [isText, "a text"],
  runtime: [isText, "a text"],
  serviceRange: [isText, "a text"],
  registryHosts: [isText, "a text"],
  hostNetwork: [(value) => value === "machine", 'the text "machine"'],
  allowedUnsafeSysctls: [areTexts, "a list of texts"],
  images: [areTexts, "a list of texts"],
  fleet: [isText, "a text"],
  simulatedNodes: [(value) => Number.isSafeInteger(value) || value === "all", 'a whole number or "all"'],
  enabledAdmissionPlugins: [areTexts, "a list of texts"],
  schedulerConfig: [isKeptFile, "an object with the texts path and text"],
};

function mistakeIn(config: unknown): string | undefined {
  if (!isObject(config)) return "it must be an object";
  const found = config as Readonly<Record<string, unknown>>;
  if (found["nodes"] === undefined) return "nodes is missing";
  const wrong = Object.entries(fields).find(([name, [is]]) => found[name] !== undefined && !is(found[name]));
  return wrong && `${wrong[0]} must be ${wrong[1][1]}, and is ${JSON.stringify(found[wrong[0]])}`;
}

export function writeConfig(layout: Layout, config: ClusterConfig): void {
  const text = `${JSON.stringify({ format, ...config }, null, 2)}\n`;
  writeFileAtomicallySync(layout.configFile, text, { folderMode: 0o700 });
}
