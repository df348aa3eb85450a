import type { Pod } from "@dray/api/core/v1";
import type { EventRecorder } from "@dray/client";

/** An event without its object. */
export interface PodEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Events of one pod. */
export class PodEvents {
  readonly #recorder: EventRecorder;
  readonly #recorded = new Set<string>();

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  record(pod: Pod, { type, reason, message }: PodEvent): void {
    this.#recorder.event(pod, type, reason, message);
  }

  warn(pod: Pod, reason: string, message: string): void {
    this.record(pod, { type: "Warning", reason, message });
  }

  /** Records an event unless one of the same reason and key was recorded. */
  recordOnce(pod: Pod, event: PodEvent, key: string): void {
    if (this.isFirst(`${event.reason}/${key}`)) this.record(pod, event);
  }

  warnOnce(pod: Pod, reason: string, message: string, key = message): void {
    this.recordOnce(pod, { type: "Warning", reason, message }, key);
  }

  /** Returns true for the first call with a key. */
  isFirst(key: string): boolean {
    if (this.#recorded.has(key)) return false;
    this.#recorded.add(key);
    return true;
  }

  /** Records what the runtime ignores of the configuration of `subject`, a pod or a container. */
  warnUnsupported(pod: Pod, subject: string, unsupported: readonly string[], runtime: string): void {
    if (unsupported.length === 0) return;
    const message = `${subject} runs without ${unsupported.join(", ")}: the runtime "${runtime}" does not support that`;
    this.warnOnce(pod, "UnsupportedByRuntime", message, subject);
  }
}
