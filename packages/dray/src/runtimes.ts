import { isAbsolute } from "node:path";
import type { ImageMapping, RuntimeFactory } from "@dray/kubelet";
import { UsageError } from "./failure.ts";

/** Checks what `--runtime` says, and answers it. */
export function runtimeOption(value: string): string {
  const socket = criSocket(value);
  if (value !== "host" && socket === undefined)
    throw new UsageError(
      `--runtime ${value}: must be host, or cri:SOCKET, as in cri:/run/containerd/containerd.sock`,
    );
  if (socket !== undefined && !isAbsolute(socket))
    throw new UsageError(`--runtime ${value}: the path of the socket must be absolute`);
  return value;
}

/** The runtime that a checked `--runtime` names. `images` stand for commands where containers are processes of the machine. */
export async function runtimeFactory(
  value: string,
  images: () => readonly ImageMapping[],
): Promise<RuntimeFactory> {
  const { criRuntime, hostRuntime, nriRuntime } = await import("@dray/kubelet");
  const endpoint = criSocket(value);
  // Behind CRI the runtime itself serves NRI.
  return endpoint === undefined ? nriRuntime(hostRuntime({ images })) : criRuntime({ endpoint });
}

function criSocket(value: string): string | undefined {
  return value.startsWith("cri:") ? value.slice("cri:".length) : undefined;
}
