import type { Features, KubeObject } from "@dray/api";
import type { Clock } from "@dray/client";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Rbac } from "../authorization/rbac.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { ObjectReader } from "../read/objects.ts";
import type { Storage } from "../storage/storage.ts";
import type { WebhookClient } from "../webhook/client.ts";
import type { DeviceUsage } from "./unique-device-allocation/device-usage.ts";

/** The parts of the server that plugins use. */
export interface AdmissionContext {
  readonly storage: Storage;
  readonly features: Features;
  readonly rbac: Rbac;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly now: () => number;
  readonly after: Clock["after"];
  readonly newId: () => string;
  readonly resources: readonly ServedResource[];
  /** Sums up counters and capacity for UniqueDeviceAllocation, which does not check them if it is absent. */
  readonly deviceUsage?: DeviceUsage | undefined;
  /** Client that calls webhooks. */
  readonly webhooks: WebhookClient;
  readonly reader: ObjectReader;
  /**
   * Stores the status of an object unchanged. Resolves to false if the object has been changed or deleted
   * since.
   */
  readonly storeStatus: (served: ServedResource, object: KubeObject) => Promise<boolean>;
}
