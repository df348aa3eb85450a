import type { KubeObject } from "@dray/api";
import type { FlowSchema, PriorityLevelConfiguration } from "@dray/api/flowcontrol/v1";
import type { Clock, Log } from "@dray/client";
import type { ServedResource } from "../kinds/resources.ts";
import { deepEqual, thaw } from "../storage/json.ts";
import type { OwnObjects } from "../write/own-objects.ts";
import {
  autoUpdateAnnotation,
  type BootstrapObject,
  group,
  mandatoryLevels,
  mandatorySchemas,
  suggestedLevels,
  suggestedSchemas,
} from "./bootstrap-objects.ts";

/** Milliseconds between two reconciliations. */
const interval = 60_000;
/** Field manager of these objects. */
export const producer = "api-priority-and-fairness-config-producer-v1";

type Configured = FlowSchema | PriorityLevelConfiguration;
type DesiredObject = BootstrapObject<Configured["spec"]>;

/**
 * Keeps the FlowSchemas and priority levels of a new server: missing ones are created, the spec of the
 * mandatory ones is restored, that of the suggested ones unless a user has changed it or forbids it with the
 * annotation. Objects with the annotation that are not among them any more are deleted.
 *
 * Upstream: pkg/registry/flowcontrol/ensurer/strategy.go; rest/storage_flowcontrol.go
 */
export class FlowControlObjects {
  readonly #own: OwnObjects;
  readonly #schemas: ServedResource;
  readonly #levels: ServedResource;

  constructor(own: OwnObjects) {
    this.#own = own;
    this.#schemas = own.served(group, "flowschemas");
    this.#levels = own.served(group, "prioritylevelconfigurations");
  }

  async ensure(): Promise<void> {
    // Writes of one turn of the event loop share one durable commit.
    await Promise.all([
      ...suggestedLevels.map((desired) => this.#ensure(this.#levels, desired, false)),
      ...suggestedSchemas.map((desired) => this.#ensure(this.#schemas, desired, false)),
      ...mandatoryLevels.map((desired) => this.#ensure(this.#levels, desired, true)),
      ...mandatorySchemas.map((desired) => this.#ensure(this.#schemas, desired, true)),
    ]);
    await this.#removeOthers(this.#schemas, [...mandatorySchemas, ...suggestedSchemas]);
    await this.#removeOthers(this.#levels, [...mandatoryLevels, ...suggestedLevels]);
  }

  /** Ensures them periodically, until the signal aborts. */
  keep(clock: Clock, log: Log, signal: AbortSignal): void {
    if (signal.aborted) return;
    const cancel = clock.after(interval, async () => {
      signal.removeEventListener("abort", cancel);
      try {
        await this.ensure();
      } catch (error) {
        if (!signal.aborted) log.warn({ error }, "FlowSchemas and priority levels could not be kept");
      }
      this.keep(clock, log, signal);
    });
    signal.addEventListener("abort", cancel, { once: true });
  }

  async #ensure(served: ServedResource, desired: DesiredObject, isMandatory: boolean): Promise<void> {
    const present = this.#own.find(served, "", desired.metadata.name) as Configured | undefined;
    if (present === undefined) {
      await this.#own.ensure(served, desired);
      return;
    }
    const updates = isMandatory || isAutoUpdated(present);
    const isAnnotated = parsedBool(present.metadata.annotations?.[autoUpdateAnnotation]) === updates;
    const isSame = !updates || hasSpec(present, desired);
    if (isAnnotated && isSame) return;
    await this.#own.change(served, present, (draft) => {
      if (!isSame) (draft as Configured).spec = thaw(desired.spec) as Configured["spec"];
      draft.metadata.annotations = {
        ...draft.metadata.annotations,
        ...(isAnnotated ? {} : { [autoUpdateAnnotation]: String(updates) }),
      };
    });
  }

  /** Upstream: RemoveUnwantedObjects */
  async #removeOthers(served: ServedResource, desired: readonly DesiredObject[]): Promise<void> {
    const names = new Set(desired.map(({ metadata }) => metadata.name));
    for (const { metadata } of this.#own.list(served)) {
      const isOurs = parsedBool(metadata.annotations?.[autoUpdateAnnotation]) === true;
      if (isOurs && !names.has(metadata.name)) await this.#own.remove(served, metadata.name);
    }
  }
}

/**
 * An object without the annotation is updated until its spec is changed for the first time
 * (shouldUpdateSpec).
 */
function isAutoUpdated({ metadata }: KubeObject): boolean {
  return parsedBool(metadata.annotations?.[autoUpdateAnnotation]) ?? Number(metadata.generation) === 1;
}

/** The fields of `exempt` that an administrator may change are ignored (plcSpecEqualish). */
function hasSpec(present: Configured, desired: DesiredObject): boolean {
  const { exempt } = desired.spec as PriorityLevelConfiguration["spec"];
  if (exempt === undefined) return deepEqual(present.spec, desired.spec);
  const own = (present.spec as PriorityLevelConfiguration["spec"]).exempt;
  return own !== undefined && deepEqual({ ...present.spec, exempt }, desired.spec);
}

/** Upstream: Go's strconv.ParseBool; undefined if it is not a boolean. */
function parsedBool(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  return ["0", "f", "F", "FALSE", "false", "False"].includes(text) ? false : undefined;
}
