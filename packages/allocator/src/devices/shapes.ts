import type { DeviceInput, PreparedDevice } from "@dray/cel";

/** The properties of a device that selectors can read. Devices with equal properties share one shape. */
export interface Shape {
  readonly input: DeviceInput;
  /** The input as CEL values, made when a selector is first evaluated. */
  prepared: PreparedDevice | undefined;
  /** Verdicts of selectors, by their number in this generation of the selector cache. */
  verdicts: Uint8Array;
  generation: number;
  users: number;
}

/** The shapes in use. */
export class ShapeTable {
  readonly #shapes = new Map<string, Shape>();

  acquire(input: DeviceInput): Shape {
    const key = keyOf(input);
    let shape = this.#shapes.get(key);
    if (shape === undefined) {
      shape = { input, prepared: undefined, verdicts: noVerdicts, generation: -1, users: 0 };
      this.#shapes.set(key, shape);
    }
    shape.users++;
    return shape;
  }

  release(shape: Shape): void {
    if (--shape.users === 0) this.#shapes.delete(keyOf(shape.input));
  }
}

const noVerdicts = new Uint8Array(0);

function keyOf({ driver, attributes, capacity, allowMultipleAllocations }: DeviceInput): string {
  return JSON.stringify([driver, attributes, capacity, allowMultipleAllocations], (_, value) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
}
