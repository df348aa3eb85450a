/** Kinds of the core group beside pods, and leases and priority classes. */
import type { Lease } from "../generated/coordination/v1.ts";
import type { ConfigMap, Namespace, Node, Secret, ServiceAccount } from "../generated/core/v1.ts";
import type { PriorityClass } from "../generated/scheduling/v1.ts";
import {
  byteLength,
  dnsLabel,
  dnsSubdomain,
  isConfigMapKey,
  type NameRule,
  qualifiedName,
} from "../names.ts";
import type { KubeObject } from "../object.ts";
import type { ValidationContext } from "./context.ts";
import { checkImmutable, type FieldErrors, goJson, sameValue } from "./field.ts";
import { internalForm } from "./internal.ts";
import { checkFinalizerNames, checkLabels, checkMetadata, checkMetadataUpdate } from "./metadata.ts";
import { checkNetwork } from "./networking/common.ts";

function checkObject(errors: FieldErrors, object: KubeObject, rule: NameRule, namespaced: boolean): void {
  checkMetadata(errors, "metadata", object.metadata, rule, namespaced);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

function checkObjectUpdate(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

export const namespace = {
  create(errors: FieldErrors, object: Namespace): void {
    checkObject(errors, object, dnsLabel, false);
    for (const name of object.spec?.finalizers ?? []) {
      errors.check(qualifiedName, "spec.finalizers", name);
      if (!name.includes("/") && !standardFinalizers.includes(name)) {
        const detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid("spec.finalizers", name, detail);
      }
    }
  },
  update(errors: FieldErrors, object: Namespace, old: Namespace): void {
    checkObjectUpdate(errors, object, old);
  },
  status(errors: FieldErrors, object: Namespace, old: Namespace): void {
    checkObjectUpdate(errors, object, old);
    const phase = object.status?.phase ?? "";
    const [wanted, empty] = object.metadata.deletionTimestamp
      ? ["Terminating", "not empty"]
      : ["Active", "empty"];
    if (phase === wanted) return;
    errors.invalid("status.Phase", phase, `may only be '${wanted}' if \`deletionTimestamp\` is ${empty}`);
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

/** Networks of a node's pods: one of each family. */
function checkPodNetworks(errors: FieldErrors, { spec }: Node): void {
  const networks = spec?.podCIDRs ?? [];
  networks.forEach((network, index) => {
    checkNetwork(errors, `spec.podCIDRs[${index}]`, network);
  });
  if (networks.length < 2) return;
  const families = new Set(networks.map((network) => network.includes(":")));
  if (networks.length > 2 || families.size < 2) {
    errors.invalid("spec.podCIDRs", networks, "may specify no more than one CIDR for each IP family");
  }
}

export const node = {
  create(errors: FieldErrors, object: Node, context: ValidationContext): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkTaints(errors, object, context.features.version);
    checkPodNetworks(errors, object);
  },
  update(errors: FieldErrors, object: Node, old: Node, context: ValidationContext): void {
    this.create(errors, object, context);
    checkObjectUpdate(errors, object, old);
    const addresses = object.status?.addresses ?? [];
    addresses.forEach(({ type, address }, index) => {
      const first = addresses.findIndex((other) => other.type === type && other.address === address);
      if (first < index) errors.duplicate(`status.addresses[${index}]`, { Type: type, Address: address });
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

/** Data of a ConfigMap or Secret, in bytes. */
const dataLimit = 1024 * 1024;

/** Bytes that a base64 text stands for; none for the null that Go reads as no bytes. */
function decodedLength(text: string | null): number {
  if (text === null) return 0;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

function checkConfigData(errors: FieldErrors, object: ConfigMap): void {
  let size = 0;
  for (const [key, value] of Object.entries(object.data ?? {})) {
    errors.check(isConfigMapKey, `data[${key}]`, key);
    if (Object.hasOwn(object.binaryData ?? {}, key)) {
      errors.invalid(`data[${key}]`, key, `duplicate of key present in binaryData`);
    }
    size += byteLength(value);
  }
  for (const [key, value] of Object.entries(object.binaryData ?? {})) {
    errors.check(isConfigMapKey, `binaryData[${key}]`, key);
    size += decodedLength(value);
  }
  // Upstream has no name for the whole.
  if (size > dataLimit) errors.tooLong("[]", dataLimit);
}

interface Frozen {
  readonly immutable?: boolean;
  readonly data?: unknown;
  readonly binaryData?: unknown;
}

/** An object that was declared immutable stays as it is (KEP-1412). */
function checkFrozen(errors: FieldErrors, object: Frozen, old: Frozen): void {
  if (!old.immutable) return;
  const detail = "field is immutable when `immutable` is set";
  if (!object.immutable) errors.forbidden("immutable", detail);
  for (const name of ["data", "binaryData"] as const) {
    if (!sameValue(object[name], old[name])) errors.forbidden(name, detail);
  }
}

export const configMap = {
  create(errors: FieldErrors, object: ConfigMap): void {
    checkObject(errors, object, dnsSubdomain, true);
    checkConfigData(errors, object);
  },
  update(errors: FieldErrors, object: ConfigMap, old: ConfigMap): void {
    checkObjectUpdate(errors, object, old);
    checkFrozen(errors, object, old);
    checkObject(errors, object, dnsSubdomain, true);
    checkConfigData(errors, object);
  },
};

function checkSecretData(errors: FieldErrors, { data, type }: Secret): void {
  let size = 0;
  for (const [key, value] of Object.entries(data ?? {})) {
    errors.check(isConfigMapKey, `data[${key}]`, key);
    size += decodedLength(value);
  }
  if (size > dataLimit) errors.tooLong("data", dataLimit);
  if (type === "kubernetes.io/tls") {
    for (const name of ["tls.crt", "tls.key"])
      if (!Object.hasOwn(data ?? {}, name)) errors.required(`data[${name}]`);
  }
  if (type === "kubernetes.io/dockerconfigjson" && !Object.hasOwn(data ?? {}, ".dockerconfigjson")) {
    errors.required("data[.dockerconfigjson]");
  }
}

const accountAnnotation = "kubernetes.io/service-account.name";

export const secret = {
  create(errors: FieldErrors, object: Secret): void {
    checkObject(errors, object, dnsSubdomain, true);
    if (
      object.type === "kubernetes.io/service-account-token" &&
      !object.metadata.annotations?.[accountAnnotation]
    ) {
      errors.required(`metadata.annotations[${accountAnnotation}]`);
    }
    checkSecretData(errors, object);
  },
  update(errors: FieldErrors, object: Secret, old: Secret): void {
    checkObjectUpdate(errors, object, old);
    checkImmutable(errors, "type", object.type, old.type);
    checkFrozen(errors, object, old);
    this.create(errors, object);
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

export const lease = {
  create(errors: FieldErrors, object: Lease): void {
    checkObject(errors, object, dnsSubdomain, true);
    const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = object.spec ?? {};
    if (seconds !== undefined && seconds <= 0)
      errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    if (transitions !== undefined && transitions < 0) {
      errors.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0");
    }
  },
  update(errors: FieldErrors, object: Lease, old: Lease): void {
    checkObjectUpdate(errors, object, old);
    this.create(errors, object);
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
