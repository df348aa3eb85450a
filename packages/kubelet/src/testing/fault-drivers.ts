import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RpcError, type RpcServer, service, unixServer } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";

/*
 * The agent is stopped between every two steps of prepare and unprepare, as kill -9 would leave the disk, and
 * drivers are stopped before and after they do what they are called for. In all cases: no container gets a
 * device that is not prepared for its claim, no device is prepared for two, drivers unprepare when the last
 * pod is gone and not before, and in the end nothing is left.
 */

export const drivers = ["a.example.com", "b.example.com"] as const;

export type DriverName = (typeof drivers)[number];

/** When a driver ends: before it does what it is called for, or after; undefined: it responds. */
export type DriverFault = "before" | "after" | undefined;

/** Claims of a test, as drivers have to know them. */
export interface ClaimSource {
  claim(uid: string): {
    readonly name: string;
    readonly devices: Readonly<Partial<Record<DriverName, string>>>;
  };
  /** Pods that use a claim. */
  usersOf(uid: string): readonly string[];
}

/** Drivers on real sockets, which keep prepared devices over crashes. */
export class Drivers {
  readonly folder = mkdtempSync("/tmp/dk-");
  readonly #servers: RpcServer[] = [];
  /** By driver and device: the UID of the claim that it is prepared for. */
  readonly prepared = new Map<string, string>();
  world!: ClaimSource;
  /** Faults of the next calls. */
  readonly faults: DriverFault[] = [];
  calls = 0;

  socket(driver: string): string {
    return join(this.folder, `${driver}.sock`);
  }

  async start(): Promise<void> {
    for (const driver of drivers)
      this.#servers.push(
        await unixServer(this.socket(driver), [
          service(DRAPluginDefinition, {
            nodePrepareResources: async ({ claims }) =>
              this.#call(() => ({
                claims: Object.fromEntries(claims.map(({ uid }) => [uid, this.#prepare(driver, uid)])),
              })),
            nodeUnprepareResources: async ({ claims }) =>
              this.#call(() => {
                for (const { uid } of claims) this.#unprepare(driver, uid);
                return { claims: Object.fromEntries(claims.map(({ uid }) => [uid, { error: "" }])) };
              }),
          }),
        ]),
      );
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server.close(0);
    rmSync(this.folder, { recursive: true });
  }

  #call<T>(work: () => T): T {
    this.calls++;
    const fault = this.faults.shift();
    if (fault === "before") throw new RpcError("Unavailable", "the driver has ended");
    const answer = work();
    if (fault === "after") throw new RpcError("Unavailable", "the driver has ended");
    return answer;
  }

  #prepare(driver: DriverName, uid: string) {
    const claim = this.world.claim(uid);
    const device = claim.devices[driver];
    assert.ok(device !== undefined, `${driver} has no part in ${claim.name}`);
    for (const held of this.prepared.values())
      if (held !== uid)
        assert.notEqual(
          this.world.claim(held).name,
          claim.name,
          "two claims of a name are prepared at a time",
        );
    const key = `${driver}/${device}`;
    const holder = this.prepared.get(key);
    // As drivers have to do: a force-deleted pod may still run.
    if (holder !== undefined && holder !== uid) return { devices: [], error: `${device} is in use` };
    this.prepared.set(key, uid);
    const id = `${driver}/d=${uid}`;
    return {
      devices: [{ requestNames: [], poolName: "pool", deviceName: device, cdiDeviceIds: [id] }],
      error: "",
    };
  }

  #unprepare(driver: DriverName, uid: string): void {
    assert.deepEqual(this.world.usersOf(uid), [], `${uid} is unprepared while pods use it`);
    for (const [key, holder] of this.prepared)
      if (holder === uid && key.startsWith(`${driver}/`)) this.prepared.delete(key);
  }
}
