/**
 * Devices reserved in memory for claims whose allocation is not stored yet. The caller that stores an
 * allocation passes the stored claim to `update` before it calls `commit` or `rollback`. Then a device of a
 * stored allocation is never freed, whatever the order of these calls and of watch events.
 */
export interface Reservation {
  /**
   * Call when the allocations are stored. The devices stay reserved until `update` has received each claim
   * with them, or its deletion.
   */
  commit(): void;
  /**
   * Frees the devices, except those of claims that `update` has received with them. No effect after `commit`.
   */
  rollback(): void;
}

/** A device cannot be reserved: another claim holds it, or has used up its counters or capacity. */
export class DeviceInUseError extends Error {
  override readonly name = "DeviceInUseError";
  /** `driver/pool/device` */
  readonly device: string;

  constructor(device: string, claim: string, reason: string) {
    super(`device ${device} cannot be reserved for claim ${claim}: ${reason}`);
    this.device = device;
  }
}

/** A device whose claims exceed a capacity or counter. */
export interface Overdrawn {
  /** `driver/pool/device` */
  readonly device: string;
  /** The exceeded capacity or counter, as text. */
  readonly reason: string;
}
