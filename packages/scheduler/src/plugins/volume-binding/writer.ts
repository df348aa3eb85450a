import { PersistentVolume, PersistentVolumeClaim, type Pod } from "@dray/api/core/v1";
import type { Client, Clock, Informer } from "@dray/client";
import type { RetryUnanswered } from "../../framework/retry-unanswered.ts";

/** Writes the volumes chosen for claims, and waits until the controller has bound them. */
export interface VolumeWriter {
  volume(changed: PersistentVolume): Promise<PersistentVolume>;
  claim(changed: PersistentVolumeClaim): Promise<PersistentVolumeClaim>;
  /** Reports whether the pod is there still. */
  exists(pod: Pod): boolean;
  /**
   * Asks at each change of a claim, volume or pod; false: it did not come about in time. Rejects with what
   * `check` throws.
   */
  until(check: () => boolean, milliseconds: number): Promise<boolean>;
}

export interface VolumeWriterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly retryUnanswered: RetryUnanswered;
  readonly volumes: Informer<PersistentVolume>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly pods: Informer<Pod>;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

export function volumeWriter(options: VolumeWriterOptions): VolumeWriter {
  const { client, clock, retryUnanswered, volumes, claims, pods, signal } = options;
  return {
    volume: (changed) => retryUnanswered(() => client.resource(PersistentVolume).update(changed)),
    claim: (changed) => retryUnanswered(() => client.resource(PersistentVolumeClaim).update(changed)),
    exists: ({ metadata: { namespace, name, uid } }) => pods.get({ namespace, name })?.metadata.uid === uid,
    async until(check, milliseconds) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const ask = (): void => {
        try {
          if (check()) resolve(true);
        } catch (error) {
          reject(error);
        }
      };
      const changes = { add: ask, update: ask, delete: ask };
      const ends = [
        claims.handle(changes),
        volumes.handle(changes),
        pods.handle({ delete: ask }),
        clock.after(milliseconds, () => resolve(false)),
      ];
      const aborted = (): void => reject(new Error("the scheduler ended before the volumes were bound"));
      signal.addEventListener("abort", aborted, { once: true });
      if (signal.aborted) aborted();
      ask();
      try {
        return await promise;
      } finally {
        for (const end of ends) end();
        signal.removeEventListener("abort", aborted);
      }
    },
  };
}
