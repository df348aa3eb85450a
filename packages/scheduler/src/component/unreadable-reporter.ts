import type { KubeObject } from "@dray/api";
import { keyOf, type Log } from "@dray/client";
import type { Profile } from "../cycle/profile.ts";

/** Maximum number of objects whose last report is remembered. */
const maxReported = 1024;

/** Reports objects that cannot be read: once for each exception, as the first profile. */
export function unreadableReporter(
  profiles: ReadonlyMap<string, Profile>,
  log: Log,
): (object: KubeObject, error: Error) => void {
  const reported = new Map<string, string>();
  return (object, error) => {
    const { uid } = object.metadata;
    if (reported.get(uid) === error.message) return;
    if (reported.size >= maxReported) reported.clear();
    reported.set(uid, error.message);
    log.error({ kind: object.kind, object: keyOf(object.metadata), err: error }, "an object cannot be read");
    const [profile] = profiles.values();
    const text = `The scheduler cannot read this ${object.kind} (${error.message}) and goes on without it. The scheduler's log has the place; please report it.`;
    profile?.recorder.event(object, "Warning", "Unreadable", text);
  };
}
