import { StatusError } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import { type Client, type Clock, ConnectionError, type Log, microTimeText } from "@dray/client";

export interface LeaseWheelOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
}

const namespace = "kube-node-lease";
/** As of kubelets. */
const leaseDurationSeconds = 40;
/**
 * Each lease is renewed once a turn, which is 40 seconds: a kubelet renews every ten, so that four renewals may fail
 * before the node lifecycle controller gives the node up after 50 (`--node-monitor-grace-period`). Here one failure is
 * repeated a second later, and all leases are renewed by one process, which is there for all nodes or for none.
 */
const slots = 40;
/** Milliseconds between two slots. All leases of one are renewed together: they share the commits of the store. */
const tick = 1000;
/** Renewals at a time. */
const concurrency = 64;

interface HeldLease {
  readonly uid: string;
  readonly slot: number;
  /** `new`: it cannot be there yet; `held`: it was created or renewed here. */
  state: "new" | "unknown" | "held";
}

/** Renews the leases of many nodes with one timer. */
export class LeaseWheel {
  readonly #options: LeaseWheelOptions;
  readonly #leases = new Map<string, HeldLease>();
  readonly #slots: readonly Set<string>[] = Array.from({ length: slots }, () => new Set());
  /** Those whose turn has come, and that are not renewed yet. */
  readonly #due = new Set<string>();
  #position = 0;
  #cancel: (() => void) | undefined;
  #work: Promise<void> | undefined;
  #stopped = false;

  constructor(options: LeaseWheelOptions) {
    this.#options = options;
  }

  /**
   * From now on the lease of this node is renewed: first within one turn of the wheel, as a new Node is no older. `isNew`:
   * the Node was created a moment ago.
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

  /** Renews until `stop`. Leases that are known now may be old: they are first. */
  start(): void {
    for (const name of this.#leases.keys()) this.#due.add(name);
    this.#schedule();
  }

  /** Resolves when nothing is written any more. */
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
      // A process that was stopped for a while has slots to make good for, one turn of the wheel at most.
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

  /** Renews what is due now; what fails is due at the next tick. */
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
          // Without a server the others would fail as well.
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
    // Of a lease that is held only the time differs.
    else await leases.patch({ namespace, name }, "merge", state === "held" ? { spec: { renewTime } } : whole);
  }
}
