import type { Allocator, RefusalGroup } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { anyDevice } from "./allocator.ts";
import { claimOf, classShape, type Shape, singleClaims } from "./shapes.ts";

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

export const shapeKey = ({ kind, name }: Shape): string => `${kind} ${name}`;

/** Possible use of each device, by its id, on one of the nodes that can reach it. */
export class Uses {
  readonly #uses = new Map<string, { shapes: Set<string>; isAvailable: boolean; refusal?: Refusal }>();

  constructor(allocator: Allocator, nodes: readonly Node[], shapes: readonly Shape[]) {
    const anybody = claimOf(classShape(anyDevice));
    for (const node of nodes) {
      const { suitable, refused } = testOn(allocator, node, anybody);
      if (suitable.length + refused.length === 0) continue;
      for (const id of suitable) this.#use(id).isAvailable = true;
      for (const { devices, ...refusal } of refused)
        for (const id of devices) this.#use(id).refusal ??= refusal;
      for (const shape of shapes) {
        const key = shapeKey(shape);
        for (const claim of singleClaims(shape))
          for (const id of testOn(allocator, node, claim).suitable) this.#use(id).shapes.add(key);
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

/** Returns which devices the node could give to a claim for one, and the refusals of the others. */
function testOn(allocator: Allocator, node: Node, claim: ResourceClaim) {
  const { claims } = allocator.explain(node, [claim], { allDevices: true });
  const requests = claims.flatMap((each) => each.requests);
  return {
    suitable: requests.flatMap(({ suitableDevices = [] }) => suitableDevices),
    refused: requests.flatMap(({ refused }) => refused),
  };
}
