import { Quantity, quoted } from "@dray/api";
import type { Pod, PodSpec, Toleration } from "@dray/api/core/v1";
import type { RuntimeClass } from "@dray/api/node/v1";
import { forbidden } from "../errors/status.ts";
import { deepEqual } from "../storage/json.ts";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

type List = Readonly<Record<string, string>>;

/** Sets the overhead, node selector and tolerations of a pod from its runtime class (KEP-688, KEP-894). */
export function runtimeClass({ storage }: AdmissionContext): AdmissionPlugin {
  const classOf = (request: AdmissionRequest): RuntimeClass | undefined => {
    const name = (request.object as Pod).spec?.runtimeClassName;
    if (name === undefined) return undefined;
    const found = storage.cache("runtimeclasses").get(objectKey("runtimeclasses", "", name))?.object;
    if (found !== undefined) return found as RuntimeClass;
    const why = `pod rejected: RuntimeClass ${quoted(name)} not found`;
    throw forbidden(request.served, request.name, why);
  };
  const concerns = ({ served, operation, subresource, object }: AdmissionRequest): boolean =>
    served.group === "" &&
    served.resource === "pods" &&
    operation === "CREATE" &&
    subresource === "" &&
    (object as Pod | undefined)?.spec !== undefined;
  return {
    mutate(request) {
      if (!concerns(request)) return;
      const spec = (request.object as Pod).spec;
      const { overhead, scheduling } = classOf(request) ?? {};
      const refuse = (why: string): never => {
        throw forbidden(request.served, request.name, why);
      };
      if (overhead !== undefined) {
        if (
          spec.overhead &&
          Object.keys(spec.overhead).length > 0 &&
          !sameAmounts(overhead.podFixed, spec.overhead)
        )
          refuse(mismatch);
        spec.overhead = { ...overhead.podFixed };
      }
      if (scheduling === undefined) return;
      const selector = spec.nodeSelector ?? {};
      for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
        if (Object.hasOwn(selector, key) && selector[key] !== value) {
          refuse(
            `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${selector[key]}`,
          );
        }
      }
      if (scheduling.nodeSelector) spec.nodeSelector = { ...selector, ...scheduling.nodeSelector };
      mergeTolerations(spec, scheduling.tolerations ?? []);
    },
    validate(request) {
      if (!concerns(request)) return;
      const { overhead } = (request.object as Pod).spec;
      const own = classOf(request)?.overhead;
      if (own === undefined ? overhead === undefined : sameAmounts(own.podFixed, overhead)) return;
      const why =
        own === undefined
          ? "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
          : mismatch;
      throw forbidden(request.served, request.name, why);
    },
  };
}

const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

function sameAmounts(left: List = {}, right: List = {}): boolean {
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => {
      const other = right[name];
      return other !== undefined && Quantity.parse(left[name]!).equals(Quantity.parse(other));
    })
  );
}

/** Adds tolerations, and leaves out redundant ones. */
function mergeTolerations(spec: PodSpec, more: readonly Toleration[]): void {
  const all = [...(spec.tolerations ?? []), ...more];
  if (all.length === 0) return;
  const merged = new Map<string, Toleration[]>();
  // Reversed, so that the next toleration is the last of its group.
  const later = Map.groupBy(all.toReversed(), (each) => kindOf(each));
  spec.tolerations = all.filter((toleration) => {
    const kind = kindOf(toleration);
    // Each toleration has been put into its group.
    later.get(kind)!.pop();
    const rivals = new Set([kind, kindOf({ ...toleration, operator: "Exists" }), keyless]);
    for (const rival of rivals) {
      if (merged.get(rival)?.some((other) => includes(other, toleration))) return false;
      const needless = later
        .get(rival)
        ?.some((other) => !deepEqual(other, toleration) && includes(other, toleration));
      if (needless) return false;
    }
    const same = merged.get(kind);
    if (same === undefined) merged.set(kind, [toleration]);
    else same.push(toleration);
    return true;
  });
}

/**
 * Returns the kind of a toleration. It is redundant only beside one of the same kind, one for all values of
 * its key, or one for all keys.
 */
function kindOf({ key = "", operator, value = "" }: Toleration): string {
  return JSON.stringify(operator === "Exists" ? [operator, key] : [operator || "Equal", key, value]);
}

const keyless = kindOf({ operator: "Exists" });

/** Reports whether the first tolerates everything that the second tolerates. */
function includes(one: Toleration, other: Toleration): boolean {
  if (deepEqual(one, other)) return true;
  const operator = one.operator || "Equal";
  if ((one.key ?? "") !== (other.key ?? "") && (one.key || operator !== "Exists")) return false;
  if (one.effect && one.effect !== other.effect) return false;
  if (one.effect === "NoExecute" && one.tolerationSeconds !== undefined) {
    if (other.tolerationSeconds === undefined || other.tolerationSeconds > one.tolerationSeconds)
      return false;
  }
  if (operator === "Exists") return true;
  return operator === "Equal" && other.operator === "Equal" && (one.value ?? "") === (other.value ?? "");
}
