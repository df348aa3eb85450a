/** Kinds of the core group beside pods, and leases and priority classes. */
import type { Lease } from "../generated/coordination/v1.ts";
import type {
  ConfigMap,
  Event,
  Namespace,
  Node,
  Secret,
  Service,
  ServiceAccount,
} from "../generated/core/v1.ts";
import type { PriorityClass } from "../generated/scheduling/v1.ts";
import {
  byteLength,
  dns1035Label,
  dnsLabel,
  dnsSubdomain,
  isConfigMapKey,
  isPortName,
  type NameRule,
  rangeProblem,
} from "../names.ts";
import type { KubeObject } from "../object.ts";
import { checkImmutable, type FieldErrors, sameValue } from "./field.ts";
import { checkFinalizerNames, checkLabels, checkMetadata, checkMetadataUpdate } from "./metadata.ts";

function checkObject(errors: FieldErrors, object: KubeObject, rule: NameRule, namespaced: boolean): void {
  checkMetadata(errors, "metadata", object.metadata, rule, namespaced);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

function checkObjectUpdate(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

export const namespace = {
  create(errors: FieldErrors, object: Namespace): void {
    checkObject(errors, object, dnsLabel, false);
  },
  update(errors: FieldErrors, object: Namespace, old: Namespace): void {
    checkObjectUpdate(errors, object, old);
  },
};

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function checkTaints(errors: FieldErrors, { spec }: Node): void {
  const seen = new Set<string>();
  (spec?.taints ?? []).forEach(({ key = "", value, effect = "" }, index) => {
    const path = `spec.taints[${index}]`;
    checkLabels(errors, `${path}.key`, { [key]: "" });
    if (value) checkLabels(errors, `${path}.value`, { value });
    if (effect === "") errors.required(`${path}.effect`);
    else if (!taintEffects.includes(effect)) errors.notSupported(`${path}.effect`, effect, taintEffects);
    const pair = `${key}:${effect}`;
    if (seen.has(pair)) {
      const detail = "taints must be unique by key and effect pair";
      errors.list.push({ type: "Duplicate", path, value: JSON.stringify({ key, value, effect }), detail });
    }
    seen.add(pair);
  });
}

export const node = {
  create(errors: FieldErrors, object: Node): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkTaints(errors, object);
  },
  update(errors: FieldErrors, object: Node, old: Node): void {
    checkObjectUpdate(errors, object, old);
    checkTaints(errors, object);
    if (old.spec?.podCIDR && !sameValue(object.spec?.podCIDRs, old.spec.podCIDRs)) {
      errors.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid');
    }
    if (old.spec?.providerID && object.spec?.providerID !== old.spec.providerID) {
      errors.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid');
    }
  },
};

/** Data of a ConfigMap or Secret, in bytes. */
const dataLimit = 1024 * 1024;

/** Bytes that a base64 text stands for. */
const decodedLength = (text: string): number => Math.floor((text.replace(/=+$/, "").length * 3) / 4);

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

const serviceTypes = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const portProtocols = ["SCTP", "TCP", "UDP"];

function checkServicePorts(errors: FieldErrors, { spec }: Service): void {
  const ports = spec?.ports ?? [];
  if (ports.length === 0 && spec?.clusterIP !== "None" && spec?.type !== "ExternalName")
    errors.required("spec.ports");
  const names = new Set<string>();
  ports.forEach((port, index) => {
    const path = `spec.ports[${index}]`;
    if (ports.length > 1 && !port.name) errors.required(`${path}.name`);
    else if (port.name) {
      errors.check(dnsLabel, `${path}.name`, port.name);
      if (names.has(port.name)) errors.duplicate(`${path}.name`, port.name);
      names.add(port.name);
    }
    for (const problem of rangeProblem(port.port ?? 0, 1, 65535))
      errors.invalid(`${path}.port`, port.port ?? 0, problem);
    if (!portProtocols.includes(port.protocol ?? "")) {
      errors.notSupported(`${path}.protocol`, port.protocol ?? "", portProtocols);
    }
    const target = port.targetPort;
    if (typeof target === "string") errors.check(isPortName, `${path}.targetPort`, target);
    else
      for (const problem of rangeProblem(target ?? 0, 1, 65535))
        errors.invalid(`${path}.targetPort`, target ?? 0, problem);
  });
}

function checkServiceSpec(errors: FieldErrors, object: Service): void {
  checkServicePorts(errors, object);
  checkLabels(errors, "spec.selector", object.spec?.selector);
  const affinities = ["ClientIP", "None"];
  const { sessionAffinity = "", type = "" } = object.spec ?? {};
  if (!affinities.includes(sessionAffinity))
    errors.notSupported("spec.sessionAffinity", sessionAffinity, affinities);
  if (!serviceTypes.includes(type)) errors.notSupported("spec.type", type, serviceTypes);
  if (type === "ExternalName") {
    const name = (object.spec?.externalName ?? "").replace(/\.$/, "");
    if (name === "") errors.required("spec.externalName");
    else errors.check(dnsSubdomain, "spec.externalName", name);
  }
}

export const service = {
  create(errors: FieldErrors, object: Service): void {
    checkObject(errors, object, dns1035Label, true);
    checkServiceSpec(errors, object);
  },
  update(errors: FieldErrors, object: Service, old: Service): void {
    checkObjectUpdate(errors, object, old);
    this.create(errors, object);
    const kept = object.spec?.type !== "ExternalName" && old.spec?.type !== "ExternalName";
    const address = object.spec?.clusterIP;
    // The server fills in an address that was left out.
    if (kept && address && old.spec?.clusterIP && address !== old.spec.clusterIP) {
      const printed = object.spec?.clusterIPs ?? [address];
      errors.invalid("spec.clusterIPs[0]", printed, "may not change once set");
    }
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

export const event = {
  create(errors: FieldErrors, object: Event): void {
    const about = object.involvedObject?.namespace ?? "";
    const own = object.metadata.namespace ?? "";
    // What has no namespace is told of in `default`.
    const wanted = about === "" ? ["default", ""] : [about];
    if (!wanted.includes(own) && !(about === "" && own === "kube-system")) {
      errors.invalid("involvedObject.namespace", about, "does not match event.namespace");
    }
    errors.check(dnsSubdomain, "metadata.namespace", own);
    checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, true);
  },
  update(errors: FieldErrors, object: Event, old: Event): void {
    checkObjectUpdate(errors, object, old);
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
    if (policy !== undefined && !policies.includes(policy))
      errors.notSupported("preemptionPolicy", policy, policies);
  },
  update(errors: FieldErrors, object: PriorityClass, old: PriorityClass): void {
    checkObjectUpdate(errors, object, old);
    if ((object.value ?? 0) !== (old.value ?? 0))
      errors.forbidden("value", "may not be changed in an update.");
    checkImmutable(errors, "preemptionPolicy", object.preemptionPolicy, old.preemptionPolicy);
  },
};
