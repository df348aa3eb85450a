import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canMount, removeTree } from "../../base/mounts.ts";
import { containerMounts } from "../../containers/mounts.ts";
import type { MountConfig } from "../../runtime/config.ts";
import type { StartableContainer } from "../../types/containers.ts";
import { Exchange, withoutExchange } from "../exchange.ts";
import { type ContractPod, collect, textOf } from "./pod.ts";
import type { Rule } from "./rule.ts";
import type { Lacking } from "./types.ts";

/** For how long parts of a path are exchanged; more than a few seconds by hand (CONTRIBUTING.md). */
const seconds = Number(process.env["DRAY_RACE_SECONDS"] ?? 2);
/** Minimum number of containers that have to start meanwhile. */
const minStarts = 3;

/** Error of a start whose subPath was the link at that moment. */
const refusal = /leads out of the volume|was exchanged meanwhile/;

/** Rules of volumes in which one container exchanges what another one mounts. */
export function subPathRules(rule: Rule, cannot: Lacking): void {
  rule("a subPath that is exchanged for a link leads nowhere outside of its volume", async (pod) => {
    if (withoutExchange !== undefined) return;
    // Its process looks up the path itself, as its own user.
    if (cannot["read-only mounts"] !== undefined && !canMount()) return;
    const race = new SubPathRace(pod);
    await pod.run();
    const exchange = new Exchange(join(race.volume, "inside"), join(race.volume, "evil"));
    try {
      for (
        const end = performance.now() + seconds * 1000;
        performance.now() < end || race.starts < minStarts;
      )
        await race.step();
    } finally {
      const exchanges = await exchange.stop();
      await race.close();
      process.stderr.write(
        `subPath race: ${exchanges} exchanges, ${race.starts} starts, ${race.refusals} refusals\n`,
      );
    }
  });
}

class SubPathRace {
  readonly volume: string;
  starts = 0;
  refusals = 0;
  readonly #pod: ContractPod;
  readonly #directory: string;
  readonly #outside: string;

  constructor(pod: ContractPod) {
    this.#pod = pod;
    this.#directory = join(pod.machine.folder, "pods", pod.uid);
    this.volume = join(this.#directory, "volumes/data");
    // Any user may write there: only the mount decides.
    this.#outside = mkdtempSync("/tmp/dray-outside-");
    writeFileSync(join(this.#outside, "secret"), "hidden\n");
    mkdirSync(join(this.volume, "inside"), { recursive: true });
    writeFileSync(join(this.volume, "inside/mine"), "ours\n");
    symlinkSync(this.#outside, join(this.volume, "evil"));
  }

  /** Starts a container with the subPath, and looks where it leads. */
  async step(): Promise<void> {
    const { node } = this.#pod;
    let container: { readonly id: string; readonly logPath: string } | undefined;
    try {
      const script = 'cat "$D/secret" "$D/mine" 2>/dev/null; echo x 2>/dev/null >"$D/written"';
      const mounts = this.#mounts();
      container = await this.#pod.create(script, { env: [["D", "/data-of-race"]], mounts });
      await node.service.startContainer(container.id);
      await this.#pod.exited(container.id);
      this.starts++;
    } catch (error) {
      if (!refusal.test((error as Error).message)) throw error;
      this.refusals++;
    }
    const output: string[] = [];
    if (container !== undefined) {
      // A container that was refused before its start has no log.
      if (existsSync(container.logPath))
        output.push(textOf(await collect(node.service.readLog(container.logPath))));
      await node.service.removeContainer(container.id);
    }
    assert.doesNotMatch(output.join(""), /hidden/);
    assert.deepEqual(readdirSync(this.#outside), ["secret"]);
  }

  #mounts(): MountConfig[] {
    const volumeMounts = [{ name: "data", mountPath: "/data-of-race", subPath: "inside" }];
    return containerMounts({
      container: { name: "main", image: "image", volumeMounts } as StartableContainer,
      volumes: new Map([["data", { path: this.volume, readOnly: false }]]),
      images: new Map(),
      env: new Map(),
      paths: { contains: () => true },
      writesMachine: false,
      recursiveReadOnly: false,
      podDirectory: this.#directory,
      checksMounts: this.#pod.node.service.checksMounts ?? false,
    });
  }

  async close(): Promise<void> {
    await removeTree(this.#directory);
    rmSync(this.#outside, { recursive: true });
  }
}
