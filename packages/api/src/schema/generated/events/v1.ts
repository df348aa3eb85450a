// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { MicroTime, NamespacedMeta, Time } from "../../../objects/object.ts";
import type { EventSource, ObjectReference } from "../core/v1.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface Event {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  eventTime: MicroTime;
  series?: EventSeries;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding?: ObjectReference;
  related?: ObjectReference;
  note?: string;
  type?: string;
  deprecatedSource?: EventSource;
  deprecatedFirstTimestamp?: Time;
  deprecatedLastTimestamp?: Time;
  deprecatedCount?: number;
}

export interface EventList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Event[];
}

export interface EventSeries {
  count: number;
  lastObservedTime: MicroTime;
}
