import type { NetworkDeviceData } from "@dray/api/resource/v1";
import type { ContainerEdits } from "@dray/cdi";
import type { Client, Clock, Log } from "@dray/client";
import type { AllocatedClaim, AllocatedDevice, PreparedClaim } from "@dray/driver";
import type { FleetDevice } from "../fleet/fleet.ts";

export interface ProfileContext {
  readonly driver: string;
  readonly nodeName: string;
  /** The driver's own folder: `<plugins>/<driver>`. */
  readonly folder: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
}

/** A device of a claim, and what the fleet says of it; that is missing if the fleet has it no more. */
export interface ProfileDevice {
  readonly allocated: AllocatedDevice;
  readonly device: FleetDevice | undefined;
  /** Prefix of its environment variables: `DRA_DEVICE_GPU_EXAMPLE_COM_GPU_0`. */
  readonly prefix: string;
  /** Where it is in its pool, from 0 on. */
  readonly index: number;
}

/** Behaviour of the devices of a profile. Every method may be called again after a crash. */
export interface Profile {
  /** Tidies up what an earlier run has left, before the driver serves. */
  start?(): Promise<void>;
  /** Edits of the container besides the variables that name the device. */
  prepare(claim: AllocatedClaim, device: ProfileDevice, signal: AbortSignal): Promise<ContainerEdits>;
  /** Network data of the device in its pod. */
  networkData?(device: ProfileDevice): NetworkDeviceData;
  /** When all devices of a claim are prepared. */
  prepared?(claim: AllocatedClaim, devices: readonly ProfileDevice[]): Promise<void>;
  unprepare(claim: PreparedClaim, device: ProfileDevice): Promise<void>;
}
