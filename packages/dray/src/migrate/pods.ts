import { isMap, isScalar, isSeq, type YAMLMap } from "yaml";
import { type DeviceKind, type ExtendedResources, isExtendedResource } from "./extended-resources.ts";
import type { Manifest } from "./manifest.ts";
import { fieldOf, itemsOf, keyOf, mapOf, nodeOf, type Plain, pairOf, put, take, textOf } from "./nodes.ts";

/** Input for the migration of pods. */
export interface PodContext {
  readonly resources: ExtendedResources;
  /** Keys of claims and templates that had one class and no requests. */
  readonly withoutRequests: ReadonlySet<string>;
  /** Keys of all ResourceClaimTemplates, including new ones. */
  readonly templates: Set<string>;
}

/** Groups whose kinds have pods in Kubernetes' own form. */
const builtIn = new Set(["", "apps", "batch", "extensions"]);

/** Migrates the pod of an object, wherever it has a pod template. */
export function migratePods(manifest: Manifest, context: PodContext): void {
  if (manifest.kind === "Pod" && manifest.group === "") {
    const spec = mapOf(fieldOf(manifest.map, "spec"));
    if (spec !== undefined) migratePodSpec(spec, "spec", manifest, context);
    return;
  }
  if (manifest.group === "resource.k8s.io" || manifest.kind === "CustomResourceDefinition") return;
  const walk = (node: unknown, path: string): void => {
    if (isSeq(node)) for (const [i, item] of node.items.entries()) walk(item, `${path}[${i}]`);
    if (!isMap(node)) return;
    for (const pair of node.items) {
      const at = path === "" ? keyOf(pair) : `${path}.${keyOf(pair)}`;
      const spec = keyOf(pair) === "template" ? mapOf(fieldOf(pair.value, "spec")) : undefined;
      if (spec !== undefined && isSeq(fieldOf(spec, "containers"))) {
        const before = manifest.changed;
        migratePodSpec(spec, `${at}.spec`, manifest, context);
        if (manifest.changed && !before && !builtIn.has(manifest.group)) {
          const what = "uses claims now: the controller of this kind must support resourceClaims of pods";
          manifest.note(`${at}.spec`, what, pair.key);
        }
      } else if (at !== "status") walk(pair.value, at);
    }
  };
  walk(manifest.map, "");
}

function migratePodSpec(spec: YAMLMap, path: string, manifest: Manifest, context: PodContext): void {
  withoutSource(spec, manifest);
  withoutUnknownRequests(spec, path, manifest, context);
  new Limits(spec, path, manifest, context).migrate();
}

/** Moves the fields of `source` one level up, as Kubernetes 1.31 did. */
function withoutSource(spec: YAMLMap, manifest: Manifest): void {
  for (const entry of itemsOf(fieldOf(spec, "resourceClaims"))) {
    const at = mapOf(entry)?.items.findIndex((pair) => keyOf(pair) === "source") ?? -1;
    if (at === -1) continue;
    const map = entry as YAMLMap;
    const source = mapOf(map.items[at]!.value);
    map.items.splice(at, 1, ...(source?.items ?? []));
    manifest.changed = true;
  }
}

/** Removes request names of claims that had no requests before. */
function withoutUnknownRequests(spec: YAMLMap, path: string, manifest: Manifest, context: PodContext): void {
  const old = new Set<string>();
  for (const entry of itemsOf(fieldOf(spec, "resourceClaims"))) {
    const claim = textOf(fieldOf(entry, "resourceClaimName"));
    const template = textOf(fieldOf(entry, "resourceClaimTemplateName"));
    const keys = [
      ...(claim === undefined ? [] : [manifest.key("ResourceClaim", claim)]),
      ...(template === undefined ? [] : [manifest.key("ResourceClaimTemplate", template)]),
    ];
    if (keys.some((key) => context.withoutRequests.has(key))) old.add(textOf(fieldOf(entry, "name")) ?? "");
  }
  for (const { container, at } of containersOf(spec, path)) {
    for (const [i, claim] of itemsOf(fieldOf(container, "resources", "claims")).entries()) {
      if (!isMap(claim) || !old.has(textOf(fieldOf(claim, "name")) ?? "")) continue;
      const pair = take(claim, "request");
      if (pair === undefined) continue;
      manifest.changed = true;
      const why = `the claim had no request "${textOf(pair.value)}": the container gets all its devices`;
      manifest.note(`${at}.resources.claims[${i}].request`, `is left out: ${why}`, pair.key);
    }
  }
}

interface PlacedContainer {
  readonly container: YAMLMap;
  readonly at: string;
  readonly name: string;
  /** It ends before the pod's containers start. */
  readonly isInit: boolean;
}

function containersOf(spec: YAMLMap, path: string): PlacedContainer[] {
  return ["containers", "initContainers"].flatMap((field) =>
    itemsOf(fieldOf(spec, field)).flatMap((container, i): PlacedContainer[] => {
      if (!isMap(container)) return [];
      const isInit = field === "initContainers" && textOf(fieldOf(container, "restartPolicy")) !== "Always";
      const name = textOf(fieldOf(container, "name")) ?? `${i}`;
      return [{ container, at: `${path}.${field}[${i}]`, name, isInit }];
    }),
  );
}

interface Wanted {
  readonly resource: string;
  readonly devices: DeviceKind;
  readonly count: number;
  /** The comment on the line of the limit. */
  readonly comment: string | undefined;
}

const commentOf = (node: unknown): string | undefined =>
  isScalar(node) ? (node.comment ?? undefined) : undefined;

/** Converts limits of extended resources to claims. */
class Limits {
  readonly #spec: YAMLMap;
  readonly #path: string;
  readonly #manifest: Manifest;
  readonly #context: PodContext;
  /** The pod's new claims, by their requests. */
  readonly #made = new Map<string, { readonly claim: string; readonly template: string }[]>();

  constructor(spec: YAMLMap, path: string, manifest: Manifest, context: PodContext) {
    this.#spec = spec;
    this.#path = path;
    this.#manifest = manifest;
    this.#context = context;
  }

  migrate(): void {
    const asking = containersOf(this.#spec, this.#path).flatMap((placed) => {
      const resources = mapOf(fieldOf(placed.container, "resources"));
      if (resources === undefined) return [];
      const wanted = this.#take(placed, resources);
      return wanted.length > 0 ? [{ placed, resources, wanted }] : [];
    });
    for (const { placed, resources, wanted } of asking)
      this.#claim(placed, resources, wanted, asking.length > 1);
  }

  /** Removes the limits and requests of known extended resources from a container, and returns them. */
  #take({ container, at }: PlacedContainer, resources: YAMLMap): Wanted[] {
    const limits = mapOf(fieldOf(resources, "limits"));
    const requests = mapOf(fieldOf(resources, "requests"));
    const wanted: Wanted[] = [];
    if (limits !== undefined)
      for (const pair of [...limits.items]) {
        const resource = keyOf(pair);
        if (!isExtendedResource(resource)) continue;
        const where = `${at}.resources.limits[${resource}]`;
        const devices = this.#context.resources.kindOf(resource);
        if (devices === undefined) {
          this.#manifest.note(where, this.#context.resources.reasonToKeep(resource), pair.key);
          continue;
        }
        const count = isScalar(pair.value) ? Number(textOf(pair.value)) : Number.NaN;
        if (!Number.isSafeInteger(count) || count < 0) {
          const what = `stays: ${JSON.stringify(textOf(pair.value) ?? null)} is not a number of devices`;
          this.#manifest.note(where, what, pair.key);
          continue;
        }
        take(limits, resource);
        if (requests !== undefined) take(requests, resource);
        this.#manifest.changed = true;
        if (count > 0) wanted.push({ resource, devices, count, comment: commentOf(pair.value) });
      }
    for (const key of ["limits", "requests"])
      if (mapOf(fieldOf(resources, key))?.items.length === 0) take(resources, key);
    // The claim is added elsewhere.
    if (resources.items.length === 0 && wanted.length === 0) take(container, "resources");
    return wanted;
  }

  #claim(
    { container, name, isInit, at }: PlacedContainer,
    resources: YAMLMap,
    wanted: readonly Wanted[],
    many: boolean,
  ): void {
    const requests = this.#requests(wanted);
    const key = JSON.stringify(requests);
    const known = this.#made.get(key)?.[0];
    // The device plugin gives the devices of an init container to the containers after it.
    const claim = isInit && known !== undefined ? known.claim : this.#newClaim(name, key, requests, many);
    if (isInit && known === undefined) {
      const what =
        "holds its devices as long as the pod runs: a claim is not given back when an init container ends";
      this.#manifest.note(`${at}.resources.claims`, what, container);
    }
    const claims = fieldOf(resources, "claims");
    const reference = nodeOf(claim);
    const comments = wanted.flatMap(({ comment }) => comment ?? []);
    if (comments.length > 0) reference.comment = comments.join(";");
    const entry = nodeOf({ name: reference });
    if (isSeq(claims)) claims.items.push(entry);
    else put(resources, "claims", nodeOf([entry]));
  }

  #requests(wanted: readonly Wanted[]): Plain[] {
    const names = new Set<string>();
    return wanted.map(({ resource, devices: { deviceClass, selector }, count }) => {
      const base = resource
        .slice(resource.indexOf("/") + 1)
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, "-")
        .replace(/^-+|-+$/g, "")
        .slice(0, 50);
      const name = unused(base || "device", (other) => names.has(other));
      names.add(name);
      const selectors = selector === undefined ? {} : { selectors: [{ cel: { expression: selector } }] };
      const exactly = { deviceClassName: deviceClass, ...(count > 1 && { count }), ...selectors };
      return { name, exactly };
    });
  }

  /** Adds a claim from a template to the pod. */
  #newClaim(container: string, key: string, requests: readonly Plain[], many: boolean): string {
    const manifest = this.#manifest;
    const entries = itemsOf(fieldOf(this.#spec, "resourceClaims"));
    const taken = new Set(entries.map((entry) => textOf(fieldOf(entry, "name"))));
    const claim = unused(many ? container : "devices", (name) => taken.has(name));
    const same = this.#made.get(key);
    const template =
      same?.[0]?.template ?? this.#newTemplate(many ? `${container}-devices` : "devices", requests);
    const entry = { name: claim, resourceClaimTemplateName: template };
    const list = fieldOf(this.#spec, "resourceClaims");
    if (isSeq(list)) list.items.push(nodeOf(entry));
    else if (pairOf(this.#spec, "resourceClaims") !== undefined)
      put(this.#spec, "resourceClaims", nodeOf([entry]));
    else put(this.#spec, "resourceClaims", nodeOf([entry]), "containers");
    this.#made.set(key, [...(same ?? []), { claim, template }]);
    manifest.changed = true;
    return claim;
  }

  #newTemplate(suffix: string, requests: readonly Plain[]): string {
    const manifest = this.#manifest;
    const { templates } = this.#context;
    const owner = manifest.name || manifest.kind.toLowerCase();
    const keyOfTemplate = (name: string): string => manifest.key("ResourceClaimTemplate", name);
    const name = unused(`${owner.slice(0, 180)}-${suffix}`, (other) => templates.has(keyOfTemplate(other)));
    templates.add(keyOfTemplate(name));
    manifest.added.push({
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name, ...(manifest.namespace !== undefined && { namespace: manifest.namespace }) },
      spec: { spec: { devices: { requests } } },
    });
    return name;
  }
}

/** Returns the name, with a number behind it if it is used already. */
function unused(name: string, isTaken: (name: string) => boolean): string {
  for (let i = 1; ; i++) {
    const made = i === 1 ? name : `${name}-${i}`;
    if (!isTaken(made)) return made;
  }
}
