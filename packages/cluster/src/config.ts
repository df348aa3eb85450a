import { existsSync, readFileSync } from "node:fs";
import { writeFileAtomicallySync } from "@dray/files";
import { defaultName, type Layout } from "./layout.ts";

/** What a cluster is, remembered from one start to the next. */
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
  /** `PATTERN=COMMAND` each. */
  readonly images: readonly string[];
}

/** What configurations did not have from the beginning. */
const defaults = { name: defaultName, runtimeConfig: {}, bindAddress: "127.0.0.1", advertiseAddress: "" };

/** The configuration of the cluster in `layout`, or undefined if there is none yet. */
export function readConfig(layout: Layout): ClusterConfig | undefined {
  if (!existsSync(layout.configFile)) return undefined;
  try {
    return { ...defaults, ...(JSON.parse(readFileSync(layout.configFile, "utf8")) as ClusterConfig) };
  } catch (error) {
    throw new Error(
      `${layout.configFile} cannot be read: ${(error as Error).message}; delete it to start with defaults`,
    );
  }
}

export function writeConfig(layout: Layout, config: ClusterConfig): void {
  const text = `${JSON.stringify(config, null, 2)}\n`;
  writeFileAtomicallySync(layout.configFile, text, { folderMode: 0o700 });
}
