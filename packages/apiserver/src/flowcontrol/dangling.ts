import type { FlowSchema, FlowSchemaCondition } from "@dray/api/flowcontrol/v1";
import type { ApiRequest, ApiResponse, Clock, Log } from "@dray/client";
import type { Storage } from "../storage/storage.ts";
import { group } from "./bootstrap-objects.ts";
import type { Configuration } from "./configuration.ts";

const fieldManager = "api-priority-and-fairness-config-consumer-v1";
const user = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };
/** Maximum writes of one FlowSchema per minute, so that servers that disagree do not fight. */
const maxWrites = 6;
const minute = 60_000;
/** Milliseconds before a failed write is retried. */
const retryInterval = 30_000;

/** Dependencies of DanglingConditions. */
interface DanglingConditionsParts {
  readonly configuration: Configuration;
  readonly storage: Storage;
  /** Sends a request to the server itself. */
  readonly send: (request: ApiRequest) => Promise<ApiResponse>;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/**
 * Keeps the condition `Dangling` of all FlowSchemas: whether their priority level exists. It is written by
 * server-side apply, only if it changes.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/apf_controller.go, presyncFlowSchemaStatus, digestConfigObjects
 */
export class DanglingConditions {
  readonly #configuration: Configuration;
  readonly #send: (request: ApiRequest) => Promise<ApiResponse>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  /** Times of the last writes, by name. */
  readonly #writes = new Map<string, number[]>();
  #isScheduled = false;
  #isRetrying = false;

  constructor({ configuration, storage, send, clock, log, signal }: DanglingConditionsParts) {
    this.#configuration = configuration;
    this.#send = send;
    this.#clock = clock;
    this.#log = log;
    this.#signal = signal;
    for (const resource of ["flowschemas", "prioritylevelconfigurations"])
      storage.cache(resource).subscribe(() => this.schedule());
  }

  /** Schedules an update of all conditions; several changes share one. */
  schedule(): void {
    if (this.#isScheduled || this.#signal.aborted) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#write().catch((error: unknown) => {
        if (!this.#signal.aborted)
          this.#log.warn({ error }, "conditions of FlowSchemas could not be written");
      });
    }).unref();
  }

  async #write(): Promise<void> {
    this.#isScheduled = false;
    for (const schema of this.#configuration.flowSchemas) {
      const condition = this.#changedCondition(schema);
      if (condition === undefined || this.#signal.aborted) continue;
      const { name } = schema.metadata;
      const done = this.#mayWrite(name) && (await this.#apply(name, condition));
      if (!done) this.#retryLater();
    }
  }

  #changedCondition({ spec, status }: FlowSchema): FlowSchemaCondition | undefined {
    const wanted = danglingCondition(
      spec.priorityLevelConfiguration.name,
      this.#configuration.hasLevel(spec.priorityLevelConfiguration.name),
    );
    const present = (status?.conditions ?? []).find(({ type }) => type === wanted.type);
    const fields = ["status", "reason", "message"] as const;
    return fields.every((field) => present?.[field] === wanted[field]) ? undefined : wanted;
  }

  #mayWrite(name: string): boolean {
    const now = this.#clock.now();
    const recent = (this.#writes.get(name) ?? []).filter((time) => now - time < minute);
    const may = recent.length < maxWrites;
    if (may) recent.push(now);
    this.#writes.set(name, recent);
    return may;
  }

  /** Returns false if it must be retried. */
  async #apply(name: string, condition: FlowSchemaCondition): Promise<boolean> {
    const lastTransitionTime = `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
    const response = await this.#send({
      method: "PATCH",
      url: `/apis/${group}/v1/flowschemas/${name}/status?fieldManager=${fieldManager}&force=true`,
      headers: { accept: "application/json", "content-type": "application/apply-patch+yaml" },
      body: Object.freeze({
        apiVersion: `${group}/v1`,
        kind: "FlowSchema",
        metadata: { name },
        status: { conditions: [{ ...condition, lastTransitionTime }] },
      }),
      credential: { type: "user", user },
      signal: this.#signal,
    });
    // A deleted FlowSchema has no condition; nor does one of a group that is not served.
    if (response.status === 200 || response.status === 404) return true;
    if (!this.#signal.aborted)
      this.#log.warn({ name, status: response.status }, "the condition of a FlowSchema could not be written");
    return false;
  }

  #retryLater(): void {
    if (this.#isRetrying || this.#signal.aborted) return;
    this.#isRetrying = true;
    this.#clock.after(retryInterval, () => {
      this.#isRetrying = false;
      this.schedule();
    });
  }
}

function danglingCondition(level: string, exists: boolean): FlowSchemaCondition {
  const reference = `This FlowSchema references the PriorityLevelConfiguration object named "${level}"`;
  return exists
    ? { type: "Dangling", status: "False", reason: "Found", message: `${reference} and it exists` }
    : {
        type: "Dangling",
        status: "True",
        reason: "NotFound",
        message: `${reference} but there is no such object`,
      };
}
