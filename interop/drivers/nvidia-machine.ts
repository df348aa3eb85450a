import { spawnSync } from "node:child_process";
import { appendFileSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { peer } from "../peers.ts";

/**
 * A machine with GPUs of NVIDIA, as drivers see it: the folder where a driver is installed, and a simulated
 * library.
 */
export interface NvidiaMachine {
  /** Has /usr/lib64 with the library, /usr/bin with nvidia-smi, and /dev. */
  readonly root: string;
  /** UUIDs, in the order of the minor numbers. */
  readonly gpus: readonly string[];
  /** Reports an error of a GPU, as the kernel module does. */
  xid(uuid: string, number: number): void;
}

export const driverVersion = "580.95.05";

/** Folder of the driver on the machine of a trial. */
export const driverRoot = (folder: string): string => join(folder, "driver");

/**
 * Creates the files of a machine with `count` GPUs of type H100 below `folder`. Needs root, for device nodes;
 * each is a copy of /dev/null.
 */
export function nvidiaMachine(folder: string, count: number): NvidiaMachine {
  const root = driverRoot(folder);
  const libraries = join(root, "usr/lib64");
  const programs = join(root, "usr/bin");
  const devices = join(root, "dev");
  for (const path of [libraries, programs, devices]) mkdirSync(path, { recursive: true });
  // Drivers find the version by the name.
  copyFileSync(peer("libnvidia-ml.so.1"), join(libraries, `libnvidia-ml.so.${driverVersion}`));
  symlinkSync(`libnvidia-ml.so.${driverVersion}`, join(libraries, "libnvidia-ml.so.1"));
  writeFileSync(join(libraries, `libcuda.so.${driverVersion}`), "");
  writeFileSync(join(programs, "nvidia-smi"), "#!/bin/sh\n", { mode: 0o755 });
  const gpus = Array.from(
    { length: count },
    (_, minor) => `GPU-00000000-0000-4000-8000-${`${minor}`.padStart(12, "0")}`,
  );
  const lines = gpus.map((uuid, minor) => {
    const bus = (0x17 + minor).toString(16).toUpperCase();
    return `gpu ${uuid} 00000000:${bus}:00.0 81559 9.0 NVIDIA H100 80GB HBM3`;
  });
  writeFileSync(join(libraries, "gpus"), [`driver ${driverVersion} 13000`, ...lines, ""].join("\n"));
  for (const name of ["nvidiactl", "nvidia-uvm", ...gpus.map((_, minor) => `nvidia${minor}`)]) {
    const { status, stderr } = spawnSync("mknod", ["-m", "666", join(devices, name), "c", "1", "3"], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`mknod ${name}: ${stderr}`);
  }
  const events = join(libraries, "events");
  writeFileSync(events, "");
  return { root, gpus, xid: (uuid, number) => appendFileSync(events, `xid ${uuid} ${number}\n`) };
}
