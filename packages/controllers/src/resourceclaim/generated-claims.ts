import { apiVersionOf, controllerOf, type Features, type Kind, StatusError } from "@dray/api";
import type { Pod, PodResourceClaim } from "@dray/api/core/v1";
import { podClaimName } from "@dray/api/pod";
import { ResourceClaim, type ResourceClaimTemplate } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { type EventRecorder, hasReached, isNamespaceTerminating } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { refTo } from "../shared/status.ts";
import type { ClaimCaches } from "./caches.ts";
import { claimNameBase, podClaimAnnotation } from "./names.ts";

const fieldManager = "ResourceClaimController";

/** A pod, or a group of pods, that claims are made for. */
export interface ClaimOwner {
  readonly kind: Kind<Pod> | Kind<PodGroup>;
  readonly object: Pod | PodGroup;
  /** How events call an entry of `spec.resourceClaims`. */
  readonly entryKind: "PodResourceClaim" | "PodGroupResourceClaim";
}

/** The claim of an entry where others make it: undefined while it is not there. */
export type ForeignClaim = (entry: PodResourceClaim) => { readonly name: string | undefined } | undefined;

/**
 * Makes claims from templates for pods and groups of pods, and records their names in the status of their
 * owners.
 *
 * Upstream: pkg/controller/resourceclaim/controller.go, handleClaim and handlePodGroupClaim.
 */
export class ClaimGenerator {
  readonly #context: ControllerContext;
  readonly #caches: ClaimCaches;
  readonly #recorder: EventRecorder;

  constructor(context: ControllerContext, caches: ClaimCaches, recorder: EventRecorder) {
    this.#context = context;
    this.#caches = caches;
    this.#recorder = recorder;
  }

  /**
   * Resolves to the names of generated claims that the owner may use, by entry; rejects, with an event, if
   * one cannot be made.
   */
  async generate(
    owner: ClaimOwner,
    usable: (claim: ResourceClaim, entry: PodResourceClaim) => boolean,
    foreign: ForeignClaim = () => undefined,
  ): Promise<Map<string, string>> {
    const { object } = owner;
    const names = new Map<string, string>();
    const made: ResourceClaim[] = [];
    let changed = false;
    try {
      for (const entry of object.spec.resourceClaims ?? []) {
        const recorded = podClaimName(object, entry);
        if (entry.resourceClaimTemplateName === undefined || recorded === null) continue;
        const kept = await this.#usable(owner, recorded, (claim) => usable(claim, entry));
        const others = kept === undefined ? foreign(entry) : undefined;
        const name = kept ?? (others === undefined ? await this.#make(owner, entry, made) : others.name);
        if (name === undefined) continue;
        names.set(entry.name, name);
        changed ||= name !== recorded;
      }
      if (changed) await this.#record(owner, names);
    } finally {
      // Before this owner comes again the cache must have its claims, or it would get others.
      const { claims } = this.#caches;
      await Promise.all(made.map((claim) => claims.until(() => hasReached(claims, claim))));
    }
    return names;
  }

  /** One that was made before its name could be written into the status of its owner. */
  existing(owner: Pod | PodGroup, entry: string): ResourceClaim | undefined {
    return this.#caches.claims
      .byIndex("controller", owner.metadata.uid)
      .find((claim) => claim.metadata.annotations?.[podClaimAnnotation] === entry);
  }

  /** The recorded claim, unless it has vanished or belongs to someone else. */
  async #usable(
    { object }: ClaimOwner,
    recorded: string | undefined,
    accept: (claim: ResourceClaim) => boolean,
  ): Promise<string | undefined> {
    if (recorded === undefined) return undefined;
    const ref = { namespace: object.metadata.namespace, name: recorded };
    let claim = this.#caches.claims.get(ref);
    if (claim === undefined) {
      try {
        // The owner's cache may be ahead of the claims': a second claim would be made for nothing.
        claim = await this.#context.client.resource(ResourceClaim).get(ref);
      } catch (error) {
        if (!StatusError.is(error, "NotFound")) throw error;
      }
    }
    return claim !== undefined && accept(claim) ? recorded : undefined;
  }

  async #make(owner: ClaimOwner, entry: PodResourceClaim, made: ResourceClaim[]): Promise<string> {
    const { object, entryKind } = owner;
    const existing = this.existing(object, entry.name);
    if (existing !== undefined) return existing.metadata.name;
    try {
      const claim = await this.#create(owner, entry);
      made.push(claim);
      return claim.metadata.name;
    } catch (error) {
      // In a namespace that is being deleted, an event cannot be created.
      if (!isNamespaceTerminating(error)) {
        const message = error instanceof Error ? error.message : String(error);
        const text = error instanceof StatusError ? `create ResourceClaim : ${message}` : message;
        this.event(owner, `${entryKind} ${entry.name}: ${text}`);
      }
      throw error;
    }
  }

  event({ object }: ClaimOwner, message: string): void {
    this.#recorder.event(object, "Warning", "FailedResourceClaimCreation", message);
  }

  async #create({ kind, object }: ClaimOwner, entry: PodResourceClaim): Promise<ResourceClaim> {
    const { client, features, metrics } = this.#context;
    const { namespace, name: ownerName, uid } = object.metadata;
    const name = entry.resourceClaimTemplateName ?? "";
    const template = this.#caches.templates.get({ namespace, name });
    if (template === undefined) {
      throw new Error(
        `resource claim template "${name}": resourceclaimtemplate.resource.k8s.io "${name}" not found`,
      );
    }
    const refused = missingFeature(template, features);
    if (refused !== undefined) throw new Error(refused);
    const { metadata = {}, spec } = template.spec;
    const labels = {
      admin_access: String(asksForAdminAccess(template)),
      owner_api_group: kind.group,
      owner_api_kind: kind.kind,
    };
    try {
      const claim = await client.resource(ResourceClaim).create({
        metadata: {
          namespace,
          generateName: claimNameBase(ownerName, entry.name),
          ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
          annotations: { ...metadata.annotations, [podClaimAnnotation]: entry.name },
          // As upstream without blockOwnerDeletion: an owner that is deleted in the foreground need not wait.
          ownerReferences: [
            { apiVersion: apiVersionOf(kind), kind: kind.kind, name: ownerName, uid, controller: true },
          ],
        },
        spec,
      });
      metrics.count("dynamic_resource_allocation_resourceclaim_creates_total", {
        status: "success",
        ...labels,
      });
      return claim;
    } catch (error) {
      metrics.count("dynamic_resource_allocation_resourceclaim_creates_total", {
        status: "failure",
        ...labels,
      });
      throw error;
    }
  }

  async #record({ kind, object }: ClaimOwner, names: ReadonlyMap<string, string>): Promise<void> {
    // All entries, because those that this manager once applied and now leaves out would vanish.
    const all = new Map<string, string>();
    for (const { name, resourceClaimName } of object.status?.resourceClaimStatuses ?? [])
      if (resourceClaimName !== undefined) all.set(name, resourceClaimName);
    for (const [name, resourceClaimName] of names) all.set(name, resourceClaimName);
    const resourceClaimStatuses = [...all].map(([name, resourceClaimName]) => ({
      name,
      resourceClaimName,
    }));
    await this.#context.client
      .resource(kind as Kind<Pod>)
      .apply(
        { metadata: refTo(object), status: { resourceClaimStatuses } },
        { fieldManager, force: true, subresource: "status" },
      );
  }
}

export function isOwnedBy(claim: ResourceClaim, owner: Pod | PodGroup): boolean {
  return controllerOf(claim)?.uid === owner.metadata.uid;
}

function asksForAdminAccess({ spec }: ResourceClaimTemplate): boolean {
  return (spec.spec.devices?.requests ?? []).some(({ exactly }) => exactly?.adminAccess === true);
}

/** Returns why no claim may be made from the template: it was stored while a gate was on that is off now. */
function missingFeature(template: ResourceClaimTemplate, features: Features): string | undefined {
  if (!features.enabled("DRAAdminAccess") && asksForAdminAccess(template))
    return "admin access is requested, but the feature is disabled";
  const requests = template.spec.spec.devices?.requests ?? [];
  const hasList = requests.some(({ firstAvailable }) => (firstAvailable ?? []).length > 0);
  if (!features.enabled("DRAPrioritizedList") && hasList)
    return "template includes a prioritized list of subrequests, but the feature is disabled";
  return undefined;
}
