/**
 * Devices held in memory for claims whose allocation is not stored yet. Whoever stores an allocation hands the stored
 * claim to `update` before `commit` or `rollback`: then no order of these calls and of what a watch brings ever frees
 * a device that a stored allocation has.
 */
export interface Reservation {
  /**
   * The allocations are stored. The devices stay held until `update` has seen each claim with them, or its deletion;
   * what `update` says of a claim counts from then on.
   */
  commit(): void;
  /** The devices are free again, but for those that `update` has seen in a claim. After `commit` it does nothing. */
  rollback(): void;
}

/** A reservation of a device that another claim holds, or whose counters or capacity others have used up. */
export class DeviceInUseError extends Error {
  override readonly name = "DeviceInUseError";
  /** `driver/pool/device` */
  readonly device: string;

  constructor(device: string, claim: string, reason: string) {
    super(`device ${device} cannot be reserved for claim ${claim}: ${reason}`);
    this.device = device;
  }
}

/** A device of which claims have more than there is. */
export interface Overdrawn {
  /** `driver/pool/device` */
  readonly device: string;
  /** The shortage, in words. */
  readonly reason: string;
}
