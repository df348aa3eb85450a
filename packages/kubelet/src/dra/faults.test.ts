import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { type Client, silentLog, systemClock } from "@dray/client";
import { partial } from "@dray/testing/partial";
import { type DriverFault, type DriverName, Drivers, drivers } from "../testing/fault-drivers.ts";
import { parseCheckpoint } from "./checkpoint.ts";
import { DraManager, type FaultPoint, faultPoints } from "./manager.ts";
import { DraPlugins } from "./plugins.ts";

/** A claim by the name and UID that it has, with the device that each driver has to prepare. */
interface Claim {
  readonly name: string;
  readonly uid: string;
  readonly devices: Partial<Record<DriverName, string>>;
}

/** A step in the life of a pod, by the pod; failures are retried, as the pod's worker does. */
type Step = readonly ["prepare" | "unprepare" | "refused", pod: string];

/** A sequence of events on a node, with the claims of each pod. */
interface Story {
  readonly pods: Readonly<Record<string, readonly Claim[]>>;
  readonly steps: readonly Step[];
}

const claimOf = (name: string, devices: Claim["devices"], uid = `${name}-uid`): Claim => ({
  name,
  uid,
  devices,
});
const both = claimOf("both", { "a.example.com": "gpu-0", "b.example.com": "nic-0" });
const one = claimOf("one", { "a.example.com": "gpu-1" });

const stories: Readonly<Record<string, Story>> = {
  "a pod with two claims of two drivers": {
    pods: { p: [both, one] },
    steps: [
      ["prepare", "p"],
      ["unprepare", "p"],
    ],
  },
  "a claim that pods share": {
    pods: { p: [both], q: [both, one] },
    steps: [
      ["prepare", "p"],
      ["prepare", "q"],
      ["unprepare", "p"],
      ["unprepare", "q"],
    ],
  },
  "a claim that was made again under its name": {
    pods: { p: [both], q: [{ ...both, uid: "other" }] },
    steps: [
      ["prepare", "p"],
      ["refused", "q"],
      ["unprepare", "p"],
      ["prepare", "q"],
      ["unprepare", "q"],
    ],
  },
  "a device that was allocated to another claim": {
    pods: { p: [one], q: [claimOf("next", one.devices)] },
    steps: [
      ["prepare", "p"],
      ["refused", "q"],
      ["unprepare", "p"],
      ["prepare", "q"],
      ["unprepare", "q"],
    ],
  },
};

/** A node whose agent is killed and restarted. */
class World {
  readonly #story: Story;
  readonly #drivers: Drivers;
  readonly #folder: string;
  #plugins!: DraPlugins;
  #manager!: DraManager;
  /** The fault point at which the agent ends, and how often it passes before. */
  #kill: { readonly point: FaultPoint; left: number } | undefined;
  #killed = (): void => {};
  killed = 0;
  /** Pods that may run containers: prepared, and not yet at their end. */
  readonly #running = new Set<string>();
  /** Pods whose prepare has begun, and whose unprepare is not done. */
  readonly #holders = new Set<string>();

  constructor(story: Story, drivers: Drivers, kill?: { point: FaultPoint; times: number }) {
    this.#story = story;
    this.#drivers = drivers;
    this.#kill = kill && { point: kill.point, left: kill.times };
    this.#folder = mkdtempSync("/tmp/dk-");
    drivers.world = this;
    this.#start();
  }

  get checkpoint(): string {
    return join(this.#folder, "dra_manager_state");
  }

  claim(uid: string): Claim {
    const found = Object.values(this.#story.pods)
      .flat()
      .find((claim) => claim.uid === uid);
    assert.ok(found !== undefined, `a driver is asked for ${uid}`);
    return found;
  }

  usersOf(uid: string): string[] {
    return [...this.#running].filter((pod) => this.#story.pods[pod]?.some((claim) => claim.uid === uid));
  }

  #pod(name: string): Pod {
    const claims = this.#story.pods[name] ?? [];
    return partial<Pod>({
      metadata: { namespace: "default", name, uid: name },
      spec: {
        resourceClaims: claims.map((claim) => ({ name: claim.name, resourceClaimName: claim.name })),
        containers: [{ name: "main", resources: { claims: claims.map((claim) => ({ name: claim.name })) } }],
      },
    });
  }

  /** The claims in the API server while a pod of the story begins or runs. */
  #client(pod: string): Client {
    const get = async ({ name }: { name: string }): Promise<ResourceClaim> => {
      const claim = this.#story.pods[pod]?.find((one) => one.name === name);
      assert.ok(claim !== undefined);
      const results = Object.entries(claim.devices).map(([driver, device]) => ({
        request: "r",
        driver,
        pool: "pool",
        device,
      }));
      const reservedFor = Object.keys(this.#story.pods).map((uid) => ({ resource: "pods", name: uid, uid }));
      return partial<ResourceClaim>({
        metadata: { namespace: "default", name, uid: claim.uid },
        status: { allocation: { devices: { results } }, reservedFor },
      });
    };
    return { resource: () => ({ get }) } as unknown as Client;
  }

  #current = "";

  #start(): void {
    this.#plugins = new DraPlugins(silentLog);
    for (const driver of drivers)
      this.#plugins.register(driver, this.#drivers.socket(driver), "v1.DRAPlugin");
    this.#manager = new DraManager({
      client: { resource: (kind: never) => this.#client(this.#current).resource(kind) } as unknown as Client,
      plugins: this.#plugins,
      checkpoint: this.checkpoint,
      clock: systemClock,
      log: silentLog,
      released: () => {},
      at: (point) => {
        if (this.#kill?.point !== point || --this.#kill.left > 0) return;
        this.#kill = undefined;
        this.#killed();
        // A killed agent does nothing more.
        return new Promise(() => {});
      },
    });
  }

  /** Does what an agent after a crash does with a pod that still runs, or is gone. */
  async #work(step: Step): Promise<boolean> {
    const [what, name] = step;
    this.#current = name;
    const killed = new Promise<"killed">((resolve) => {
      this.#killed = () => resolve("killed");
    });
    const work =
      what === "unprepare" ? this.#manager.unprepare(name) : this.#manager.prepare(this.#pod(name));
    const done = await Promise.race([
      work.then(
        () => "done" as const,
        (error: Error) => error,
      ),
      killed,
    ]);
    if (done === "killed") {
      this.killed++;
      this.#plugins.close();
      this.#start();
      return false;
    }
    if (what === "refused") {
      assert.ok(done instanceof Error, `${name} gets what another pod holds`);
      assert.match(done.message, /still exists|is in use|Unavailable/);
      return !done.message.includes("Unavailable");
    }
    if (done instanceof Error) assert.match(done.message, /Unavailable/);
    return done === "done";
  }

  /** Repeats a step after its success too: every call may be repeated. */
  async #repeat(step: Step): Promise<void> {
    for (let tries = 0; !(await this.#work(step)); tries++)
      assert.ok(tries < 10, `${step.join(" ")} comes to no end`);
  }

  async #step(step: Step): Promise<void> {
    const [what, name] = step;
    // Its containers end before anything is unprepared.
    if (what === "unprepare") this.#running.delete(name);
    else this.#holders.add(name);
    await this.#repeat(step);
    if (what === "unprepare") this.#checkReleased(name);
    if (what !== "prepare") return;
    this.#running.add(name);
    const pod = this.#pod(name);
    const [main] = pod.spec.containers;
    const ids = main === undefined ? [] : this.#manager.cdiDevices(pod, main);
    const wanted = (this.#story.pods[name] ?? []).flatMap(({ uid, devices }) =>
      Object.entries(devices).map(([driver, device]) => {
        assert.equal(this.#drivers.prepared.get(`${driver}/${device}`), uid);
        return `${driver}/d=${uid}`;
      }),
    );
    assert.deepEqual(ids.sort(), wanted.sort());
  }

  /** A claim is unprepared with the last pod that uses it, not later. */
  #checkReleased(pod: string): void {
    this.#holders.delete(pod);
    for (const { uid } of this.#story.pods[pod] ?? []) {
      const used = [...this.#holders].some((one) =>
        this.#story.pods[one]?.some((claim) => claim.uid === uid),
      );
      if (!used) assert.ok(![...this.#drivers.prepared.values()].includes(uid), `${uid} is still prepared`);
    }
  }

  /**
   * Performs all steps. With `abandon`, pods that exist when the agent is killed are deleted before it
   * restarts.
   */
  async run(abandon: boolean): Promise<void> {
    for (const step of this.#story.steps) {
      const before = this.killed;
      const abandoned = abandon && step[0] === "prepare";
      if (abandoned) {
        this.#current = step[1];
        if (!(await this.#work(step)) && this.killed > before) break;
      }
      await this.#step(step);
    }
    // Devices of pods that are gone are released, whatever happened.
    this.#running.clear();
    for (const name of this.#manager.podUIDs()) await this.#repeat(["unprepare", name]);
  }

  async close(): Promise<void> {
    assert.deepEqual([...this.#drivers.prepared], [], "a driver holds what nobody uses");
    assert.deepEqual([...this.#manager.podUIDs()], []);
    const files = readdirSync(this.#folder);
    if (files.length > 0) {
      assert.deepEqual(files, ["dra_manager_state"]);
      assert.deepEqual(parseCheckpoint(readFileSync(this.checkpoint, "utf8")), []);
    }
    this.#plugins.close();
    await this.#manager.close();
    rmSync(this.#folder, { recursive: true });
  }
}

let fleet: Drivers;
before(async () => {
  fleet = new Drivers();
  await fleet.start();
});
after(() => fleet.close());

for (const [what, story] of Object.entries(stories)) {
  for (const abandon of [false, true])
    test(`${what}, the agent killed at every point${abandon ? ", and the pod deleted meanwhile" : ""}`, async () => {
      const reached = new Set<FaultPoint>();
      for (const point of faultPoints)
        for (let times = 1; ; times++) {
          fleet.faults.length = 0;
          const world = new World(story, fleet, { point, times });
          await world.run(abandon);
          await world.close();
          if (world.killed === 0) break;
          reached.add(point);
        }
      if (!abandon) assert.deepEqual([...reached], [...faultPoints]);
    });

  test(`${what}, a driver killed before and after each of its calls`, async () => {
    for (const fault of ["before", "after"] as const)
      for (let call = 0; ; call++) {
        fleet.faults.length = 0;
        fleet.faults.push(...new Array<DriverFault>(call).fill(undefined), fault);
        const world = new World(story, fleet);
        await world.run(false);
        await world.close();
        if (fleet.faults.length > 0) {
          assert.ok(call > 1, "calls were made");
          break;
        }
      }
  });
}

test("a claim that pods share, the agent and a driver killed in turn", async () => {
  for (const point of faultPoints)
    for (const fault of ["before", "after"] as const)
      for (const call of [0, 1]) {
        fleet.faults.length = 0;
        fleet.faults.push(...new Array<DriverFault>(call).fill(undefined), fault);
        const world = new World(stories["a claim that pods share"] as Story, fleet, { point, times: 1 });
        await world.run(false);
        fleet.faults.length = 0;
        await world.close();
      }
});
