import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "@dray/client";
import { makeFolder, removeFile, writeFileAtomically } from "@dray/files";
import { Container, PodSandbox } from "@dray/rpc/nri/v1alpha1";

/** A container in the form in which plugins know it. */
export interface ContainerRecord {
  /** ID in the runtime; plugins know another one, since they see the container before the runtime. */
  readonly runtimeId: string;
  readonly container: Container;
  /** Plugins were notified that it has stopped. */
  readonly stopped: boolean;
}

/** Pods and containers as plugins know them; survives restarts of the agent. */
export class NriRecords {
  readonly #folder: string;
  /** By ID in the runtime. */
  readonly pods = new Map<string, PodSandbox>();
  /** By ID in the runtime. */
  readonly containers = new Map<string, ContainerRecord>();
  /** Resolves when the last change of the files has ended. */
  #lastChange: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads all records. Damaged ones are deleted, and plugins no longer know that pod or container. */
  async load(log: Log): Promise<void> {
    await makeFolder(this.#folder, 0o700);
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const text = await readFile(path, "utf8");
      try {
        // Written by this program.
        const { pod, container, runtimeId, stopped } = JSON.parse(text) as Partial<Stored>;
        if (pod !== undefined) {
          const message = PodSandbox.decode(Buffer.from(pod, "base64"));
          this.pods.set(message.id, message);
        } else if (container !== undefined && runtimeId !== undefined) {
          const message = Container.decode(Buffer.from(container, "base64"));
          this.containers.set(runtimeId, { runtimeId, container: message, stopped: stopped === true });
        } else throw new Error("neither a pod nor a container");
      } catch (error) {
        log.warn({ path, error: (error as Error).message }, "a damaged record of NRI was deleted");
        await removeFile(path);
      }
    }
  }

  async keepPod(pod: PodSandbox): Promise<void> {
    this.pods.set(pod.id, pod);
    await this.#write(pod.id, { pod: base64(PodSandbox.encode(pod).finish()) });
  }

  async keepContainer(record: ContainerRecord): Promise<void> {
    const { runtimeId, container, stopped } = record;
    this.containers.set(runtimeId, record);
    await this.#write(runtimeId, {
      runtimeId,
      container: base64(Container.encode(container).finish()),
      stopped,
    });
  }

  async forget(id: string): Promise<void> {
    this.pods.delete(id);
    this.containers.delete(id);
    await this.#serialize(() => removeFile(this.#path(id)));
  }

  /** Serializes changes of the files, so that an earlier write does not restore a deleted record. */
  async #serialize(change: () => Promise<void>): Promise<void> {
    const done = this.#lastChange.then(change);
    this.#lastChange = done.catch(() => {});
    await done;
  }

  /** Readable by the agent only: the environment of containers has secrets. */
  async #write(id: string, stored: Partial<Stored>): Promise<void> {
    await this.#serialize(async () => {
      if (!this.pods.has(id) && !this.containers.has(id)) return;
      await writeFileAtomically(this.#path(id), JSON.stringify(stored), { mode: 0o600 });
    });
  }

  /** IDs are chosen by the runtime, and may have any character. */
  #path(id: string): string {
    return join(this.#folder, `${encodeURIComponent(id)}.json`);
  }
}

interface Stored {
  readonly pod: string;
  readonly container: string;
  readonly runtimeId: string;
  readonly stopped: boolean;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
