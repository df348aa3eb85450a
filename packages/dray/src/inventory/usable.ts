import type { RefusalGroup } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import { anyDevice } from "./allocator.ts";
import { claimOf, classShape, type Shape, shapeKey } from "./shapes.ts";
import type { SuitableByNode } from "./suitable.ts";

export type Refusal = Pick<RefusalGroup, "check" | "cause">;

/** Possible use of a device. */
export interface Use {
  /** Keys of the shapes with a claim for one device that could get it. */
  readonly shapes: ReadonlySet<string>;
  /** A claim could get it if a class selected it. */
  readonly isAvailable: boolean;
  /** Why no claim could get it, whatever the class. */
  readonly refusal: Refusal | undefined;
}

/** Possible use of each device, by its id, on one of the nodes that can reach it. */
export class Uses {
  readonly #uses = new Map<string, { shapes: Set<string>; isAvailable: boolean; refusal?: Refusal }>();

  constructor(byNode: SuitableByNode, nodes: readonly Node[], shapes: readonly Shape[]) {
    const anybody = claimOf(classShape(anyDevice));
    for (const node of nodes) {
      const { suitable, refused } = byNode.for(node, anybody);
      if (suitable.length + refused.length === 0) continue;
      for (const id of suitable) this.#use(id).isAvailable = true;
      for (const { devices, ...refusal } of refused)
        for (const id of devices) this.#use(id).refusal ??= refusal;
      for (const shape of shapes) {
        const key = shapeKey(shape);
        for (const each of byNode.of(node, shape))
          for (const id of each.suitable) this.#use(id).shapes.add(key);
      }
    }
  }

  #use(id: string) {
    const known = this.#uses.get(id) ?? { shapes: new Set(), isAvailable: false };
    this.#uses.set(id, known);
    return known;
  }

  of(id: string): Use {
    const { shapes = new Set<string>(), isAvailable = false, refusal } = this.#uses.get(id) ?? {};
    return { shapes, isAvailable, refusal: isAvailable ? undefined : refusal };
  }
}
