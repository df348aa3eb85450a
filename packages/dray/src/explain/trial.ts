import type { Features, KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import {
  createOfflineScheduler,
  type OfflineObject,
  type OfflineScheduler,
  type Placement,
} from "@dray/scheduler";
import { uidOf } from "../manifests/decode.ts";
import { type Located, labelOfObject, type Place } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { type PlanOptions, preparePods } from "../plan/plan.ts";

const nowhere: Place = {
  source: { file: "explain", text: "", lineOf: () => undefined },
  root: "",
};

const located = <T extends KubeObject>(object: T): Located<T> => ({ object, place: nowhere });

/**
 * A cluster in which one pod waits. Includes its claims, even those that a controller has not created yet.
 * Every attempt uses a separate scheduler: changes of one do not affect the next.
 */
export class Trial {
  readonly world: World;
  readonly pod: Pod;
  /** Its claims without devices. */
  readonly open: readonly ResourceClaim[];
  readonly nodes: readonly string[];
  readonly scheduler: OfflineScheduler;
  readonly features: Features;
  /** Compiled selectors, shared by all schedulers of the trial. */
  readonly environment = deviceEnvironment({ stored: true });
  readonly #options: PlanOptions;
  /** Input of a scheduler by label, in the required order. */
  readonly #objects: ReadonlyMap<string, KubeObject>;

  constructor(given: World, pod: Pod, options: PlanOptions) {
    const { pods, claims } = preparePods(given, options);
    this.world = given.overlaid([...pods, ...claims.map(located)]);
    this.#options = options;
    this.features = options.features;
    const order = ["Namespace", "DeviceClass", "DeviceTaintRule", "ResourceSlice", "Node"] as const;
    const objects = [
      ...this.world.all(...order).map(({ object }) => object),
      ...claims,
      ...pods.map(({ object }) => object),
    ];
    this.#objects = new Map(objects.map((object) => [labelOfObject(object), object]));
    this.nodes = this.world
      .all("Node")
      .map(({ object }) => object.metadata.name)
      .toSorted();
    this.pod = ungated((this.#objects.get(labelOfObject(pod)) ?? pod) as Pod);
    this.open = createdPodClaims(this.pod).flatMap(({ name }) => {
      const found = this.world.find("ResourceClaim", `${pod.metadata.namespace}/${name}`);
      return found === undefined || found.status?.allocation !== undefined ? [] : [found];
    });
    this.scheduler = this.#scheduler([], new Set());
  }

  /** Places the pod in the unchanged cluster. */
  now(): Promise<Placement> {
    return this.scheduler.preview(this.pod);
  }

  /** Places the pod with these objects replaced, and those with these labels removed. */
  async with(changed: readonly KubeObject[], gone: ReadonlySet<string> = new Set()): Promise<string | null> {
    const own = changed.find((object) => labelOfObject(object) === labelOfObject(this.pod));
    const scheduler = this.#scheduler(changed, gone);
    const placement = await scheduler.preview(own === undefined ? this.pod : ungated(own as Pod));
    return placement.type === "placed" ? placement.node : null;
  }

  #scheduler(changed: readonly KubeObject[], gone: ReadonlySet<string>): OfflineScheduler {
    let shares = 0;
    const newId = (): string => uidOf("share", undefined, String(shares++));
    const scheduler = createOfflineScheduler({
      ...this.#options,
      newId,
      environment: this.environment,
    });
    const others = new Map(changed.map((object) => [labelOfObject(object), object]));
    for (const [label, object] of this.#objects) {
      if (gone.has(label)) continue;
      scheduler.add((others.get(label) ?? object) as OfflineObject);
      others.delete(label);
    }
    for (const object of others.values()) scheduler.add(object as OfflineObject);
    return scheduler;
  }
}

/** Scheduling gates do not affect where the pod could be placed. */
function ungated(pod: Pod): Pod {
  const { schedulingGates: _, ...spec } = pod.spec;
  return { ...pod, spec };
}
