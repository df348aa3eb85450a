import { StatusError } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import { type Client, type Clock, ConnectionError, type Log, microTimeText } from "@dray/client";

export interface LeaseWheelOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
}

const namespace = "kube-node-lease";
/** As upstream. */
const leaseDurationSeconds = 40;
/**
 * Number of slots: each lease is renewed every 40 seconds. Upstream renews every ten, so that four renewals
 * may fail before the node lifecycle controller acts after 50 (`--node-monitor-grace-period`). Here a failure
 * is retried a second later, and one process renews all leases.
 */
const slots = 40;
/** Duration of a slot in milliseconds. Its leases are renewed together, and share commits of the store. */
const tick = 1000;
/** Maximum number of concurrent renewals. */
const concurrency = 64;

interface HeldLease {
  readonly uid: string;
  readonly slot: number;
  /** `new`: it cannot exist yet; `held`: it was created or renewed here. */
  state: "new" | "unknown" | "held";
}

/** Renews the leases of many nodes with one timer. */
export class LeaseWheel {
  readonly #options: LeaseWheelOptions;
  readonly #leases = new Map<string, HeldLease>();
  readonly #slots: readonly Set<string>[] = Array.from({ length: slots }, () => new Set());
  /** Leases that are due and not renewed yet. */
  readonly #due = new Set<string>();
  #position = 0;
  #cancel: (() => void) | undefined;
  #work: Promise<void> | undefined;
  #stopped = false;

  constructor(options: LeaseWheelOptions) {
    this.#options = options;
  }

  /**
   * Renews the lease of this node from now on, first within one turn of the wheel. `isNew`: the Node was
   * created just now.
   */
  add(name: string, uid: string, isNew: boolean): void {
    const known = this.#leases.get(name);
    if (known?.uid === uid) return;
    if (known !== undefined) this.delete(name);
    const smallest = this.#slots.reduce(
      (least, slot, i, all) => (slot.size < all[least]!.size ? i : least),
      0,
    );
    this.#slots[smallest]!.add(name);
    this.#leases.set(name, { uid, slot: smallest, state: isNew ? "new" : "unknown" });
  }

  delete(name: string): void {
    const lease = this.#leases.get(name);
    if (lease === undefined) return;
    this.#slots[lease.slot]!.delete(name);
    this.#leases.delete(name);
    this.#due.delete(name);
  }

  /** Renews until `stop`. Leases that are known now may be old, and are renewed first. */
  start(): void {
    for (const name of this.#leases.keys()) this.#due.add(name);
    this.#schedule();
  }

  /** Resolves when nothing more is written. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#work;
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const begin = clock.now();
    this.#cancel = clock.after(tick, () => {
      // A process that was suspended catches up, by one turn of the wheel at most.
      const passed = Math.min(slots, Math.max(1, Math.floor((clock.now() - begin) / tick)));
      for (let i = 0; i < passed; i++) {
        for (const name of this.#slots[this.#position]!) this.#due.add(name);
        this.#position = (this.#position + 1) % slots;
      }
      this.#schedule();
      this.#work ??= this.#renewDue().finally(() => {
        this.#work = undefined;
      });
    });
  }

  /** Renews leases that are due; failed ones are due at the next tick. */
  async #renewDue(): Promise<void> {
    const names = [...this.#due].values();
    let failed: Error | undefined;
    let failures = 0;
    const renewSome = async (): Promise<void> => {
      for (const name of names) {
        const lease = this.#leases.get(name);
        if (lease === undefined || this.#stopped) continue;
        try {
          await this.#renewOrCreate(name, lease);
          this.#due.delete(name);
        } catch (error) {
          failed = error as Error;
          failures++;
          // Without a server the others would fail too.
          if (error instanceof ConnectionError) return;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, this.#due.size) }, renewSome));
    if (failed !== undefined)
      this.#options.log.warn({ err: failed, failures }, "leases of simulated nodes could not be renewed");
  }

  async #renewOrCreate(name: string, lease: HeldLease): Promise<void> {
    const isMistaken = (error: unknown): boolean =>
      StatusError.is(error, lease.state === "new" ? "AlreadyExists" : "NotFound");
    try {
      await this.#write(name, lease);
    } catch (error) {
      if (!isMistaken(error)) throw error;
      lease.state = lease.state === "new" ? "unknown" : "new";
      await this.#write(name, lease);
    }
    lease.state = "held";
  }

  async #write(name: string, { uid, state }: HeldLease): Promise<void> {
    const { client, clock } = this.#options;
    const leases = client.resource(Lease);
    const renewTime = microTimeText(clock.now());
    const spec = { holderIdentity: name, leaseDurationSeconds, renewTime };
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const whole = { metadata: { ownerReferences }, spec };
    if (state === "new") await leases.create({ metadata: { namespace, name, ownerReferences }, spec });
    // Only the time of a held lease changes.
    else await leases.patch({ namespace, name }, "merge", state === "held" ? { spec: { renewTime } } : whole);
  }
}
