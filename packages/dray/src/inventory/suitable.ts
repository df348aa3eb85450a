import type { Allocator, RefusalGroup } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { type Shape, shapeKey, singleClaims } from "./shapes.ts";

/** The devices of a node for one request alone. */
export interface SuitableDevices {
  /** Their ids. */
  readonly suitable: readonly string[];
  readonly refused: readonly RefusalGroup[];
}

/** Asks the allocator which devices suit the requests of shapes, once for each node. */
export class SuitableByNode {
  readonly #allocator: Allocator;
  readonly #known = new Map<string, readonly SuitableDevices[]>();

  constructor(allocator: Allocator) {
    this.#allocator = allocator;
  }

  /** Returns the result for each request of the shape, and for each of its alternatives. */
  of(node: Node, shape: Shape): readonly SuitableDevices[] {
    const key = `${node.metadata.name}\n${shapeKey(shape)}`;
    const known = this.#known.get(key) ?? singleClaims(shape).map((claim) => this.for(node, claim));
    this.#known.set(key, known);
    return known;
  }

  /** Returns the result for a claim for one device. */
  for(node: Node, claim: ResourceClaim): SuitableDevices {
    const { claims } = this.#allocator.explain(node, [claim], { allDevices: true });
    const requests = claims.flatMap((each) => each.requests);
    return {
      suitable: requests.flatMap(({ suitableDevices = [] }) => suitableDevices),
      refused: requests.flatMap(({ refused }) => refused),
    };
  }
}
