import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import type { SandboxConfig } from "../config.ts";
import type { Sandbox } from "../service.ts";
import { AddressPool } from "./addresses.ts";
import type { Isolation } from "./isolation.ts";
import { bootId, isAlive, type ProcessIdentity, parseStat, signal } from "./processes.ts";
import { readRecord, type SandboxRecord, writeRecord } from "./records.ts";
import { processName, startSandboxProcess } from "./sandbox-process.ts";

export interface HostSandboxesOptions {
  /** Folder of the runtime. */
  readonly directory: string;
  readonly rootDir: string;
  readonly nodeAddress: string;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
}

/**
 * The sandboxes of the host runtime: a record and an address for each pod, and a process for one whose
 * containers share a pid name space.
 */
export class HostSandboxes {
  readonly #options: HostSandboxesOptions;
  readonly #folder: string;
  readonly #records = new Map<string, SandboxRecord>();
  #addresses: AddressPool | undefined;

  constructor(options: HostSandboxesOptions) {
    this.#options = options;
    this.#folder = join(options.directory, "sandboxes");
  }

  /** Claims the node's addresses, and adopts the sandboxes of an earlier agent. */
  async start(): Promise<void> {
    const { directory, rootDir } = this.#options;
    makeFolderSync(this.#folder, 0o700);
    const pool = readRecord<{ prefix: string }>(directory, "addresses.json");
    this.#addresses = await AddressPool.claim(rootDir, pool?.prefix);
    writeRecord(join(directory, "addresses.json"), JSON.stringify({ prefix: this.#addresses.prefix }));
    for (const id of readdirSync(this.#folder)) {
      const record = readRecord<SandboxRecord>(join(this.#folder, id), "sandbox.json");
      // A directory without a record was left by an agent that was killed while it made or removed it.
      if (record === undefined) rmSync(join(this.#folder, id), { recursive: true });
      else {
        const stopped = record.stopped || record.bootId !== bootId();
        const process = this.#processOf(id);
        this.#records.set(id, { ...record, ...(process && { process }), ...(stopped && { stopped }) });
        if (!stopped) this.#addresses.take(record.ip);
      }
    }
  }

  close(): void {
    this.#addresses?.close();
  }

  /** Returns the ID of a new sandbox. */
  async run(config: SandboxConfig, isolation: Isolation): Promise<string> {
    const { directory, nodeAddress, clock, newId } = this.#options;
    const id = newId();
    const sharesPids =
      config.shareProcessNamespace && !config.hostPID && isolation.type === "mounts" && isolation.pids;
    const record: SandboxRecord = {
      id,
      config,
      ip: config.hostNetwork ? nodeAddress : this.#pool.allocate(),
      createdAt: clock.now(),
      bootId: bootId(),
      ...(sharesPids && { sharesPids }),
    };
    // Saved first: the next agent ends the process if this one is killed meanwhile.
    this.#save(record);
    if (sharesPids)
      try {
        const process = await startSandboxProcess(directory, join(this.#folder, id, processName), isolation);
        this.#records.set(id, { ...record, process });
      } catch (error) {
        this.stop(id);
        this.remove(id);
        throw error;
      }
    return id;
  }

  #processOf(id: string): ProcessIdentity | undefined {
    try {
      return parseStat(readFileSync(join(this.#folder, id, processName), "utf8"));
    } catch {
      return undefined;
    }
  }

  get(id: string): SandboxRecord | undefined {
    return this.#records.get(id);
  }

  /** Frees the address. No container may run in it any more. */
  stop(id: string): void {
    const record = this.#records.get(id);
    if (record === undefined || record.stopped) return;
    const process = record.process ?? this.#processOf(id);
    if (process !== undefined && record.bootId === bootId() && isAlive(process))
      signal(process.pid, "SIGKILL");
    this.#save({ ...record, stopped: true });
    if (!record.config.hostNetwork) this.#pool.free(record.ip);
  }

  remove(id: string): void {
    rmSync(join(this.#folder, id), { recursive: true, force: true });
    this.#records.delete(id);
  }

  list(podUid: string | undefined): Sandbox[] {
    return [...this.#records.values()]
      .filter(({ config }) => podUid === undefined || config.uid === podUid)
      .map(({ id, config, ip, createdAt, stopped, sharesPids, process }) => ({
        id,
        config,
        ips: [ip],
        createdAt,
        ready: !stopped && (!sharesPids || (process !== undefined && isAlive(process))),
      }));
  }

  get #pool(): AddressPool {
    if (this.#addresses === undefined) throw new Error("the runtime has not been started");
    return this.#addresses;
  }

  #save(record: SandboxRecord): void {
    const directory = join(this.#folder, record.id);
    makeFolderSync(directory, 0o700);
    writeRecord(join(directory, "sandbox.json"), JSON.stringify(record));
    this.#records.set(record.id, record);
  }
}
