import { type ChildProcess, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import type { ClusterConfig, Layout } from "@dray/cluster";

/**
 * Returns the command that runs `dray` with `args` in the same way as this process, with additional flags of
 * Node.
 */
export function ownCommand(
  args: readonly string[],
  flags: readonly string[] = [],
): [command: string, args: string[]] {
  return [process.execPath, [...process.execArgv, ...flags, process.argv[1]!, ...args]];
}

/** Returns the files and folders that a command of `ownCommand` reads. */
export function ownFiles(): string[] {
  const main = process.argv[1]!;
  // Sources load those of other packages, the bundle loads the files beside it.
  const code = main.endsWith(".ts") ? join(import.meta.dirname, "../../../..") : dirname(main);
  return [process.execPath, code];
}

/** Starts the process of all node agents. It ends with this one; its pods outlive both. */
export function agentsCommand(layout: Layout, config: ClusterConfig): ChildProcess {
  const [command, args] = ownCommand([
    "node-agents",
    ...["--runtime", config.runtime],
    ...["--oci-dir", layout.ociDir],
    ...(config.registryHosts === undefined ? [] : ["--registry-hosts", config.registryHosts]),
    ...(config.hostNetwork === undefined ? [] : ["--host-network", config.hostNetwork]),
    ...(config.allowedUnsafeSysctls === undefined
      ? []
      : ["--allowed-unsafe-sysctls", config.allowedUnsafeSysctls.join(",")]),
    ...["--proxy-kubeconfig", layout.proxyKubeconfig],
    ...config.images.flatMap((image) => ["--image", image]),
    ...["--client-ca-file", join(layout.pki, "ca.crt")],
    ...["--kubernetes-version", config.kubernetesVersion],
    ...["--feature-gates", config.featureGates],
    ...["--log-file", join(layout.logs, "agents.log")],
    ...["--state-file", layout.nodesFile],
    ...["--images-file", layout.imagesFile],
  ]);
  // A separate session: Ctrl-C in a terminal is for the cluster, which then stops its agents.
  return spawn(command, args, { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
}
