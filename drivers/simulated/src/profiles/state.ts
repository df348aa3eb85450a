import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readRegularFile, removeFile, writeFileAtomically } from "@dray/files";

/** Maximum size of a file of state, in bytes. */
const maxBytes = 64 * 1024;

/** State of each device that a profile keeps on disk: one JSON file each, in a folder of the driver. */
export class DeviceFiles<T extends { readonly pool: string; readonly device: string }> {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Path of the state of a device. Pools may have names that no file can have. */
  path(pool: string, device: string): string {
    const hash = createHash("sha256").update(pool).digest("hex").slice(0, 8);
    return join(this.#folder, `${hash}-${device}.json`);
  }

  async read(pool: string, device: string): Promise<T | undefined> {
    return this.#read(this.path(pool, device));
  }

  async #read(path: string): Promise<T | undefined> {
    let text: string;
    try {
      text = (await readRegularFile(path, { maxBytes })).toString("utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      // Written by this program.
      return JSON.parse(text) as T;
    } catch (error) {
      throw new Error(`${path} cannot be read: ${(error as Error).message}; delete it to begin anew`);
    }
  }

  async write(state: T): Promise<void> {
    const path = this.path(state.pool, state.device);
    await writeFileAtomically(path, `${JSON.stringify(state)}\n`, { folderMode: 0o750 });
  }

  async remove(pool: string, device: string): Promise<void> {
    await removeFile(this.path(pool, device));
  }

  /** The states of all devices that have one. */
  async all(): Promise<T[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    });
    const files = names.filter((name) => name.endsWith(".json")).map((name) => join(this.#folder, name));
    const found = await Promise.all(files.map((file) => this.#read(file)));
    return found.filter((one) => one !== undefined);
  }
}
