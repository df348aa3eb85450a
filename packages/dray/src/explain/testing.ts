/** Explains an object of manifests in process. */
import type { Event } from "@dray/api/core/v1";
import { Inventory } from "../inventory/inventory.ts";
import { features, worldOf } from "../inventory/testing.ts";
import { rightsOf } from "../observe/rights.ts";
import type { Manifest } from "../plan/testing.ts";
import type { Explained } from "./data.ts";
import { explain } from "./explain.ts";
import { parseSubject } from "./subject.ts";
import { noSurroundings, type Surroundings } from "./surroundings.ts";

export const now = Date.parse("2026-01-01T01:00:00Z");

/** `subject`: `pod/NAME`. */
export function explained(
  subject: string,
  objects: readonly Manifest[],
  surroundings: Partial<Surroundings> = {},
): Promise<Explained> {
  const world = worldOf(objects);
  return explain(
    { ...parseSubject(subject, undefined), namespace: "default", source: "test" },
    { world, features, surroundings: { ...noSurroundings, ...surroundings }, now },
    new Inventory(world, features),
    rightsOf(["Pod"], []),
  );
}

/** A warning about the subject, five minutes old. */
export const warning = (reason: string, message: string): Event =>
  ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: reason, namespace: "default" },
    type: "Warning",
    lastTimestamp: "2026-01-01T00:55:00Z",
    reason,
    message,
  }) as unknown as Event;
