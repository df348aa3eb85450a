import type { RefusalGroup } from "./explanation.ts";
import type { Refusal } from "./refusals.ts";

/** Groups devices by equal refusals. */
export class RefusalGroups {
  readonly #groups = new Map<
    string,
    { readonly refusal: Refusal; count: number; readonly devices: string[] }
  >();
  readonly #maxDevices: number;

  /** `maxDevices`: maximum number of devices that a group names. */
  constructor(maxDevices: number) {
    this.#maxDevices = maxDevices;
  }

  /** Without a device, the refusal concerns the request as a whole. */
  add(refusal: Refusal, device: string | undefined): void {
    const key = JSON.stringify(refusal);
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { refusal, count: 0, devices: [] };
      this.#groups.set(key, group);
    }
    if (device === undefined) return;
    group.count++;
    if (group.devices.length < this.#maxDevices) group.devices.push(device);
  }

  /** Returns the groups, those with the most devices first; devices of other classes were never meant. */
  list(): RefusalGroup[] {
    const isOther = ({ refusal }: { readonly refusal: Refusal }): number =>
      Number(refusal.check === "class-selector");
    return [...this.#groups.values()]
      .sort((a, b) => isOther(a) - isOther(b) || b.count - a.count)
      .map(({ refusal, count, devices }) => ({ ...refusal, count, devices }));
  }
}
