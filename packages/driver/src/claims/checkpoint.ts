import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeJSON, encodeJSON } from "@dray/api";
import type { ContainerEdits } from "@dray/cdi";
import { removeFile, writeFileAtomically } from "@dray/files";
import type { AllocatedDevice, DeviceMetadata, PreparedClaim } from "../types/driver.ts";

/** A device of a claim as it was answered to the kubelet. */
export interface PreparedDevice {
  readonly device: AllocatedDevice;
  readonly edits: ContainerEdits;
  readonly metadata?: DeviceMetadata;
}

/**
 * State of a claim. `Started`: the driver's prepare may have run, wholly or in part. Written before it runs,
 * so that whatever it does is undone. Files of other versions of this program stay readable: unknown fields
 * are passed over, and none may become required.
 */
export type Checkpoint = CheckpointBase &
  (
    | { readonly state: "Started" }
    | { readonly state: "Completed"; readonly prepared: readonly PreparedDevice[] }
  );

interface CheckpointBase extends PreparedClaim {
  readonly version: 1;
  /** The boot during which it was written: devices and `/var/run` do not survive one. */
  readonly bootID: string;
}

/**
 * One file for each claim; nothing is kept in memory, so that two instances of a driver can follow each
 * other.
 */
export interface Checkpoints {
  read(uid: string): Promise<Checkpoint | undefined>;
  all(): Promise<Checkpoint[]>;
  /** Resolves when it is on disk. */
  write(checkpoint: Checkpoint): Promise<void>;
  remove(uid: string): Promise<void>;
}

export function checkpoints(directory: string): Checkpoints {
  const path = (uid: string): string => {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(uid)) throw new Error(`${JSON.stringify(uid)} is no claim UID`);
    return join(directory, `${uid}.json`);
  };

  const read = async (uid: string): Promise<Checkpoint | undefined> => {
    const file = path(uid);
    let text: string;
    try {
      text = await readFile(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      // Written by this program.
      return decodeJSON(text) as Checkpoint;
    } catch (error) {
      throw new Error(`checkpoint ${file} cannot be read: ${(error as Error).message}`);
    }
  };

  return {
    read,
    async all() {
      const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return [];
        throw error;
      });
      const uids = names
        .filter((name) => name.endsWith(".json"))
        .map((name) => name.slice(0, -".json".length));
      const found = await Promise.all(uids.map(read));
      return found.filter((one) => one !== undefined);
    },
    async write(checkpoint) {
      const text = encodeJSON(checkpoint);
      await writeFileAtomically(path(checkpoint.uid), text, { folderMode: 0o750 });
    },
    async remove(uid) {
      await removeFile(path(uid));
    },
  };
}
