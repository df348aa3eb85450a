// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, MicroTime, NamespacedMeta, Time } from "../../objects/object.ts";
import type { EventSource, ObjectReference } from "../core/v1.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface Event {
  apiVersion: string;
  kind: string;
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

export const Event: Kind<Event> = {"group":"events.k8s.io","version":"v1","kind":"Event","resource":"events","namespaced":true};

export interface EventList {
  metadata?: ListMeta;
  items: Event[];
}

export interface EventSeries {
  count: number;
  lastObservedTime: MicroTime;
}
