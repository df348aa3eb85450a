import { constants, lstatSync } from "node:fs";
import { CdiError } from "../spec/spec.ts";

/** Properties of a device node on the host. */
export interface HostDevice {
  readonly type: "b" | "c" | "p";
  readonly major: number;
  readonly minor: number;
  /** Permission bits. */
  readonly fileMode: number;
}

const types = new Map<number, HostDevice["type"]>([
  [constants.S_IFBLK, "b"],
  [constants.S_IFCHR, "c"],
  [constants.S_IFIFO, "p"],
]);

/** Reads the properties of a device node of this machine. Throws a CdiError if it does not exist. */
export function hostDevice(path: string): HostDevice {
  let info: { mode: bigint; rdev: bigint };
  try {
    info = lstatSync(path, { bigint: true });
  } catch (error) {
    throw new CdiError(`device node ${path}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
  const type = types.get(Number(info.mode) & constants.S_IFMT);
  if (type === undefined) throw new CdiError(`${path} is neither a device node nor a fifo`);
  const { rdev } = info;
  return {
    type,
    // Linux splits both numbers over the 64 bits.
    major: Number(((rdev >> 8n) & 0xfffn) | ((rdev >> 32n) & ~0xfffn)),
    minor: Number((rdev & 0xffn) | ((rdev >> 12n) & 0xffffff00n)),
    fileMode: Number(info.mode) & 0o7777,
  };
}
