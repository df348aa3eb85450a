import { statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { ImageMapping, RuntimeFactory } from "@dray/kubelet";
import { UsageError } from "../terminal/failure.ts";

/**
 * Folder of images and networks of the runtime oci: not below a node's root, since several nodes share it.
 */
export const defaultOciDir = "/var/lib/dray/oci";

/** Returns its folder of images. */
export const ociImagesDir = (ociDir: string): string => join(ociDir, "images");

/** Validates the value of `--runtime` and returns it. */
export function runtimeOption(value: string): string {
  const socket = criSocket(value);
  if (value !== "host" && value !== "oci" && socket === undefined)
    throw new UsageError(
      `--runtime ${value}: must be host, oci, or cri:SOCKET, as in cri:/run/containerd/containerd.sock`,
    );
  if (value === "oci" && process.getuid?.() !== 0)
    throw new UsageError(
      "--runtime oci: needs root, for name spaces, cgroups and networks: use host without it",
    );
  if (socket !== undefined && !isAbsolute(socket))
    throw new UsageError(`--runtime ${value}: the path of the socket must be absolute`);
  return value;
}

/**
 * Validates the value of `--registry-hosts` and returns it as an absolute path. `runtime`: the value of
 * `--runtime`.
 */
export function registryHostsOption(value: string, runtime: string): string {
  if (runtime !== "oci")
    throw new UsageError(
      `--registry-hosts ${value}: only the runtime oci fetches images itself, and this is ${runtime}: ${runtime === "host" ? "add --runtime oci" : "tell that runtime of its registries"}`,
    );
  const folder = resolve(value);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(
      `--registry-hosts ${value}: must be a folder that holds a folder for each registry, as in docker.io/hosts.toml`,
    );
  return folder;
}

/** Validates the value of `--host-network` and returns it. `runtime`: the value of `--runtime`. */
export function hostNetworkOption(value: string, runtime: string): "node" | "machine" {
  if (value !== "node" && value !== "machine")
    throw new UsageError(`--host-network ${value}: must be node or machine`);
  if (value === "node" && runtime !== "oci")
    throw new UsageError(
      `--host-network node: only the runtime oci makes a network for each node, and this is ${runtime}: add --runtime oci`,
    );
  return value;
}

/** The runtime of all nodes of a process. */
export interface OpenRuntime {
  readonly factory: RuntimeFactory;
  /** Returns the address of a node that has a network of its own; undefined if it has the machine's. */
  nodeAddress(node: string): Promise<string | undefined>;
  /** Must be called after the nodes have stopped. */
  close(): void;
}

export interface RuntimeSettings {
  /** Commands that replace images where containers are processes of the machine. */
  readonly images: () => readonly ImageMapping[];
  /** Folder of images and network records of `oci`; the nodes of the machine may share it. */
  readonly ociDir: string;
  /** Folder of the hosts from which `oci` pulls images of a registry; undefined: from the registry itself. */
  readonly registryHosts: string | undefined;
  readonly hostNetwork: "node" | "machine";
}

/** Opens the runtime of a validated `--runtime`. */
export async function openRuntime(
  value: string,
  { images, ociDir, registryHosts, hostNetwork }: RuntimeSettings,
): Promise<OpenRuntime> {
  const kubelet = await import("@dray/kubelet");
  const { criRuntime, hostRuntime, nriRuntime, OciImages, ociRuntime } = kubelet;
  const endpoint = criSocket(value);
  const ofMachine = { nodeAddress: async () => undefined, close: () => {} };
  // With CRI the runtime itself serves NRI.
  if (endpoint !== undefined) return { factory: criRuntime({ endpoint }), ...ofMachine };
  if (value === "host") return { factory: nriRuntime(hostRuntime({ images })), ...ofMachine };
  const store = await OciImages.open({
    directory: ociImagesDir(ociDir),
    now: Date.now,
    ...(registryHosts !== undefined && { registryHosts }),
  });
  const networkDir = join(ociDir, "network");
  const factory = nriRuntime(ociRuntime({ images: store, networkDir, hostNetwork }));
  return {
    factory,
    nodeAddress: async (node) =>
      hostNetwork === "machine"
        ? undefined
        : (await kubelet.reserveNodeAddresses(networkDir, [node]))?.get(node),
    close: () => store.close(),
  };
}

function criSocket(value: string): string | undefined {
  return value.startsWith("cri:") ? value.slice("cri:".length) : undefined;
}
