import type { Features, KubeObject } from "@dray/api";
import type { Clock } from "@dray/client";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Rbac } from "../authorization/rbac.ts";
import type { DeviceReservations } from "../kinds/resource/resource-claim/device-reservations.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { ObjectReader } from "../read/objects.ts";
import type { Storage } from "../storage/storage.ts";
import type { WebhookClient } from "../webhook/client.ts";

/** What plugins may ask. */
export interface AdmissionContext {
  readonly storage: Storage;
  readonly features: Features;
  readonly rbac: Rbac;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly now: () => number;
  readonly after: Clock["after"];
  readonly newId: () => string;
  readonly resources: readonly ServedResource[];
  /** With the plugin UniqueDeviceAllocation only. */
  readonly deviceReservations?: DeviceReservations | undefined;
  /** How webhooks are asked. */
  readonly webhooks: WebhookClient;
  readonly reader: ObjectReader;
  /** Stores the status of an object as it is. False if the object has been changed since, or is gone. */
  readonly storeStatus: (served: ServedResource, object: KubeObject) => Promise<boolean>;
}
