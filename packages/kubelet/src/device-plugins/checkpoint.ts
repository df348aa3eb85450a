import { crc32 } from "node:zlib";
import { readRegularFileSync, writeFileAtomicallySync } from "@dray/files";
import { ContainerAllocateResponse } from "@dray/rpc/deviceplugin/v1beta1";
import { numaNodesOf } from "./topology.ts";

/** Name of the file in the folder of device plugins. */
export const checkpointName = "kubelet_internal_checkpoint";

/**
 * Maximum size of the file; a larger one is damaged. 1,000 containers with large responses need some 150 MiB.
 */
const maxBytes = 256 << 20;

/** Key of devices without a NUMA node. */
const withoutNode = "-1";

/** Devices of one resource that are allocated to a container, as in the file. */
export interface CheckpointEntry {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
  /** By device ID; absent for a device without NUMA nodes. */
  readonly numaNodes: ReadonlyMap<string, readonly number[]>;
  readonly response: ContainerAllocateResponse;
}

export interface Checkpoint {
  readonly entries: readonly CheckpointEntry[];
  /** Resources whose plugins have registered, with their healthy devices. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
  /** The boot in which the file was written. */
  readonly bootId: string;
}

interface EntryJSON {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
  readonly AllocResp: string;
}

interface DataJSON {
  readonly PodDeviceEntries: readonly EntryJSON[];
  readonly RegisteredDevices: Readonly<Record<string, readonly string[]>>;
}

/**
 * Formats the file with the kubelet's fields, which tools read. The checksum is the CRC-32 of the data and
 * the boot ID: the kubelet's is a hash over structs of Go, which other programs cannot compute, so neither
 * reads the other's file.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go
 */
export function formatCheckpoint({ entries, registered, bootId }: Checkpoint): string {
  const data: DataJSON = {
    PodDeviceEntries: entries.map((entry) => ({
      PodUID: entry.podUid,
      ContainerName: entry.container,
      ResourceName: entry.resource,
      DeviceIDs: byNode(entry),
      AllocResp: Buffer.from(ContainerAllocateResponse.encode(entry.response).finish()).toString("base64"),
    })),
    RegisteredDevices: Object.fromEntries(registered),
  };
  return JSON.stringify({ Data: data, Checksum: checksum(data, bootId), BootID: bootId });
}

function checksum(data: unknown, bootId: string): number {
  return crc32(JSON.stringify([data, bootId]));
}

function byNode({ ids, numaNodes }: CheckpointEntry): Record<string, string[]> {
  const result: Record<string, string[]> = {};
  for (const id of ids)
    for (const node of numaNodes.get(id) ?? [withoutNode]) {
      result[node] ??= [];
      result[node].push(id);
    }
  return result;
}

/** Parses the file. Throws if it is damaged or was written by another program. */
export function parseCheckpoint(text: string): Checkpoint {
  const { Data, Checksum, BootID } = object("the file", JSON.parse(text));
  const bootId = string("BootID", BootID ?? "");
  if (Checksum !== checksum(Data, bootId)) throw new Error("its checksum is wrong");
  const { PodDeviceEntries, RegisteredDevices } = object("Data", Data);
  const entries = array("Data.PodDeviceEntries", PodDeviceEntries).map((one, index): CheckpointEntry => {
    const at = `Data.PodDeviceEntries[${index}]`;
    const entry = object(at, one);
    const ids = new Set<string>();
    const nodes = new Map<string, number[]>();
    for (const [key, list] of Object.entries(object(`${at}.DeviceIDs`, entry["DeviceIDs"])))
      for (const id of strings(`${at}.DeviceIDs[${key}]`, list)) {
        ids.add(id);
        if (key !== withoutNode) nodes.set(id, numaNodesOf([...(nodes.get(id) ?? []), Number(key)]));
      }
    return {
      podUid: string(`${at}.PodUID`, entry["PodUID"]),
      container: string(`${at}.ContainerName`, entry["ContainerName"]),
      resource: string(`${at}.ResourceName`, entry["ResourceName"]),
      ids: [...ids],
      numaNodes: nodes,
      response: ContainerAllocateResponse.decode(
        Buffer.from(string(`${at}.AllocResp`, entry["AllocResp"]), "base64"),
      ),
    };
  });
  const registered = Object.entries(object("Data.RegisteredDevices", RegisteredDevices)).map(
    ([resource, ids]) => [resource, strings(`Data.RegisteredDevices[${resource}]`, ids)] as const,
  );
  return { entries, registered: new Map(registered), bootId };
}

function object(at: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${at} must be an object`);
  return value as Record<string, unknown>;
}

function array(at: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${at} must be a list`);
  return value;
}

function string(at: string, value: unknown): string {
  if (typeof value !== "string") throw new Error(`${at} must be a string`);
  return value;
}

function strings(at: string, value: unknown): readonly string[] {
  return array(at, value).map((one, index) => string(`${at}[${index}]`, one));
}

/** Reads the checkpoint at `path`; undefined if the file does not exist. Throws if it is damaged. */
export function readCheckpoint(path: string): Checkpoint | undefined {
  let bytes: Buffer;
  try {
    bytes = readRegularFileSync(path, { maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return parseCheckpoint(bytes.toString("utf8"));
  } catch (error) {
    throw new Error(`${path} is damaged: ${(error as Error).message}`, { cause: error });
  }
}

/** Replaces the checkpoint. With `durable`, it is on disk when this returns. */
export function writeCheckpoint(path: string, checkpoint: Checkpoint, durable: boolean): void {
  writeFileAtomicallySync(path, formatCheckpoint(checkpoint), { durable });
}
