/** Kinds of the core group beside pods, and leases and priority classes. */

import type { KubernetesVersion } from "../features/features.ts";
import type { Lease } from "../generated/coordination/v1.ts";
import type { Namespace, Node, ServiceAccount } from "../generated/core/v1.ts";
import type { PriorityClass } from "../generated/scheduling/v1.ts";
import type { KubeObject } from "../objects/object.ts";
import { quoted } from "../text/quoted.ts";
import { byteLength, dnsLabel, dnsSubdomain, type NameRule, qualifiedName } from "../values/names.ts";
import { Quantity } from "../values/quantity.ts";
import { checkLegacyNetwork, networkFamily } from "./address.ts";
import type { ValidationContext } from "./context.ts";
import { asTyped, checkImmutable, type FieldErrors, goJson, seenBefore } from "./field.ts";
import { internalForm } from "./internal.ts";
import {
  checkCommonUpdate,
  checkFinalizerNames,
  checkLabels,
  checkMetadata,
  checkMetadataUpdate,
} from "./metadata.ts";
import { checkQuantity } from "./pod/resources.ts";

function checkObject(errors: FieldErrors, object: KubeObject, rule: NameRule, namespaced: boolean): void {
  checkMetadata(errors, "metadata", object.metadata, rule, namespaced);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

function checkObjectUpdate(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

function checkNamespaceFinalizers(
  errors: FieldErrors,
  { spec }: Namespace,
  path: (index: number) => string,
): void {
  for (const [index, name] of (spec?.finalizers ?? []).entries()) {
    errors.check(qualifiedName, path(index), name);
    if (!name.includes("/") && !standardFinalizers.includes(name)) {
      const detail = "name is neither a standard finalizer name nor is it fully qualified";
      errors.invalid(path(index), name, detail);
    }
  }
}

/** Upstream: pkg/apis/core/validation/validation.go, ValidateNamespaceFinalizeUpdate */
export function checkNamespaceFinalize(errors: FieldErrors, object: Namespace, old: Namespace): void {
  checkCommonUpdate(errors, object.metadata, old.metadata, false);
  checkObjectUpdate(errors, object, old);
  checkNamespaceFinalizers(errors, object, (index) => `spec.finalizers[${index}]`);
}

export const namespace = {
  create(errors: FieldErrors, object: Namespace): void {
    checkObject(errors, object, dnsLabel, false);
    checkNamespaceFinalizers(errors, object, () => "spec.finalizers");
  },
  update(errors: FieldErrors, object: Namespace, old: Namespace): void {
    this.create(errors, object);
    checkObjectUpdate(errors, object, old);
  },
  status(errors: FieldErrors, object: Namespace, old: Namespace): void {
    checkObjectUpdate(errors, object, old);
    const phase = object.status?.phase ?? "";
    const [wanted, empty] = object.metadata.deletionTimestamp
      ? ["Terminating", "not empty"]
      : ["Active", "empty"];
    if (phase === wanted) return;
    errors.invalid(
      "status.Phase",
      asTyped(phase),
      `may only be '${wanted}' if \`deletionTimestamp\` is ${empty}`,
    );
  },
};

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function checkTaints(errors: FieldErrors, { spec }: Node, version: string): void {
  const seen = new Set<string>();
  (spec?.taints ?? []).forEach((taint, index) => {
    const { key = "", value, effect = "" } = taint;
    // Upstream has these paths in metadata.
    const path = `metadata.taints[${index}]`;
    checkLabels(errors, `${path}.key`, { [key]: "" });
    if (value) checkLabels(errors, `${path}.value`, { value });
    if (effect === "") errors.required(`${path}.effect`);
    else if (!taintEffects.includes(effect)) errors.notSupported(`${path}.effect`, effect, taintEffects);
    const pair = `${key}:${effect}`;
    if (seen.has(pair)) {
      const detail = "taints must be unique by key and effect pair";
      const shown = goJson(internalForm("core/v1.Taint", taint, version));
      errors.list.push({ type: "Duplicate", path, value: shown, detail });
    }
    seen.add(pair);
  });
}

const featureForm = /^([A-Z][a-zA-Z0-9]*)(\/[a-zA-Z][a-zA-Z0-9]*)*$/;

/** Features that a node declares (KEP-5328): names in order, none twice. */
function checkDeclaredFeatures(errors: FieldErrors, { status }: Node): void {
  const list = status?.declaredFeatures ?? [];
  list.forEach((name, index) => {
    const path = (at: number): string => `status.declaredFeatures[${at}]`;
    const what = `invalid feature name ${quoted(name)}`;
    if (byteLength(name) > 253)
      errors.invalid(path(index), name, `${what}: must be no more than 253 characters`);
    else if (!featureForm.test(name)) {
      errors.invalid(
        path(index),
        name,
        `${what}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      );
    }
    const next = list[index + 1];
    if (next === undefined) return;
    if (next === name) errors.duplicate(path(index + 1), next);
    else if (name > next) errors.invalid(path(index + 1), next, "list must be sorted alphabetically");
  });
}

/** Upstream's paths have a dot before the names of resources. */
function checkNodeResources(errors: FieldErrors, { status }: Node): void {
  for (const field of ["capacity", "allocatable"] as const) {
    for (const [name, quantity] of Object.entries(status?.[field] ?? {}))
      checkQuantity(errors, `status.${field}.${name}`, name, Quantity.parse(quantity));
  }
}

/** Networks of a node's pods: one of each family. */
function checkPodNetworks(errors: FieldErrors, { spec }: Node, version: KubernetesVersion): void {
  const networks = spec?.podCIDRs ?? [];
  networks.forEach((network, index) => {
    checkLegacyNetwork(errors, `spec.podCIDRs[${index}]`, network, { version });
  });
  if (networks.length < 2) return;
  const wrong = networks.findIndex((network) => networkFamily(network) === undefined);
  if (wrong >= 0) {
    const why = `invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${networks[wrong]})`;
    errors.internal("spec.podCIDRs", `invalid PodCIDRs. failed to check with dual stack with error:${why}`);
  }
  const families = new Set(networks.map(networkFamily));
  if (wrong >= 0 || networks.length > 2 || families.size < 2) {
    errors.invalid("spec.podCIDRs", networks, "may specify no more than one CIDR for each IP family");
  }
}

export const node = {
  create(errors: FieldErrors, object: Node, context: ValidationContext): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkTaints(errors, object, context.features.version);
    checkNodeResources(errors, object);
    checkDeclaredFeatures(errors, object);
    checkPodNetworks(errors, object, context.features.version);
  },
  update(errors: FieldErrors, object: Node, old: Node, context: ValidationContext): void {
    this.create(errors, object, context);
    this.status(errors, object, old, context);
  },
  status(errors: FieldErrors, object: Node, old: Node, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkNodeResources(errors, object);
    checkDeclaredFeatures(errors, object);
    const addresses = object.status?.addresses ?? [];
    const repeated = seenBefore();
    addresses.forEach(({ type, address }, index) => {
      if (repeated(JSON.stringify([type, address])))
        errors.duplicate(`status.addresses[${index}]`, { Type: type, Address: address });
    });
    const [networks, before] = [object.spec?.podCIDRs ?? [], old.spec?.podCIDRs ?? []];
    const changed = before.filter((network, index) => network !== networks[index]).length;
    const count = networks.length === before.length ? changed : before.length === 0 ? 0 : 1;
    for (let each = 0; each < count; each++) {
      errors.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid');
    }
    if (old.spec?.providerID && object.spec?.providerID !== old.spec.providerID) {
      errors.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid');
    }
    checkTaints(errors, object, context.features.version);
    if ((object.spec?.externalID ?? "") !== (old.spec?.externalID ?? ""))
      errors.forbidden("spec.externalID", "may not be updated");
  },
};

export const serviceAccount = {
  create(errors: FieldErrors, object: ServiceAccount): void {
    checkObject(errors, object, dnsSubdomain, true);
  },
  update(errors: FieldErrors, object: ServiceAccount, old: ServiceAccount): void {
    checkObjectUpdate(errors, object, old);
    this.create(errors, object);
  },
};

function checkLeaseSpec(errors: FieldErrors, { spec }: Lease): void {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec ?? {};
  if (seconds !== undefined && seconds <= 0)
    errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
  if (transitions !== undefined && transitions < 0) {
    errors.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0");
  }
}

export const lease = {
  /** Upstream: pkg/apis/coordination/validation/validation.go; the names of finalizers are not checked. */
  create(errors: FieldErrors, object: Lease): void {
    checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, true);
    checkLeaseSpec(errors, object);
  },
  update(errors: FieldErrors, object: Lease, old: Lease): void {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkLeaseSpec(errors, object);
  },
};

/** The highest priority of a class that is not Kubernetes' own. */
const highestPriority = 1_000_000_000;
const systemClasses = ["system-node-critical", "system-cluster-critical"];

export const priorityClass = {
  create(errors: FieldErrors, object: PriorityClass): void {
    checkObject(errors, object, dnsSubdomain, false);
    const { name } = object.metadata;
    const value = object.value ?? 0;
    if (name?.startsWith("system-")) {
      if (!systemClasses.includes(name)) {
        errors.forbidden(
          "metadata.name",
          "priority class names with 'system-' prefix are reserved for system use only. " +
            `error: ${name} is not a known system priority class`,
        );
      }
    } else if (value > highestPriority) {
      errors.forbidden("value", `maximum allowed value of a user defined priority is ${highestPriority}`);
    }
    const policies = ["PreemptLowerPriority", "Never"];
    const policy = object.preemptionPolicy;
    if (policy !== undefined && policy !== null) errors.oneOf("preemptionPolicy", policy, policies);
  },
  update(errors: FieldErrors, object: PriorityClass, old: PriorityClass): void {
    checkObjectUpdate(errors, object, old);
    if ((object.value ?? 0) !== (old.value ?? 0))
      errors.forbidden("value", "may not be changed in an update.");
    checkImmutable(errors, "preemptionPolicy", object.preemptionPolicy, old.preemptionPolicy);
  },
};
