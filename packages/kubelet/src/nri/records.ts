import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "@dray/client";
import { makeFolder, removeFile, writeFileAtomically } from "@dray/files";
import { Container, PodSandbox } from "@dray/rpc/nri/v1alpha1";

/** A container as plugins know it. */
export interface ContainerRecord {
  /** The runtime's ID of it; plugins know another, as they see it before the runtime does. */
  readonly runtimeId: string;
  readonly container: Container;
  /** Plugins have been told that it has stopped. */
  readonly stopped: boolean;
}

/** What plugins know of pods and containers; outlives the agent. */
export class NriRecords {
  readonly #folder: string;
  /** By the runtime's ID. */
  readonly pods = new Map<string, PodSandbox>();
  /** By the runtime's ID. */
  readonly containers = new Map<string, ContainerRecord>();
  /** Ends when the last change of the files has. */
  #turn: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads what is there. What is damaged is deleted, and plugins no longer know of that pod or container. */
  async load(log: Log): Promise<void> {
    await makeFolder(this.#folder, 0o700);
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const text = await readFile(path, "utf8");
      try {
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
    await this.#inTurn(() => removeFile(this.#path(id)));
  }

  /** One change of the files after the other: what is forgotten must not come back by a write that began before. */
  async #inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(change);
    this.#turn = done.catch(() => {});
    await done;
  }

  /** Only the agent may read them: the environment of containers has secrets. */
  async #write(id: string, stored: Partial<Stored>): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.pods.has(id) && !this.containers.has(id)) return;
      await writeFileAtomically(this.#path(id), JSON.stringify(stored), { mode: 0o600 });
    });
  }

  /** IDs are the runtime's own, and may have any character. */
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
