import {
  type ClaimInfoState,
  type DriverState,
  type PreparedDevice,
  readCheckpoint,
  writeCheckpoint,
} from "./checkpoint.ts";
import type { SkipNodeOperation } from "./skipped-operations.ts";

/** A claim of pods on this node. */
export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly podUIDs: Set<string>;
  /** By driver; null until the driver has prepared it. */
  readonly devices: Map<string, readonly PreparedDevice[] | null>;
  /** Calls that drivers do not need, by driver. */
  readonly skips: ReadonlyMap<string, readonly SkipNodeOperation[]>;
  /** In memory only: after a restart every claim is prepared again with the next sandbox. */
  prepared: boolean;
  /** Devices that were prepared; in memory only, so absent for a claim from before a restart. */
  allocated?: readonly string[];
}

/** The claims in use on a node, persisted over restarts. */
export class ClaimCache {
  readonly #path: string;
  readonly #claims = new Map<string, ClaimInfo>();
  readonly #locks = new Map<string, Promise<void>>();

  /** Throws if the checkpoint is damaged. */
  constructor(path: string) {
    this.#path = path;
    for (const state of readCheckpoint(path)) {
      this.#claims.set(`${state.Namespace}/${state.ClaimName}`, {
        uid: state.ClaimUID,
        name: state.ClaimName,
        namespace: state.Namespace,
        podUIDs: new Set(Object.keys(state.PodUIDs)),
        devices: new Map(Object.entries(state.DriverState).map(([driver, { Devices }]) => [driver, Devices])),
        skips: new Map(
          Object.entries(state.DriverState).map(([driver, one]) => [driver, one.skipNodeOperations ?? []]),
        ),
        prepared: false,
      });
    }
  }

  get(namespace: string, name: string): ClaimInfo | undefined {
    return this.#claims.get(`${namespace}/${name}`);
  }

  add(claim: ClaimInfo): void {
    this.#claims.set(`${claim.namespace}/${claim.name}`, claim);
  }

  delete(claim: ClaimInfo): void {
    this.#claims.delete(`${claim.namespace}/${claim.name}`);
  }

  all(): readonly ClaimInfo[] {
    return [...this.#claims.values()];
  }

  ofPod(uid: string): readonly ClaimInfo[] {
    return this.all().filter(({ podUIDs }) => podUIDs.has(uid));
  }

  /** Writes the checkpoint. */
  save(): void {
    const sorted = this.all().toSorted(
      (a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name),
    );
    writeCheckpoint(
      this.#path,
      sorted.map(
        (claim): ClaimInfoState => ({
          ClaimUID: claim.uid,
          ClaimName: claim.name,
          Namespace: claim.namespace,
          PodUIDs: Object.fromEntries([...claim.podUIDs].sort().map((uid) => [uid, {}])),
          DriverState: Object.fromEntries(
            [...claim.devices]
              .sort(([a], [b]) => compare(a, b))
              .map(([driver, devices]) => [driver, driverState(devices, claim.skips.get(driver) ?? [])]),
          ),
        }),
      ),
    );
  }

  /** Runs `work` under locks of these claims: prepare and unprepare of one never overlap. */
  async locked<T>(
    claims: readonly { namespace: string; name: string }[],
    work: () => Promise<T>,
  ): Promise<T> {
    const keys = [...new Set(claims.map(({ namespace, name }) => `${namespace}/${name}`))];
    // All locks are taken in one turn, so that two callers cannot deadlock.
    const before = keys.map((key) => this.#locks.get(key));
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const key of keys) this.#locks.set(key, held);
    await Promise.all(before);
    try {
      return await work();
    } finally {
      for (const key of keys) if (this.#locks.get(key) === held) this.#locks.delete(key);
      release();
    }
  }
}

function driverState(
  Devices: readonly PreparedDevice[] | null,
  skipNodeOperations: readonly SkipNodeOperation[],
): DriverState {
  return { Devices, ...(skipNodeOperations.length === 0 ? {} : { skipNodeOperations }) };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
