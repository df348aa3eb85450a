import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { writeFileAtomicallySync } from "@dray/files";
import type { SkipNodeOperation } from "./skipped-operations.ts";

/** A device that a driver has prepared. */
export interface PreparedDevice {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly ShareID?: string;
  readonly RequestNames: readonly string[] | null;
  readonly CDIDeviceIDs: readonly string[] | null;
}

/** State of a driver of a claim. */
export interface DriverState {
  /** null until the driver has prepared it. */
  readonly Devices: readonly PreparedDevice[] | null;
  /** Calls that the driver does not need (KEP-5945). */
  readonly skipNodeOperations?: readonly SkipNodeOperation[];
}

/** A claim in use on this node, as in upstream's file. */
export interface ClaimInfoState {
  readonly ClaimUID: string;
  readonly ClaimName: string;
  readonly Namespace: string;
  readonly PodUIDs: Readonly<Record<string, Record<string, never>>>;
  readonly DriverState: Readonly<Record<string, DriverState>>;
}

const kind = "DRACheckpoint";
const apiVersion = "checkpoint.dra.kubelet.k8s.io/v1";

/** Formats `dra_manager_state`: the data as a string, and its CRC-32 (IEEE) in decimal. */
export function formatCheckpoint(claims: readonly ClaimInfoState[]): string {
  const data = JSON.stringify({ kind, apiVersion, ClaimInfoStateList: claims });
  return JSON.stringify({ Data: data, Checksum: crc32(data) });
}

/** Parses `dra_manager_state`. Throws if it is damaged: as upstream, the agent refuses to start then. */
export function parseCheckpoint(text: string): readonly ClaimInfoState[] {
  // Both are checked below.
  const { Data, Checksum } = JSON.parse(text) as { Data: string; Checksum: number };
  if (typeof Data !== "string" || crc32(Data) !== Checksum) throw new Error("its checksum is wrong");
  // This or Go's kubelet has written it, as the checksum shows: the list of claims may be null.
  const data = JSON.parse(Data) as {
    kind: string;
    apiVersion: string;
    ClaimInfoStateList: ClaimInfoState[] | null;
  };
  if (data.kind !== kind || data.apiVersion !== apiVersion)
    throw new Error(`it is ${data.kind} of ${data.apiVersion} where ${kind} of ${apiVersion} is expected`);
  return data.ClaimInfoStateList ?? [];
}

/** Reads the claims of the checkpoint at `path`; none if there is no file. */
export function readCheckpoint(path: string): readonly ClaimInfoState[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw new Error(
      `${path} is damaged: ${(error as Error).message}; remove it when no pod with claims runs on the node`,
      { cause: error },
    );
  }
}

/** Replaces the checkpoint. It is on disk when this returns. */
export function writeCheckpoint(path: string, claims: readonly ClaimInfoState[]): void {
  writeFileAtomicallySync(path, formatCheckpoint(claims));
}
