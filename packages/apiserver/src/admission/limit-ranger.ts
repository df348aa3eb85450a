import { Quantity } from "@dray/api";
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
} from "@dray/api/core/v1";
import { type Amounts, amountsOf, containerTotal, type ResourceSide } from "@dray/api/pod";
import { forbidden } from "../errors/status.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

const annotation = "kubernetes.io/limit-ranger";
const zero = Quantity.of(0);
/** Maximum number of whole units whose thousandths fit in 64 bits. */
const maxMilli = (2n ** 63n - 1n) / 1000n;

/**
 * Gives containers the default requests and limits of their namespace, and holds pods and volume claims to
 * its bounds (core/v1 LimitRange).
 */
export function limitRanger({ storage }: AdmissionContext): AdmissionPlugin {
  const cache = storage.cache("limitranges");
  const ranges = (request: AdmissionRequest): LimitRange[] => {
    if (request.old?.metadata.deletionTimestamp !== undefined) return [];
    return [...cache.range(`${cache.prefix}${request.namespace}/`)].map(({ object }) => object as LimitRange);
  };
  return {
    mutate(request) {
      if (!concernsPod(request)) return;
      for (const range of ranges(request)) setDefaults(range, request.object as Pod);
    },
    validate(request) {
      const problemsOf = concernsPod(request)
        ? (range: LimitRange) => podProblems(range, request.object as Pod)
        : concernsVolumeClaim(request)
          ? (range: LimitRange) => volumeClaimProblems(range, request.object as PersistentVolumeClaim)
          : undefined;
      if (problemsOf === undefined) return;
      for (const range of ranges(request)) {
        const problems = [...new Set(problemsOf(range))];
        if (problems.length === 0) continue;
        const why = problems.length === 1 ? problems[0]! : `[${problems.join(", ")}]`;
        throw forbidden(request.served, request.name, why);
      }
    },
  };
}

/** Resources of a pod are set when it is created, and only a resize changes them. */
function concernsPod({ served, operation, subresource, object }: AdmissionRequest): boolean {
  if (served.group !== "" || served.resource !== "pods" || object === undefined) return false;
  return operation === "CREATE" ? subresource === "" : operation === "UPDATE" && subresource === "resize";
}

function concernsVolumeClaim({ served, operation, subresource, object }: AdmissionRequest): boolean {
  if (served.group !== "" || served.resource !== "persistentvolumeclaims" || object === undefined)
    return false;
  return subresource === "" && (operation === "CREATE" || operation === "UPDATE");
}

function setDefaults({ spec }: LimitRange, pod: Pod): void {
  const limits: Record<string, string> = {};
  const requests: Record<string, string> = {};
  for (const item of spec?.limits ?? []) {
    if (item.type !== "Container") continue;
    Object.assign(limits, item.default);
    Object.assign(requests, item.defaultRequest);
  }
  const { containers, initContainers } = pod.spec ?? ({} as Partial<PodSpec>);
  const done = [
    ...(containers ?? []).flatMap((container) => complete(container, requests, limits, "container")),
    ...(initContainers ?? []).flatMap((container) => complete(container, requests, limits, "init container")),
  ];
  if (done.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [annotation]: `LimitRanger plugin set: ${done.join("; ")}`,
  };
}

/** Sets the missing requests and limits of a container; returns their description. */
function complete(
  container: Container,
  requests: Readonly<Record<string, string>>,
  limits: Readonly<Record<string, string>>,
  role: string,
): string[] {
  const done: string[] = [];
  const resources = { ...container.resources };
  for (const [side, defaults, word] of [
    ["requests", requests, "request"],
    ["limits", limits, "limit"],
  ] as const) {
    const missing = Object.keys(defaults)
      .filter((name) => resources[side]?.[name] === undefined)
      .sort();
    if (missing.length === 0) continue;
    const added = Object.fromEntries(missing.map((name) => [name, defaults[name]!]));
    resources[side] = { ...resources[side], ...added };
    done.push(`${missing.join(", ")} ${word} for ${role} ${container.name}`);
  }
  if (done.length > 0) container.resources = resources;
  return done;
}

function podProblems({ spec }: LimitRange, pod: Pod): string[] {
  const { containers, initContainers } = pod.spec ?? ({} as Partial<PodSpec>);
  return (spec?.limits ?? []).flatMap((item) => {
    if (item.type === "Container") {
      return [...(containers ?? []), ...(initContainers ?? [])].flatMap(({ resources }) =>
        problems(item, amountsOf(resources?.requests), amountsOf(resources?.limits)),
      );
    }
    return item.type === "Pod" ? problems(item, podTotal(pod, "requests"), podTotal(pod, "limits")) : [];
  });
}

/**
 * Returns the resources in the spec, not the allocated ones; pod-level cpu and memory take precedence over
 * the sum of the containers.
 */
function podTotal(pod: Pod, side: ResourceSide): Amounts {
  const total = containerTotal(pod, side);
  for (const [name, quantity] of amountsOf(pod.spec?.resources?.[side])) {
    if (name === "cpu" || name === "memory") total.set(name, quantity);
  }
  return total;
}

function volumeClaimProblems({ spec }: LimitRange, claim: PersistentVolumeClaim): string[] {
  const requests = amountsOf(claim.spec?.resources?.requests);
  return (spec?.limits ?? []).flatMap((item) => {
    if (item.type !== "PersistentVolumeClaim") return [];
    return [
      ...each(item.min, item.type, (bound) => tooLittle(bound, requests, new Map())),
      ...each(item.max, item.type, (bound) => tooMuch(bound, requests, "request")),
    ];
  });
}

function problems(item: LimitRangeItem, requests: Amounts, limits: Amounts): string[] {
  return [
    ...each(item.min, item.type, (bound) => tooLittle(bound, requests, limits)),
    ...each(
      item.max,
      item.type,
      (bound) =>
        tooMuch(bound, limits, "limit") ??
        (requests.has(bound.name) ? tooMuch(bound, requests, "request") : undefined),
    ),
    ...each(item.maxLimitRequestRatio, item.type, (bound) => tooFar(bound, requests, limits)),
  ];
}

/** Returns the violations of a rule by the quantities of a list, sorted by resource name. */
function each(
  list: Readonly<Record<string, string>> | undefined,
  type: string,
  rule: (bound: Bound) => string | undefined,
): string[] {
  return Object.entries(list ?? {})
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, text]) => rule({ type, name, bound: Quantity.parse(text) }) ?? []);
}

/** One bound of a LimitRange: that of a resource, for containers, pods or volume claims. */
interface Bound {
  readonly type: string;
  /** Name of the resource. */
  readonly name: string;
  readonly bound: Quantity;
}

function tooLittle({ type, name, bound }: Bound, requests: Amounts, limits: Amounts): string | undefined {
  const text = `minimum ${name} usage per ${type} is ${bound}`;
  const request = requests.get(name);
  const limit = limits.get(name);
  const [asked, most, least] = comparable(request ?? zero, limit ?? zero, bound);
  if (request === undefined) return `${text}.  No request is specified`;
  if (asked < least) return `${text}, but request is ${request}`;
  return limit !== undefined && most < least ? `${text}, but limit is ${limit}` : undefined;
}

function tooMuch(
  { type, name, bound }: Bound,
  amounts: Amounts,
  side: "request" | "limit",
): string | undefined {
  const text = `maximum ${name} usage per ${type} is ${bound}`;
  const given = amounts.get(name);
  if (given === undefined) return `${text}.  No ${side} is specified`;
  const [value, , most] = comparable(given, zero, bound);
  return value > most ? `${text}, but ${side} is ${given}` : undefined;
}

function tooFar({ type, name, bound }: Bound, requests: Amounts, limits: Amounts): string | undefined {
  const text = `${name} max limit to request ratio per ${type} is ${bound}`;
  const [asked, most] = comparable(requests.get(name) ?? zero, limits.get(name) ?? zero, bound);
  if (asked === 0n) return `${text}, but no request is specified or request is 0`;
  if (most === 0n) return `${text}, but no limit is specified or limit is 0`;
  const ratio = Number(most) / Number(asked);
  return ratio * 1000 > Number(bound.milliValue())
    ? `${text}, but provided ratio is ${ratio.toFixed(6)}`
    : undefined;
}

/** In thousandths if all of them fit, otherwise in whole units. */
function comparable(...quantities: [Quantity, Quantity, Quantity]): [bigint, bigint, bigint] {
  const fits = quantities.every((quantity) => quantity.value() <= maxMilli);
  return quantities.map((quantity) => (fits ? quantity.milliValue() : quantity.value())) as [
    bigint,
    bigint,
    bigint,
  ];
}
