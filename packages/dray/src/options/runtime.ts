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

/** The runtime of all nodes of a process. */
export interface OpenRuntime {
  readonly factory: RuntimeFactory;
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
}

/** Opens the runtime of a validated `--runtime`. */
export async function openRuntime(
  value: string,
  { images, ociDir, registryHosts }: RuntimeSettings,
): Promise<OpenRuntime> {
  const { criRuntime, hostRuntime, nriRuntime, OciImages, ociRuntime } = await import("@dray/kubelet");
  const endpoint = criSocket(value);
  // With CRI the runtime itself serves NRI.
  if (endpoint !== undefined) return { factory: criRuntime({ endpoint }), close: () => {} };
  if (value === "host") return { factory: nriRuntime(hostRuntime({ images })), close: () => {} };
  const store = await OciImages.open({
    directory: ociImagesDir(ociDir),
    now: Date.now,
    ...(registryHosts !== undefined && { registryHosts }),
  });
  const factory = nriRuntime(ociRuntime({ images: store, networkDir: join(ociDir, "network") }));
  return { factory, close: () => store.close() };
}

function criSocket(value: string): string | undefined {
  return value.startsWith("cri:") ? value.slice("cri:".length) : undefined;
}
