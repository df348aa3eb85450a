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
  const here = errors.at("spec.clusterIPs");
  const addresses = spec.clusterIPs ?? [];
  let sound = true;
  addresses.forEach((address, index) => {
    if (index === 0 && address === "None") {
      if (addresses.length === 1) return;
      sound = false;
      here.invalid(addresses, "'None' must be the first and only value");
      return;
    }
    if (!checkLegacyAddress(here.index(index), address, options)) sound = false;
  });
  if (addresses.length > 2) here.invalid(addresses, "may only hold up to 2 values");
  if (!sound) return;
  const kinds = addresses.map(addressFamily);
  if (addresses.length > 1 && new Set(kinds).size < 2) {
    here.invalid(addresses, "may specify no more than one IP for each IP family");
  }
  if (isHeadless(spec)) return;
  (spec.ipFamilies ?? []).forEach((family, index) => {
    const address = addresses[index];
    if (address === undefined || kinds[index] === family) return;
    // An unknown family is refused by itself.
    if (family !== "IPv4" && family !== "IPv6") return;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    here.index(index).invalid(address, detail);
  });
}

/** Addresses and families: their errors come first. */
function checkFamilies(errors: FieldErrors, spec: ServiceSpec, options: LegacyOptions): void {
  if (spec.type === "ExternalName") return;
  const addresses = spec.clusterIPs ?? [];
  if (spec.clusterIP) {
    if (addresses.length === 0) errors.at("spec.clusterIPs").required();
    else if (addresses[0] !== spec.clusterIP) {
      errors.at("spec.clusterIPs").invalid(addresses, "first value must match `clusterIP`");
    }
  } else if (addresses.length > 0) {
    errors.at("spec.clusterIPs").invalid(addresses, "must be empty when `clusterIP` is not specified");
  }
  const families = spec.ipFamilies ?? [];
  const repeated = seenBefore();
  families.forEach((family, index) => {
    const here = errors.at("spec.ipFamilies").index(index);
    if (!["IPv4", "IPv6"].includes(family)) here.notSupported(family, ["IPv4", "IPv6"]);
    if (repeated(family)) here.duplicate(family);
  });
  const policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
  const policy = spec.ipFamilyPolicy;
  if (isSet(policy) && !policies.includes(policy))
    errors.at("spec.ipFamilyPolicy").notSupported(policy, policies);
  checkClusterAddresses(errors, spec, options);
}

function checkType(errors: FieldErrors, spec: ServiceSpec): void {
  if (spec.type === "ExternalName") {
    const detail = "may not be set for ExternalName services";
    if ((spec.clusterIPs ?? []).length > 0) errors.at("spec.clusterIPs").forbidden(detail);
    if ((spec.ipFamilies ?? []).length > 0) errors.at("spec.ipFamilies").forbidden(detail);
    if (isSet(spec.ipFamilyPolicy)) errors.at("spec.ipFamilyPolicy").forbidden(detail);
    errors.at("spec.externalName").checkRequired(dnsSubdomain, (spec.externalName ?? "").replace(/\.$/, ""));
  } else if ((spec.type === "LoadBalancer" || spec.type === "NodePort") && spec.clusterIP === "None") {
    errors
      .at("spec.clusterIPs")
      .index(0)
      .invalid("None", `may not be set to 'None' for ${spec.type} services`);
  }
}

const protocols = ["SCTP", "TCP", "UDP"];

function checkServicePorts(errors: FieldErrors, ports: readonly ServicePort[]): void {
  const repeated = seenBefore();
  ports.forEach((port, index) => {
    const here = errors.at("spec.ports").index(index);
    if (port.name) {
      here.at("name").check(dnsLabel, port.name);
      if (repeated(port.name)) here.at("name").duplicate(port.name);
    } else if (ports.length > 1) here.at("name").required();
    checkPort(here.at("port"), port.port ?? 0);
    here.at("protocol").oneOf(port.protocol, protocols);
    checkPortReference(here.at("targetPort"), port.targetPort);
    if (isSet(port.appProtocol)) here.at("appProtocol").check(qualifiedName, port.appProtocol);
  });
}

/** No two ports are the same, neither on the service's address nor on the nodes. */
function checkTwice(errors: FieldErrors, spec: ServiceSpec): void {
  const ports = spec.ports ?? [];
  if (spec.type === "ClusterIP") {
    ports.forEach(({ nodePort }, index) => {
      if (nodePort)
        errors
          .at("spec.ports")
          .index(index)
          .at("nodePort")
          .forbidden("may not be used when `type` is 'ClusterIP'");
    });
  }
  const [onNodes, onService] = [seenBefore(), seenBefore()];
  ports.forEach(({ protocol, nodePort }, index) => {
    if (!nodePort) return;
    if (onNodes(`${protocol} ${nodePort}`))
      errors.at("spec.ports").index(index).at("nodePort").duplicate(nodePort);
  });
  ports.forEach(({ protocol, port }, index) => {
    if (!onService(`${protocol} ${port}`)) return;
    const shown = { ...(protocol === undefined ? {} : { protocol }), port };
    errors
      .at("spec.ports")
      .index(index)
      .duplicate(internalForm("core/v1.ServicePort", shown, errors));
  });
}

function checkAffinity(errors: FieldErrors, spec: ServiceSpec): void {
  const { sessionAffinity: affinity, sessionAffinityConfig: config } = spec;
  errors.at("spec.sessionAffinity").oneOf(affinity, ["ClientIP", "None"]);
  const here = errors.at("spec.sessionAffinityConfig");
  if (affinity === "None") {
    if (config) here.forbidden("must not be set when session affinity is None");
    return;
  }
  if (affinity !== "ClientIP") return;
  const needed = "when session affinity type is ClientIP";
  const seconds = config?.clientIP?.timeoutSeconds;
  if (!config) here.required(needed);
  else if (!config.clientIP) here.at("clientIP").required(needed);
  else if (!isSet(seconds)) here.at("clientIP.timeoutSeconds").required(needed);
  else if (seconds <= 0 || seconds > 86_400) {
    here.at("clientIP.timeoutSeconds").invalid(seconds, "must be greater than 0 and less than 86400");
  }
}

function checkBalancing(
  errors: FieldErrors,
  { metadata }: Service,
  spec: ServiceSpec,
  { version, old }: { readonly version: KubernetesVersion; readonly old: Service | undefined },
): void {
  const balanced = spec.type === "LoadBalancer";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const key = "service.beta.kubernetes.io/load-balancer-source-ranges";
  const annotation = metadata.annotations?.[key];
  if (ranges.length > 0) {
    const here = errors.at("spec.LoadBalancerSourceRanges");
    if (!balanced) here.forbidden(forBalancers);
    const before = new Set((old?.spec?.loadBalancerSourceRanges ?? []).map((range) => range.trim()));
    ranges.forEach((range, index) => {
      checkLegacyNetwork(here.index(index), range.trim(), { version, before });
    });
  } else if (annotation !== undefined) {
    const here = errors.at("metadata.annotations").key(key);
    if (!balanced) here.forbidden(forBalancers);
    const same = old?.metadata.annotations?.[key] === annotation;
    for (const range of annotation.trim() === "" || same ? [] : annotation.split(","))
      checkLegacyNetwork(here, range.trim(), { version });
  }
  if (!balanced && isSet(spec.allocateLoadBalancerNodePorts)) {
    errors.at("spec.allocateLoadBalancerNodePorts").forbidden(forBalancers);
  }
  checkBalancerClass(errors, spec);
}

function checkBalancerClass(errors: FieldErrors, spec: ServiceSpec): void {
  const name = spec.loadBalancerClass;
  if (!isSet(name)) return;
  if (spec.type === "LoadBalancer") errors.at("spec.loadBalancerClass").check(qualifiedName, name);
  else errors.at("spec.loadBalancerClass").forbidden(forBalancers);
}

function checkTraffic(errors: FieldErrors, spec: ServiceSpec): void {
  const outside =
    spec.type === "LoadBalancer" ||
    spec.type === "NodePort" ||
    (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0);
  const external = spec.externalTrafficPolicy;
  const policies = ["Cluster", "Local"];
  if (outside) errors.at("spec.externalTrafficPolicy").oneOf(external, policies);
  else if (external) {
    const detail = "may only be set for externally-accessible services";
    errors.at("spec.externalTrafficPolicy").invalid(external, detail);
  }
  const checked = spec.type === "LoadBalancer" && external === "Local";
  const port = spec.healthCheckNodePort ?? 0;
  if (checked) {
    if (port === 0) errors.at("spec.healthCheckNodePort").required();
    else checkPort(errors.at("spec.healthCheckNodePort"), port);
  } else if (port !== 0) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.at("spec.healthCheckNodePort").invalid(port, detail);
  }
  const internal = spec.internalTrafficPolicy;
  const within = ["ClusterIP", "NodePort", "LoadBalancer"].includes(spec.type ?? "");
  if (!isSet(internal)) {
    if (within) errors.at("spec.internalTrafficPolicy").required();
  } else if (!policies.includes(internal))
    errors.at("spec.internalTrafficPolicy").notSupported(internal, policies);
  const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
  const distribution = spec.trafficDistribution;
  if (isSet(distribution) && !distributions.includes(distribution)) {
    errors.at("spec.trafficDistribution").notSupported(distribution, distributions);
  }
}

function checkSpec(errors: FieldErrors, object: Service, context: ValidationContext, old?: Service): void {
  const { version } = context.features;
  const spec = object.spec ?? emptySpec;
  const ports = spec.ports ?? [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== "ExternalName")
    errors.at("spec.ports").required();
  checkType(errors, spec);
  checkServicePorts(errors, ports);
  checkLabels(errors.at("spec.selector"), spec.selector);
  checkAffinity(errors, spec);
  checkFamilies(errors, spec, { version, before: new Set(old?.spec?.clusterIPs) });
  const before = new Set(old?.spec?.externalIPs);
  (spec.externalIPs ?? []).forEach((address, index) => {
    const here = errors.at("spec.externalIPs").index(index);
    if (checkLegacyAddress(here, address, { version, before })) checkEndpointAddress(here, address, context);
  });
  errors.at("spec.type").oneOf(spec.type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
  checkTwice(errors, spec);
  checkBalancing(errors, object, spec, { version, old });
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
  const errors = new FieldErrors({ release: version });
  checkFamilies(errors, spec, { version, before: new Set(old?.clusterIPs) });
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
  errors.clear();
  errors.addAll(early);
  return true;
}

function checkAddressChange(errors: FieldErrors, spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type === "ExternalName" || old.type === "ExternalName") return;
  const [now, before] = [spec.clusterIPs ?? [], old.clusterIPs ?? []];
  const changed = (index: number): void =>
    errors
      .at("spec.clusterIPs")
      .index(index)
      .invalid(spec.clusterIPs ?? null, "may not change once set");
  if (now.length === before.length) {
    before.forEach((address, index) => {
      if (address !== now[index]) changed(index);
    });
  } else if (now.length < before.length) {
    if (now.length === 0) {
      errors
        .at("spec.clusterIPs")
        .index(0)
        .invalid(spec.clusterIPs ?? null, "primary clusterIP can not be unset");
    } else if (now[0] !== before[0]) changed(0);
    if (now.length === 1 && spec.ipFamilyPolicy !== "SingleStack") {
      const detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
      errors.at("spec.ipFamilyPolicy").invalid(spec.ipFamilyPolicy ?? null, detail);
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
      errors.at("spec.loadBalancerClass").invalid(spec.loadBalancerClass ?? null, "may not change once set");
    checkBalancerClass(errors, spec);
    if (balanced) {
      const local = spec.externalTrafficPolicy === "Local" && before.externalTrafficPolicy === "Local";
      if (local && spec.healthCheckNodePort !== before.healthCheckNodePort)
        errors.at("spec.healthCheckNodePort").forbidden("field is immutable");
    }
    checkSpec(errors, object, context, old);
  },
  status(errors: FieldErrors, object: Service, old: Service, { features }: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    const here = errors.at("status.loadBalancer.ingress");
    const list = object.status?.loadBalancer?.ingress ?? [];
    if (object.spec?.type !== "LoadBalancer") {
      if (list.length > 0) here.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
      return;
    }
    const before = new Set((old.status?.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip));
    const options = { version: features.version, before };
    list.forEach(({ ip, ipMode, hostname }, index) => {
      const each = here.index(index);
      if (ip) checkLegacyAddress(each.at("ip"), ip, options);
      if (!isSet(ipMode)) {
        if (ip) each.at("ipMode").required("must be specified when `ip` is set");
      } else if (!ip) each.at("ipMode").forbidden("may not be specified when `ip` is not set");
      else if (!["Proxy", "VIP"].includes(ipMode)) each.at("ipMode").notSupported(ipMode, ["Proxy", "VIP"]);
      checkHost(each.at("hostname"), hostname);
    });
  },
};
