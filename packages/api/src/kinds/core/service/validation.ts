/** Service. */

import {
  addressFamily,
  checkLegacyAddress,
  checkLegacyNetwork,
  type LegacyOptions,
} from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { FieldErrors, seenBefore } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabels } from "../../../checks/metadata.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { FieldError } from "../../../errors/field-error.ts";
import type { KubernetesVersion } from "../../../features/features.ts";
import type { Service, ServicePort, ServiceSpec } from "../../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { checkEndpointAddress, checkHost, serviceNameRule } from "../../networking/common.ts";
import { checkPort, checkPortReference } from "../pod/probes.ts";

const emptySpec: ServiceSpec = {};
const isSet = <T>(value: T | undefined | null): value is T => value !== undefined && value !== null;
const isHeadless = ({ clusterIPs }: ServiceSpec): boolean =>
  clusterIPs?.length === 1 && clusterIPs[0] === "None";
const forBalancers = "may only be used when `type` is 'LoadBalancer'";

function checkClusterAddresses(errors: FieldErrors, spec: ServiceSpec, options: LegacyOptions): void {
  const path = "spec.clusterIPs";
  const addresses = spec.clusterIPs ?? [];
  let sound = true;
  addresses.forEach((address, index) => {
    if (index === 0 && address === "None") {
      if (addresses.length === 1) return;
      sound = false;
      errors.invalid(path, addresses, "'None' must be the first and only value");
      return;
    }
    if (!checkLegacyAddress(errors, `${path}[${index}]`, address, options)) sound = false;
  });
  if (addresses.length > 2) errors.invalid(path, addresses, "may only hold up to 2 values");
  if (!sound) return;
  const kinds = addresses.map(addressFamily);
  if (addresses.length > 1 && new Set(kinds).size < 2) {
    errors.invalid(path, addresses, "may specify no more than one IP for each IP family");
  }
  if (isHeadless(spec)) return;
  (spec.ipFamilies ?? []).forEach((family, index) => {
    const address = addresses[index];
    if (address === undefined || kinds[index] === family) return;
    // An unknown family is refused by itself.
    if (family !== "IPv4" && family !== "IPv6") return;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    errors.invalid(`${path}[${index}]`, address, detail);
  });
}

/** Addresses and families: their errors come first. */
function checkFamilies(errors: FieldErrors, spec: ServiceSpec, options: LegacyOptions): void {
  if (spec.type === "ExternalName") return;
  const addresses = spec.clusterIPs ?? [];
  if (spec.clusterIP) {
    if (addresses.length === 0) errors.required("spec.clusterIPs");
    else if (addresses[0] !== spec.clusterIP) {
      errors.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`");
    }
  } else if (addresses.length > 0) {
    errors.invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified");
  }
  const families = spec.ipFamilies ?? [];
  const repeated = seenBefore();
  families.forEach((family, index) => {
    const at = `spec.ipFamilies[${index}]`;
    if (!["IPv4", "IPv6"].includes(family)) errors.notSupported(at, family, ["IPv4", "IPv6"]);
    if (repeated(family)) errors.duplicate(at, family);
  });
  const policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
  const policy = spec.ipFamilyPolicy;
  if (isSet(policy) && !policies.includes(policy))
    errors.notSupported("spec.ipFamilyPolicy", policy, policies);
  checkClusterAddresses(errors, spec, options);
}

function checkType(errors: FieldErrors, spec: ServiceSpec): void {
  if (spec.type === "ExternalName") {
    const detail = "may not be set for ExternalName services";
    if ((spec.clusterIPs ?? []).length > 0) errors.forbidden("spec.clusterIPs", detail);
    if ((spec.ipFamilies ?? []).length > 0) errors.forbidden("spec.ipFamilies", detail);
    if (isSet(spec.ipFamilyPolicy)) errors.forbidden("spec.ipFamilyPolicy", detail);
    errors.checkRequired(dnsSubdomain, "spec.externalName", (spec.externalName ?? "").replace(/\.$/, ""));
  } else if ((spec.type === "LoadBalancer" || spec.type === "NodePort") && spec.clusterIP === "None") {
    errors.invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${spec.type} services`);
  }
}

const protocols = ["SCTP", "TCP", "UDP"];

function checkServicePorts(errors: FieldErrors, ports: readonly ServicePort[]): void {
  const repeated = seenBefore();
  ports.forEach((port, index) => {
    const at = `spec.ports[${index}]`;
    if (port.name) {
      errors.check(dnsLabel, `${at}.name`, port.name);
      if (repeated(port.name)) errors.duplicate(`${at}.name`, port.name);
    } else if (ports.length > 1) errors.required(`${at}.name`);
    checkPort(errors, `${at}.port`, port.port ?? 0);
    errors.oneOf(`${at}.protocol`, port.protocol, protocols);
    checkPortReference(errors, `${at}.targetPort`, port.targetPort);
    if (isSet(port.appProtocol)) errors.check(qualifiedName, `${at}.appProtocol`, port.appProtocol);
  });
}

/** No two ports are the same, neither on the service's address nor on the nodes. */
function checkTwice(errors: FieldErrors, spec: ServiceSpec, version: string): void {
  const ports = spec.ports ?? [];
  if (spec.type === "ClusterIP") {
    ports.forEach(({ nodePort }, index) => {
      if (nodePort)
        errors.forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'");
    });
  }
  const [onNodes, onService] = [seenBefore(), seenBefore()];
  ports.forEach(({ protocol, nodePort }, index) => {
    if (!nodePort) return;
    if (onNodes(`${protocol} ${nodePort}`)) errors.duplicate(`spec.ports[${index}].nodePort`, nodePort);
  });
  ports.forEach(({ protocol, port }, index) => {
    if (!onService(`${protocol} ${port}`)) return;
    const shown = { ...(protocol === undefined ? {} : { protocol }), port };
    errors.duplicate(`spec.ports[${index}]`, internalForm("core/v1.ServicePort", shown, version));
  });
}

function checkAffinity(errors: FieldErrors, spec: ServiceSpec): void {
  const { sessionAffinity: affinity, sessionAffinityConfig: config } = spec;
  errors.oneOf("spec.sessionAffinity", affinity, ["ClientIP", "None"]);
  const path = "spec.sessionAffinityConfig";
  if (affinity === "None") {
    if (config) errors.forbidden(path, "must not be set when session affinity is None");
    return;
  }
  if (affinity !== "ClientIP") return;
  const needed = "when session affinity type is ClientIP";
  const seconds = config?.clientIP?.timeoutSeconds;
  if (!config) errors.required(path, needed);
  else if (!config.clientIP) errors.required(`${path}.clientIP`, needed);
  else if (!isSet(seconds)) errors.required(`${path}.clientIP.timeoutSeconds`, needed);
  else if (seconds <= 0 || seconds > 86_400) {
    errors.invalid(`${path}.clientIP.timeoutSeconds`, seconds, "must be greater than 0 and less than 86400");
  }
}

function checkBalancing(
  errors: FieldErrors,
  { metadata }: Service,
  spec: ServiceSpec,
  version: KubernetesVersion,
  old: Service | undefined,
): void {
  const balanced = spec.type === "LoadBalancer";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const key = "service.beta.kubernetes.io/load-balancer-source-ranges";
  const annotation = metadata.annotations?.[key];
  if (ranges.length > 0) {
    const path = "spec.LoadBalancerSourceRanges";
    if (!balanced) errors.forbidden(path, forBalancers);
    const before = (old?.spec?.loadBalancerSourceRanges ?? []).map((range) => range.trim());
    ranges.forEach((range, index) => {
      checkLegacyNetwork(errors, `${path}[${index}]`, range.trim(), { version, before });
    });
  } else if (annotation !== undefined) {
    const path = `metadata.annotations[${key}]`;
    if (!balanced) errors.forbidden(path, forBalancers);
    const same = old?.metadata.annotations?.[key] === annotation;
    for (const range of annotation.trim() === "" || same ? [] : annotation.split(","))
      checkLegacyNetwork(errors, path, range.trim(), { version });
  }
  if (!balanced && isSet(spec.allocateLoadBalancerNodePorts)) {
    errors.forbidden("spec.allocateLoadBalancerNodePorts", forBalancers);
  }
  checkBalancerClass(errors, spec);
}

function checkBalancerClass(errors: FieldErrors, spec: ServiceSpec): void {
  const name = spec.loadBalancerClass;
  if (!isSet(name)) return;
  if (spec.type === "LoadBalancer") errors.check(qualifiedName, "spec.loadBalancerClass", name);
  else errors.forbidden("spec.loadBalancerClass", forBalancers);
}

function checkTraffic(errors: FieldErrors, spec: ServiceSpec): void {
  const outside =
    spec.type === "LoadBalancer" ||
    spec.type === "NodePort" ||
    (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0);
  const external = spec.externalTrafficPolicy;
  const policies = ["Cluster", "Local"];
  if (outside) errors.oneOf("spec.externalTrafficPolicy", external, policies);
  else if (external) {
    const detail = "may only be set for externally-accessible services";
    errors.invalid("spec.externalTrafficPolicy", external, detail);
  }
  const checked = spec.type === "LoadBalancer" && external === "Local";
  const port = spec.healthCheckNodePort ?? 0;
  if (checked) {
    if (port === 0) errors.required("spec.healthCheckNodePort");
    else checkPort(errors, "spec.healthCheckNodePort", port);
  } else if (port !== 0) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.invalid("spec.healthCheckNodePort", port, detail);
  }
  const internal = spec.internalTrafficPolicy;
  const within = ["ClusterIP", "NodePort", "LoadBalancer"].includes(spec.type ?? "");
  if (!isSet(internal)) {
    if (within) errors.required("spec.internalTrafficPolicy");
  } else if (!policies.includes(internal))
    errors.notSupported("spec.internalTrafficPolicy", internal, policies);
  const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
  const distribution = spec.trafficDistribution;
  if (isSet(distribution) && !distributions.includes(distribution)) {
    errors.notSupported("spec.trafficDistribution", distribution, distributions);
  }
}

function checkSpec(
  errors: FieldErrors,
  object: Service,
  { features: { version } }: ValidationContext,
  old?: Service,
): void {
  const spec = object.spec ?? emptySpec;
  const ports = spec.ports ?? [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== "ExternalName") errors.required("spec.ports");
  checkType(errors, spec);
  checkServicePorts(errors, ports);
  checkLabels(errors, "spec.selector", spec.selector);
  checkAffinity(errors, spec);
  checkFamilies(errors, spec, { version, before: old?.spec?.clusterIPs });
  const before = old?.spec?.externalIPs;
  (spec.externalIPs ?? []).forEach((address, index) => {
    const at = `spec.externalIPs[${index}]`;
    if (checkLegacyAddress(errors, at, address, { version, before }))
      checkEndpointAddress(errors, at, address);
  });
  errors.oneOf("spec.type", spec.type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
  checkTwice(errors, spec, version);
  checkBalancing(errors, object, spec, version, old);
  checkTraffic(errors, spec);
}

/**
 * Returns what is wrong with the addresses and families of a service: what the server refuses before it gives
 * addresses.
 *
 * Upstream: pkg/apis/core/validation/validation.go, ValidateServiceClusterIPsRelatedFields
 */
export function serviceAddressErrors(
  spec: ServiceSpec,
  old: ServiceSpec | undefined,
  version: KubernetesVersion,
): readonly FieldError[] {
  const errors = new FieldErrors(version);
  checkFamilies(errors, spec, { version, before: old?.clusterIPs });
  return errors.list;
}

function refusedFamilies(
  errors: FieldErrors,
  { spec }: Service,
  { features }: ValidationContext,
  old?: Service,
): boolean {
  const early = serviceAddressErrors(spec ?? emptySpec, old?.spec, features.version);
  if (early.length === 0) return false;
  errors.list.length = 0;
  for (const each of early) errors.list.push(each);
  return true;
}

function checkAddressChange(errors: FieldErrors, spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type === "ExternalName" || old.type === "ExternalName") return;
  const [now, before] = [spec.clusterIPs ?? [], old.clusterIPs ?? []];
  const changed = (index: number): void =>
    errors.invalid(`spec.clusterIPs[${index}]`, spec.clusterIPs ?? null, "may not change once set");
  if (now.length === before.length) {
    before.forEach((address, index) => {
      if (address !== now[index]) changed(index);
    });
  } else if (now.length < before.length) {
    if (now.length === 0) {
      errors.invalid("spec.clusterIPs[0]", spec.clusterIPs ?? null, "primary clusterIP can not be unset");
    } else if (now[0] !== before[0]) changed(0);
    if (now.length === 1 && spec.ipFamilyPolicy !== "SingleStack") {
      const detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
      errors.invalid("spec.ipFamilyPolicy", spec.ipFamilyPolicy ?? null, detail);
    }
  } else if (before.length > 0 && now[0] !== before[0]) changed(0);
}

export const serviceValidation = {
  create(errors: FieldErrors, object: Service, context: ValidationContext): void {
    if (refusedFamilies(errors, object, context)) return;
    checkObject(errors, object, serviceNameRule(context));
    checkSpec(errors, object, context);
  },
  update(errors: FieldErrors, object: Service, old: Service, context: ValidationContext): void {
    const [spec, before] = [object.spec ?? emptySpec, old.spec ?? emptySpec];
    if (refusedFamilies(errors, object, context, old)) return;
    checkObjectUpdate(errors, object, old);
    checkAddressChange(errors, spec, before);
    const balanced = spec.type === "LoadBalancer" && before.type === "LoadBalancer";
    if (balanced && spec.loadBalancerClass !== before.loadBalancerClass)
      errors.invalid("spec.loadBalancerClass", spec.loadBalancerClass ?? null, "may not change once set");
    checkBalancerClass(errors, spec);
    if (balanced) {
      const local = spec.externalTrafficPolicy === "Local" && before.externalTrafficPolicy === "Local";
      if (local && spec.healthCheckNodePort !== before.healthCheckNodePort)
        errors.forbidden("spec.healthCheckNodePort", "field is immutable");
    }
    checkSpec(errors, object, context, old);
  },
  status(errors: FieldErrors, object: Service, old: Service, { features }: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    const path = "status.loadBalancer.ingress";
    const list = object.status?.loadBalancer?.ingress ?? [];
    if (object.spec?.type !== "LoadBalancer") {
      if (list.length > 0) errors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
      return;
    }
    const before = (old.status?.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip);
    const options = { version: features.version, before };
    list.forEach(({ ip, ipMode, hostname }, index) => {
      const at = `${path}[${index}]`;
      if (ip) checkLegacyAddress(errors, `${at}.ip`, ip, options);
      if (!isSet(ipMode)) {
        if (ip) errors.required(`${at}.ipMode`, "must be specified when `ip` is set");
      } else if (!ip) errors.forbidden(`${at}.ipMode`, "may not be specified when `ip` is not set");
      else if (!["Proxy", "VIP"].includes(ipMode))
        errors.notSupported(`${at}.ipMode`, ipMode, ["Proxy", "VIP"]);
      checkHost(errors, `${at}.hostname`, hostname);
    });
  },
};
