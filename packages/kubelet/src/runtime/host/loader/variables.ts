/** How programs of a container start with the loader library. */
export interface LoaderSettings {
  /** Path of the library as the program sees it. */
  readonly library: string;
  /** The pod's addresses; undefined with the machine's network. */
  readonly addresses: PodAddresses | undefined;
  /** First port that needs no privilege; 0 if programs of pods may listen on all. */
  readonly firstFreePort: number;
}

/** Addresses of a pod in 127.0.0.0/8. */
export interface PodAddresses {
  readonly ip: string;
  /** Stands for 127.0.0.1 within the pod. */
  readonly loopback: string;
}

/** Names the pod of a process, `NAMESPACE/NAME`, for those who find it on the machine. */
export const podVariable = "DRAY_POD";

/** Names libraries that glibc and musl load into each program beside its own. */
const preload = "LD_PRELOAD";

/** Adds the library's variables to the environment of a program; `paths` is the text of its path table. */
export function addLoaderVariables(
  env: Record<string, string>,
  { library, addresses, firstFreePort }: LoaderSettings,
  paths: string,
): void {
  // Behind those of the pod, which are called first and call it.
  env[preload] = env[preload] ? `${env[preload]}:${library}` : library;
  const words = [
    ...(addresses === undefined ? [] : [`address=${addresses.ip}`, `loopback=${addresses.loopback}`]),
    ...(firstFreePort > 0 ? [`ports=${firstFreePort}`] : []),
  ];
  env["DRAY_LOADER"] = words.join(" ");
  if (paths !== "") env["DRAY_LOADER_PATHS"] = paths;
}
