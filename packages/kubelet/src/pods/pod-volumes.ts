import type { Pod } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";
import type { MountedVolume } from "../types/mounted-volume.ts";
import { NotIssuedError } from "../volumes/pod-certificates.ts";
import type { SetUpVolumes, Volumes } from "../volumes/volumes.ts";
import type { PodEvents } from "./pod-events.ts";

/** Delay in milliseconds of the next attempt to refresh volumes. */
const retryDelay = 10_000;
/** Minimum interval in milliseconds between two refreshes of the volumes of a pod. */
const minInterval = 1_000;
/** Milliseconds before an event says that the pod waits for the signer of a certificate. */
const signerTimeout = 3000;

/** The volumes of one pod: where they are, and when they are due for a refresh. */
export class PodVolumes {
  readonly #uid: string;
  readonly #volumes: Volumes;
  readonly #clock: Clock;
  readonly #events: PodEvents;
  #mounted: ReadonlyMap<string, MountedVolume> | undefined;
  #notBefore = 0;
  /** Since when a volume lacks its certificate. */
  #waitsForSignerSince: number | undefined;

  constructor(uid: string, context: { readonly volumes: Volumes; readonly clock: Clock }, events: PodEvents) {
    this.#uid = uid;
    this.#volumes = context.volumes;
    this.#clock = context.clock;
    this.#events = events;
  }

  /** By name; undefined before the first set-up. */
  get mounted(): ReadonlyMap<string, MountedVolume> | undefined {
    return this.#mounted;
  }

  /** Milliseconds until a refresh is due; 0 if now, undefined if never. */
  refreshIn(pod: Pod): number | undefined {
    const dueIn = this.#volumes.refreshIn(pod);
    if (this.#mounted !== undefined && dueIn === undefined) return undefined;
    return Math.max(dueIn ?? 0, this.#notBefore - this.#clock.now(), 0);
  }

  /** Makes a refresh due, since a source of a volume has changed. */
  markOutdated(): void {
    this.#volumes.markOutdated(this.#uid);
    this.#notBefore = Math.min(this.#notBefore, this.#clock.now() + minInterval);
  }

  setUp(pod: Pod): Promise<SetUpVolumes> {
    return this.#volumes.setUp(pod);
  }

  /** Takes over the result of `setUp`. */
  use(pod: Pod, { mounted, warnings }: SetUpVolumes): void {
    this.#mounted = mounted;
    this.#waitsForSignerSince = undefined;
    for (const { reason, message } of warnings) this.#events.warnOnce(pod, reason, message);
    this.#notBefore = this.#clock.now() + minInterval;
  }

  /** Reports that `setUp` has failed, unless a certificate is not overdue. */
  reportFailure(pod: Pod, { message, cause }: Error): void {
    if (cause instanceof NotIssuedError) {
      const now = this.#clock.now();
      this.#waitsForSignerSince ??= now;
      if (now - this.#waitsForSignerSince < signerTimeout) return;
    }
    this.#events.warn(pod, "FailedMount", message);
  }

  /** Postpones the next refresh. Returns its delay in milliseconds. */
  postpone(): number {
    this.#notBefore = this.#clock.now() + retryDelay;
    return retryDelay;
  }
}
