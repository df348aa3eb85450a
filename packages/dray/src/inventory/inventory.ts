import type { Allocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { World } from "../manifests/world.ts";
import { allocatorOf, openNodes } from "./allocator.ts";
import { devicesOf, type KnownDevice } from "./devices.ts";
import { type Headroom, Headrooms } from "./headroom.ts";
import { type Shape, shapesOf } from "./shapes.ts";
import { SuitableByNode } from "./suitable.ts";
import { Supply } from "./supply.ts";
import { type JudgedDevice, judgeDevice, type Unit, unitsOf } from "./units.ts";
import { Uses } from "./usable.ts";

/** The devices of a cluster, their claims, and the remaining availability. Runs the allocator lazily. */
export class Inventory {
  readonly world: World;
  readonly features: Features;
  readonly shapes: readonly Shape[];
  /** The devices by id, without their possible use. */
  readonly known: ReadonlyMap<string, KnownDevice>;
  readonly #known: readonly KnownDevice[];
  #allocator: Allocator | undefined;
  #suitableByNode: SuitableByNode | undefined;
  #headrooms: Headrooms | undefined;
  #devices: readonly JudgedDevice[] | undefined;
  #units: readonly Unit[] | undefined;

  constructor(world: World, features: Features) {
    this.world = world;
    this.features = features;
    this.shapes = shapesOf(world);
    this.#known = devicesOf(world, features);
    this.known = new Map(this.#known.map((device) => [device.id, device]));
  }

  get allocator(): Allocator {
    this.#allocator ??= allocatorOf(this.world, this.features);
    return this.#allocator;
  }

  get #suitable(): SuitableByNode {
    this.#suitableByNode ??= new SuitableByNode(this.allocator);
    return this.#suitableByNode;
  }

  get devices(): readonly JudgedDevice[] {
    if (this.#devices === undefined) {
      // Cordoned nodes count, too: their devices are in order.
      const nodes = this.world.all("Node").map(({ object }) => object);
      const uses = new Uses(this.#suitable, nodes, this.shapes);
      this.#devices = this.#known.map((device) => judgeDevice(device, uses));
    }
    return this.#devices;
  }

  get units(): readonly Unit[] {
    this.#units ??= unitsOf(this.devices);
    return this.#units;
  }

  /**
   * Returns how many more claims of the shape fit on the nodes, by default on those that take pods.
   * Undefined: no limit.
   */
  headroom(shape: Shape, nodes = openNodes(this.world)): Headroom | undefined {
    this.#headrooms ??= new Headrooms({
      allocator: this.allocator,
      suitable: this.#suitable,
      supply: new Supply(this.world, this.features, this.known),
    });
    return this.#headrooms.of(shape, nodes);
  }
}
