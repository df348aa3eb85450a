import { type Allocator, allocatorFeatures, createAllocator, type Explanation } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import { uidOf } from "../manifests/decode.ts";
import { jsonText } from "../manifests/json-text.ts";
import { type ClaimRefusal, mergeClaims, type RequestRefusal } from "../plan/explain.ts";
import { requestLines, wantedText } from "../plan/reason.ts";
import { counted } from "../text/words.ts";
import { type Finding, finding } from "./finding.ts";
import { claimSpecOf, type PlacedRequest, requestsOf } from "./requests.ts";
import { type LintContext, objectOf, type Subject } from "./subjects.ts";

/**
 * Checks classes and claims against the devices of the given slices, as if all were free. Skipped without
 * slices.
 */
export function checkDevices(context: LintContext): Finding[] {
  const slices = context.world.all("ResourceSlice").map(({ object }) => object);
  if (slices.length === 0) return [];
  const inventory = new FreeDevices(context, slices);
  return context.subjects.flatMap((subject) => {
    const object = objectOf(subject);
    if (object?.kind === "DeviceClass") return checkClass(subject, object as DeviceClass, slices);
    const placed = object && claimSpecOf(object);
    // A claim with devices is served.
    if (placed === undefined || (object as ResourceClaim).status?.allocation !== undefined) return [];
    return checkClaim(subject, inventory, { spec: placed.spec, path: placed.path });
  });
}

/** Lists the values of the devices that a selector reads: `gpu.example.com/model is a100, l4`. */
function valuesText(seen: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...seen].map(([name, values]) => {
    const all = [...values];
    const shown = all.slice(0, maxValues).join(", ");
    return `${name} is ${shown}${all.length > maxValues ? ` and ${all.length - maxValues} more` : ""}`;
  });
}

/** Maximum number of listed values. */
const maxValues = 4;

/** Evaluates the selectors of a class for every device, in the scheduler's order. */
function checkClass(subject: Subject, { spec }: DeviceClass, slices: readonly ResourceSlice[]): Finding[] {
  const environment = deviceEnvironment({ stored: true });
  let left = slices.flatMap(({ spec: { driver, pool, devices = [] } }) =>
    devices.map((device) => ({
      name: `${driver}/${pool.name}/${device.name}`,
      device: { ...device, driver },
    })),
  );
  const all = left.length;
  for (const [i, { cel }] of (spec.selectors ?? []).entries()) {
    const path = `spec.selectors[${i}].cel.expression`;
    const compiled = cel === undefined ? undefined : environment.compile(cel.expression);
    // Selectors that do not compile are another finding.
    if (!compiled?.ok) return [];
    const passed: typeof left = [];
    for (const each of left) {
      const { matches, error } = compiled.evaluate(each.device);
      if (error !== undefined) {
        const message = `the selector fails on device ${each.name}: ${error}`;
        return [finding("selector-fails", subject, path, { message })];
      }
      if (matches) passed.push(each);
    }
    if (passed.length === 0 && left.length > 0) {
      const drivers = new Set(left.map(({ device }) => device.driver));
      const details = compiled.reads.driver ? valuesText(new Map([["device.driver", drivers]])) : [];
      const message = `the selector is false for ${left.length === 1 ? "the only device" : `all ${left.length} devices`}${left.length < all ? " that the selectors before it leave" : ""}`;
      return [finding("class-without-devices", subject, path, { message, details })];
    }
    left = passed;
  }
  return [];
}

/** The devices of all nodes, none of them allocated. */
class FreeDevices {
  readonly #allocator: Allocator;
  readonly #nodes: readonly Node[];
  readonly #known = new Map<string, Served>();
  readonly #slices: readonly ResourceSlice[];

  constructor({ features, world }: LintContext, slices: readonly ResourceSlice[]) {
    this.#allocator = createAllocator({
      features: allocatorFeatures(features),
      newId: () => "00000000-0000-4000-8000-000000000000",
    });
    this.#slices = slices;
    const given = world.all("Node").map(({ object }) => object);
    this.#nodes = given.length > 0 ? given : nodesOf(slices);
    for (const slice of slices) {
      const object = given.length > 0 ? slice : withoutSelectors(slice);
      this.#allocator.update({ kind: "slice", object, deleted: false });
    }
    for (const { object } of world.all("DeviceClass"))
      this.#allocator.update({ kind: "class", object, deleted: false });
    if (!features.enabled("DRADeviceTaintRules")) return;
    for (const { object } of world.all("DeviceTaintRule"))
      this.#allocator.update({ kind: "rule", object, deleted: false });
  }

  /** Returns the result of a claim with this spec. Claims with equal specs share it. */
  serve(spec: ResourceClaim["spec"]): Served {
    const key = jsonText(spec);
    let served = this.#known.get(key);
    if (served === undefined) {
      served = this.#serve(spec);
      this.#known.set(key, served);
    }
    return served;
  }

  /** Reports whether a selector fails on the device `driver/pool/device`. */
  fails(expression: string | undefined, device: string): boolean {
    const compiled = deviceEnvironment({ stored: true }).compile(expression ?? "true");
    return this.#slices.some(({ spec: { driver, pool, devices = [] } }) =>
      devices.some(
        (each) =>
          device === `${driver}/${pool.name}/${each.name}` &&
          compiled.ok &&
          compiled.evaluate({ ...each, driver }).error !== undefined,
      ),
    );
  }

  #serve(spec: ResourceClaim["spec"]): Served {
    const claim: ResourceClaim = {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: {
        // The name appears in the allocator's texts.
        name: claimName,
        namespace: "",
        uid: uidOf("ResourceClaim", "lint", jsonText(spec)),
        resourceVersion: "1",
        creationTimestamp: "",
      },
      spec,
    };
    const candidates = this.#allocator.candidates([claim]);
    let fits = false;
    for (const node of this.#nodes) {
      if (candidates?.has(node.metadata.name) === false) continue;
      const result = this.#allocator.allocate(node, [claim]);
      if (result.type === "error") return { type: "error", message: result.message };
      fits ||= result.type === "allocated";
    }
    if (fits) return { type: "fits" };
    const explanations = this.#nodes.map((node): Explanation => this.#allocator.explain(node, [claim]));
    const [refusal] = mergeClaims(explanations);
    return { type: "refused", refusal, nodes: this.#nodes.length };
  }
}

const claimName = "this claim";

type Served =
  | { readonly type: "fits" }
  /** A selector or the whole attempt fails, on all nodes. */
  | { readonly type: "error"; readonly message: string }
  | { readonly type: "refused"; readonly refusal: ClaimRefusal | undefined; readonly nodes: number };

/** Nodes for slices without Nodes: those that they name, otherwise a single one. */
function nodesOf(slices: readonly ResourceSlice[]): Node[] {
  const named = new Set(slices.flatMap(({ spec }) => spec.nodeName ?? []));
  return (named.size > 0 ? [...named] : ["any"]).map((name) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      uid: uidOf("Node", undefined, name),
      resourceVersion: "1",
      creationTimestamp: "",
      labels: { "kubernetes.io/hostname": name },
    },
    spec: {},
    status: {},
  }));
}

/** Without nodes the result of a node selector is unknown: any node matches. */
function withoutSelectors(slice: ResourceSlice): ResourceSlice {
  const { nodeSelector, ...spec } = slice.spec;
  return nodeSelector === undefined ? slice : { ...slice, spec: { ...spec, allNodes: true } };
}

function checkClaim(
  subject: Subject,
  inventory: FreeDevices,
  { spec, path }: { readonly spec: ResourceClaim["spec"]; readonly path: string },
): Finding[] {
  const requests = requestsOf(spec, path);
  if (requests.length === 0) return [];
  const served = inventory.serve(spec);
  switch (served.type) {
    case "fits":
      return [];
    case "error":
      return failure(subject, inventory, requests, served.message);
    case "refused":
      return refusal(subject, path, requests, served);
  }
}

/** `message`: the allocator's, which names the request or the selector. */
function failure(
  subject: Subject,
  inventory: FreeDevices,
  requests: readonly PlacedRequest[],
  message: string,
): Finding[] {
  // A missing class and an invalid selector are separate findings.
  if (/could not retrieve device class|CEL compile error/.test(message)) return [];
  const at =
    /^(?:claim this claim|class (\S+)): selector #(\d+) on device (.*?): CEL runtime error: (.*)$/s.exec(
      message,
    );
  const text = message.replaceAll(`claim ${claimName}`, "the claim");
  if (at === null) return [finding("claim-never-fits", subject, requests[0]!.path, { message: text })];
  const [, deviceClass, index, device = "", error] = at;
  if (deviceClass !== undefined) {
    const request = requests.find(({ body }) => body.deviceClassName === deviceClass) ?? requests[0]!;
    const why = `class ${deviceClass}: its selector #${index} fails on device ${device}: ${error}`;
    return [finding("selector-fails", subject, `${request.path}.deviceClassName`, { message: why })];
  }
  // The allocator does not report the request.
  const request =
    requests.find(({ body }) => inventory.fails(body.selectors?.[Number(index)]?.cel?.expression, device)) ??
    requests[0]!;
  const field = `${request.path}.selectors[${index}].cel.expression`;
  return [
    finding("selector-fails", subject, field, {
      message: `the selector fails on device ${device}: ${error}`,
    }),
  ];
}

function refusal(
  subject: Subject,
  path: string,
  requests: readonly PlacedRequest[],
  { refusal: claim, nodes }: Served & { readonly type: "refused" },
): Finding[] {
  if (claim === undefined) return [];
  const found = requests.flatMap((request) => {
    const refused = claim.requests.find(({ request: name }) => name === request.name);
    return refused === undefined ? [] : explainRequest(subject, request, refused);
  });
  if (found.length > 0) return found;
  const details = claim.requests
    .flatMap((request) => requestLines(claim.claim, request, nodes))
    .map((line) => line.trim().replace(`claim ${claimName}, `, ""));
  const message = "no node can serve the claim, even when all devices are free";
  return [finding("claim-never-fits", subject, `${path}.devices`, { message, details })];
}

/** Returns why a request alone cannot be served on any node. */
function explainRequest(subject: Subject, { body, path }: PlacedRequest, refused: RequestRefusal): Finding[] {
  const { wanted, seen, suitable, mostOnOneNode: most, deviceClass } = refused;
  if (suitable > 0) {
    if (wanted <= most) return [];
    const message = `the request asks for ${wantedText(refused)}, and no node has more than ${most} that suit it`;
    return [finding("count-too-high", subject, `${path}.count`, { message })];
  }
  if (seen === 0) return [];
  const by = (check: string): number =>
    refused.refused.reduce((sum, group) => sum + (group.check === check ? group.count : 0), 0);
  const [ofClass, ofRequest] = [by("class-selector"), by("request-selector")];
  if (ofClass === seen) {
    const message = `none of the ${counted(seen, "device")} is of class ${deviceClass}`;
    return [finding("request-without-devices", subject, `${path}.deviceClassName`, { message })];
  }
  if (ofClass + ofRequest < seen) return [];
  const selectors = (body.selectors ?? []).flatMap(({ cel }) => cel?.expression ?? []);
  const groups = refused.refused.filter(({ check }) => check === "request-selector");
  // The last selector of the refusals: no device passes it.
  const index = Math.max(...groups.map(({ selector }) => selectors.indexOf(selector?.expression ?? "")));
  const seenValues = new Map<string, Set<string>>();
  for (const { selector } of groups) {
    if (selector?.expression !== selectors[index]) continue;
    for (const [name, value] of Object.entries(selector?.values ?? {})) {
      const values = seenValues.get(name) ?? new Set();
      seenValues.set(
        name,
        values.add(value === null ? "missing" : typeof value === "string" ? value : jsonText(value)),
      );
    }
  }
  const message = `the selector is false for ${ofRequest === 1 ? "the only device" : `all ${ofRequest} devices`} of class ${deviceClass}`;
  const field = `${path}.selectors[${Math.max(0, index)}].cel.expression`;
  return [finding("selector-never-matches", subject, field, { message, details: valuesText(seenValues) })];
}
